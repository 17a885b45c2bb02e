"""A quick look at this machine: no torch, no third-party package, at most 50 ms; what was concluded is said.

NVIDIA GPUs       the driver's management library, remembered by boot and driver version; where it has not answered
                  in time, the names in /proc/driver/nvidia
AMD GPUs          /sys/class/drm
everything else   /proc and /sys (Linux), sysctl (macOS), the registry (Windows)
"""

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from planner.hardware.machine import Machine
from planner.profiler.conclude import conclude
from planner.profiler.gpu_cache import recall, remember
from planner.profiler.linux_host import Tree, read_host
from planner.profiler.local_facts import GpuFacts, HostFacts
from planner.profiler.nvml import Nvml, open_nvml, read_gpus
from planner.profiler.other_hosts import Run, read_mac, read_windows, run_command

if TYPE_CHECKING:
    from pathlib import Path

QUICK_S = 0.04
"""How long a quick look waits for NVIDIA's library: its first call on a sleeping GPU can take seconds."""

_AMD_VENDOR = "0x1002"
_SMALLEST_GPU_BYTES = 2 << 30


class LocalMachine(NamedTuple):
    """This machine as it was found. ``remarks`` are what the look itself has to say."""

    host: HostFacts
    gpus: tuple[GpuFacts, ...] = ()
    driver_version: str = ""
    remarks: tuple[str, ...] = ()

    def machine(self) -> Machine:
        """The machine that the facts amount to, with its commonest GPU or, without one, its CPU as the device."""
        return conclude(self.host, self.gpus).machine

    @property
    def notes(self) -> tuple[str, ...]:
        """What was taken for granted, limited or left out, one sentence each."""
        return (*self.remarks, *conclude(self.host, self.gpus).notes)

    @property
    def place(self) -> Literal["laptop", "workstation", "cloud"]:
        if self.host.portable:
            return "laptop"
        return "cloud" if self.host.cloud else "workstation"


class Sources(NamedTuple):
    """Where a look takes its facts from; tests give recorded ones."""

    platform: str = sys.platform
    root: str = "/"
    environ: Mapping[str, str] = os.environ
    allowed_cpus: int | None = None
    open_nvml: Callable[[], Nvml | None] = open_nvml
    run: Run = run_command


def quick_look(
    cache_dir: "Path | None", sources: Sources | None = None, wait_s: float | None = QUICK_S
) -> LocalMachine:
    """Look at this machine. ``cache_dir`` keeps what NVIDIA's library said (None: nothing is kept).

    ``wait_s`` bounds the wait for the library; None waits as long as it takes (the full look of ``doctor``). Never
    fails: what cannot be read is unknown.
    """
    sources = sources or Sources(allowed_cpus=_affinity())
    if sources.platform == "darwin":
        host, gpus = read_mac(sources.run)
        return LocalMachine(host, gpus)
    if sources.platform == "win32":
        gpus, driver, remarks = _nvidia(sources, None, "", wait_s)
        return LocalMachine(read_windows(), gpus, driver, remarks)
    tree = Tree(sources.root)
    key = _cache_key(tree)
    gpus, driver, remarks = _nvidia(sources, cache_dir, key, wait_s) if key else ((), "", ())
    if not gpus and key:
        gpus = _named_by_driver(tree)
    visible = _visible(gpus, sources.environ.get("CUDA_VISIBLE_DEVICES"))
    if len(visible) < len(gpus):
        remarks = (*remarks, f"CUDA_VISIBLE_DEVICES leaves {len(visible)} of {len(gpus)} GPUs")
    host = read_host(sources.root, sources.allowed_cpus)
    return LocalMachine(host, visible + _amd_gpus(tree), driver, remarks)


def _affinity() -> int | None:
    """How many CPUs this process may run on; None where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _cache_key(tree: Tree) -> str:
    """Boot, driver and visible devices; '' on a machine that shows no NVIDIA driver."""
    driver = tree.text("proc/driver/nvidia/version", 256).partition("\n")[0]
    devices = [name for name in tree.names("dev") if name.startswith(("nvidia", "dxg"))]
    if not driver and not devices:
        return ""
    return "|".join((tree.text("proc/sys/kernel/random/boot_id"), driver, *devices))


def _nvidia(
    sources: Sources, cache_dir: "Path | None", key: str, wait_s: float | None
) -> tuple[tuple[GpuFacts, ...], str, tuple[str, ...]]:
    """(GPUs, driver version, remarks) by the cache or NVIDIA's library."""
    remembered = recall(cache_dir, key)
    if remembered is not None:
        return remembered.gpus, remembered.driver_version, ()
    answers: list[tuple[tuple[GpuFacts, ...], str]] = []
    if not _within(wait_s, lambda: answers.append(_ask(sources.open_nvml))):
        return (), "", ("the NVIDIA driver had not answered in time: GPUs by name only (doctor looks longer)",)
    gpus, driver = answers[0] if answers else ((), "")
    if gpus:
        remember(cache_dir, key, gpus, driver)
    return gpus, driver, ()


def _ask(open_library: Callable[[], Nvml | None]) -> tuple[tuple[GpuFacts, ...], str]:
    nvml = open_library()
    if nvml is None:
        return (), ""
    try:
        return read_gpus(nvml), nvml.driver_version()
    finally:
        nvml.close()


def _within(wait_s: float | None, call: Callable[[], None]) -> bool:
    """Whether the call came back in time. One that did not goes on in the background and ends with the process."""
    if wait_s is None:
        call()
        return True
    import threading

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(wait_s)
    return not thread.is_alive()


def _named_by_driver(tree: Tree) -> tuple[GpuFacts, ...]:
    """GPU names from /proc/driver/nvidia, where the library cannot be asked."""
    gpus = []
    for address in tree.names("proc/driver/nvidia/gpus"):
        for line in tree.text(f"proc/driver/nvidia/gpus/{address}/information", 4096).splitlines():
            label, _, value = line.partition(":")
            if label.strip() == "Model" and value.strip():
                gpus.append(GpuFacts(value.strip()))
    return tuple(gpus)


def _visible(gpus: tuple[GpuFacts, ...], setting: str | None) -> tuple[GpuFacts, ...]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves; indices only, up to the first that is none. UUIDs leave as many."""
    if setting is None:
        return gpus
    entries = [entry.strip() for entry in setting.split(",") if entry.strip()]
    if entries and not entries[0].lstrip("-").isdecimal():
        return gpus[: len(entries)]
    chosen = []
    for entry in entries:
        if not entry.isdecimal() or int(entry) >= len(gpus):
            break
        chosen.append(gpus[int(entry)])
    return tuple(chosen)


def _amd_gpus(tree: Tree) -> tuple[GpuFacts, ...]:
    """AMD cards by the product name that their driver shows; a card without one by its PCI id."""
    gpus = []
    for card in tree.names("sys/class/drm"):
        device = f"sys/class/drm/{card}/device"
        if not card.startswith("card") or "-" in card or tree.text(f"{device}/vendor") != _AMD_VENDOR:
            continue
        memory = tree.text(f"{device}/mem_info_vram_total")
        if not memory.isdecimal() or int(memory) < _SMALLEST_GPU_BYTES:
            continue  # the graphics part of a processor
        name = tree.text(f"{device}/product_name") or f"AMD GPU {tree.text(f'{device}/device')}"
        gpus.append(GpuFacts(name, float(memory)))
    return tuple(gpus)
