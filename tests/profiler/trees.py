"""Recorded machines: the files of /proc and /sys that a look reads, and what NVIDIA's library answered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from planner.profiler.local_facts import GpuDetail, MigSlice

XEON_8480 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480C
cpu MHz\t\t: 2000.000
siblings\t: 112
cpu cores\t: 56
flags\t\t: fpu sse2 avx avx2 avx512f amx_tile

processor\t: 1
model name\t: must not be read
"""
EPYC_7R13 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC 7R13 Processor
cpu MHz\t\t: 2649.998
siblings\t: 8
cpu cores\t: 4
flags\t\t: fpu sse2 avx avx2
"""
RYZEN_5950X = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 33
model name\t: AMD Ryzen 9 5950X 16-Core Processor
cpu MHz\t\t: 3400.000
siblings\t: 32
cpu cores\t: 16
flags\t\t: fpu sse2 avx avx2
"""
CORE_I7_8750H = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 158
model name\t: Intel(R) Core(TM) i7-8750H CPU @ 2.20GHz
cpu MHz\t\t: 900.000
siblings\t: 12
cpu cores\t: 6
flags\t\t: fpu sse2 avx avx2
"""
GRAVITON3 = """processor\t: 0
BogoMIPS\t: 2100.00
Features\t: fp asimd sve bf16
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1
"""
AWS_DMI = {"sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "sys/class/dmi/id/product_name": "p5.48xlarge\n"}
DRIVER = {
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07\nGCC version: 11\n",
    "proc/sys/kernel/random/boot_id": "6b0f7e42-0000-4000-8000-000000000001\n",
}


def memory(gib: float) -> dict[str, str]:
    return {"proc/meminfo": f"MemTotal:       {int(gib * 2**20)} kB\nMemFree:        1024 kB\n"}


def write(root: Path, *parts: dict[str, str]) -> str:
    """The files below ``root``; returns it as the text that Sources takes."""
    for part in parts:
        for name, text in part.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return str(root)


@dataclass
class RecordedNvml:
    """What the library answered on a machine, by device."""

    names: list[str]
    memory_mib: list[float | None]
    power_w: list[float | None]
    core_counts: list[int | None]
    bridged: bool = False
    version: str = "550.90.07"
    details: list[GpuDetail] = field(default_factory=list)
    parts: list[tuple[MigSlice, ...]] = field(default_factory=list)
    joules: float | None = None
    closed: bool = field(default=False, init=False)

    def driver_version(self) -> str:
        return self.version

    def device_count(self) -> int:
        return len(self.names)

    def name(self, index: int) -> str:
        return self.names[index]

    def memory_bytes(self, index: int) -> float | None:
        mib = self.memory_mib[index]
        return None if mib is None else mib * 2**20

    def power_limit_w(self, index: int) -> float | None:
        return self.power_w[index]

    def cores(self, index: int) -> int | None:
        return self.core_counts[index]

    def nvlink(self, index: int) -> bool:
        return self.bridged

    def slices(self, index: int) -> tuple[MigSlice, ...]:
        return self.parts[index] if self.parts else ()

    def energy_j(self, index: int) -> float | None:
        return self.joules

    def detail(self, index: int) -> GpuDetail:
        return self.details[index] if self.details else GpuDetail()

    def close(self) -> None:
        self.closed = True


def several(count: int, name: str, mib: float, watts: float | None, cores: int, bridged: bool = False) -> RecordedNvml:
    return RecordedNvml([name] * count, [mib] * count, [watts] * count, [cores] * count, bridged)


RECORDINGS = Path(__file__).parent / "recordings"


def replayed(name: str) -> RecordedNvml:
    """The library's answers on one machine, by the file under recordings/ (its README says how they were made)."""
    answers = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    gpus = answers["gpus"]
    return RecordedNvml(
        names=[gpu["name"] for gpu in gpus],
        memory_mib=[gpu["memory_mib"] for gpu in gpus],
        power_w=[gpu["power_limit_w"] for gpu in gpus],
        core_counts=[gpu["cores"] for gpu in gpus],
        bridged=any(gpu["detail"]["links"] for gpu in gpus),
        version=answers["driver_version"],
        details=[
            GpuDetail(**{**gpu["detail"], "compute_capability": tuple(gpu["detail"]["compute_capability"])})
            for gpu in gpus
        ],
        parts=[
            tuple(MigSlice(part["name"], part["memory_mib"] * 2**20) for part in gpu.get("slices", ())) for gpu in gpus
        ],
    )
