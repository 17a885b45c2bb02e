"""NVIDIA's management library through ctypes: names, memory, power limits. No third-party package, no CUDA context."""

import sys
from typing import Protocol

from planner.profiler.local_facts import GpuDetail, GpuFacts, MigSlice

_LIBRARIES = {
    "win32": ("nvml.dll",),
    "linux": ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"),
}


class Nvml(Protocol):
    """What is asked of the library; None where the driver does not answer (laptops hide their power limit)."""

    def driver_version(self) -> str: ...
    def device_count(self) -> int: ...
    def name(self, index: int) -> str: ...
    def memory_bytes(self, index: int) -> float | None: ...
    def power_limit_w(self, index: int) -> float | None: ...
    def cores(self, index: int) -> int | None: ...
    def nvlink(self, index: int) -> bool: ...
    def slices(self, index: int) -> tuple[MigSlice, ...]: ...
    def energy_j(self, index: int) -> float | None: ...
    def detail(self, index: int) -> GpuDetail: ...
    def close(self) -> None: ...


def read_gpus(nvml: Nvml) -> tuple[GpuFacts, ...]:
    """All GPUs the library shows; of one that is partitioned its slices, which is what a process gets."""
    gpus = []
    for index in range(nvml.device_count()):
        whole = GpuFacts(
            name=nvml.name(index),
            memory_bytes=nvml.memory_bytes(index),
            power_limit_w=nvml.power_limit_w(index),
            cores=nvml.cores(index),
            nvlink=nvml.nvlink(index),
        )
        slices = nvml.slices(index)
        gpus += [GpuFacts(part.name, part.memory_bytes, whole.power_limit_w) for part in slices] or [whole]
    return tuple(gpus)


def read_details(nvml: Nvml) -> tuple[GpuDetail, ...]:
    """What the full look asks besides, by GPU."""
    return tuple(nvml.detail(index) for index in range(nvml.device_count()))


def open_nvml() -> Nvml | None:
    """The library, initialised; None where there is no driver, or no working one."""
    import ctypes

    for library in _LIBRARIES.get(sys.platform, ()):
        try:
            opened = ctypes.CDLL(library)
        except OSError:
            continue
        from planner.profiler.nvml_library import bind

        return bind(opened)
    return None
