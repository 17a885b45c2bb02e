"""The full look: what ``doctor``, ``profile`` and the app find out besides, and what of it one should know in words."""

from collections.abc import Iterator
from typing import NamedTuple

from planner.hardware.accelerator import GIB
from planner.profiler.detect import LocalMachine, Sources
from planner.profiler.linux_host import Tree
from planner.profiler.local_facts import GpuDetail
from planner.profiler.nvml import read_details
from planner.profiler.vendor_tools import VendorGpu, vendor_gpus

_MOST_USED_BYTES = 1.0 * GIB
_MOST_BUSY_SHARE = 0.1
_BUSY_LOAD = 0.5
_PCIE_USUAL_WIDTH = 16


class FullLook(NamedTuple):
    """Details of each GPU (as many as the driver shows), the disk under the working directory, and sentences."""

    details: tuple[GpuDetail, ...]
    disk: str
    sentences: tuple[str, ...]


def full_look(local: LocalMachine, sources: Sources | None = None) -> FullLook:
    """Ask what the quick look leaves out. Never fails: what cannot be read is unknown."""
    sources = sources or Sources()
    details: tuple[GpuDetail, ...] = ()
    nvml = sources.open_nvml()
    if nvml is not None:
        try:
            details = read_details(nvml)
        finally:
            nvml.close()
    tree = Tree(sources.root)
    others = vendor_gpus(sources.run, sources.platform) if not details else ()
    sentences = [*_of_gpus(details), *_of_others(others), *_of_host(local, tree)]
    return FullLook(details, disk_kind(tree), tuple(sentences))


def _of_gpus(details: tuple[GpuDetail, ...]) -> Iterator[str]:
    for number, detail in enumerate(details):
        yield from _in_use(f"GPU {number}", detail.busy_share, detail.used_bytes)
        if detail.mig:
            yield f"GPU {number} is partitioned (MIG)"
        if detail.pcie_width is not None and detail.pcie_width < _PCIE_USUAL_WIDTH:
            yield f"GPU {number} has {detail.pcie_width} PCIe lanes of generation {detail.pcie_generation or '?'}"


def _of_others(gpus: tuple[VendorGpu, ...]) -> Iterator[str]:
    for gpu in gpus:
        limit = "" if gpu.power_limit_w is None else f", limited to {gpu.power_limit_w:.0f} W"
        cores = "" if gpu.cores is None else f" with {gpu.cores} cores"
        yield f"its maker's tool shows {gpu.name}{cores}{limit}"
        yield from _in_use(gpu.name, gpu.busy_share, gpu.used_bytes)


def _in_use(name: str, busy_share: float | None, used_bytes: float | None) -> Iterator[str]:
    if (busy_share or 0.0) > _MOST_BUSY_SHARE or (used_bytes or 0.0) > _MOST_USED_BYTES:
        busy = "" if busy_share is None else f", busy {busy_share:.0%} of the time"
        used = "" if used_bytes is None else f", {used_bytes / GIB:.1f} GiB taken"
        yield f"{name} is in use by another process{busy}{used}: measuring it now would measure both"


def _of_host(local: LocalMachine, tree: Tree) -> Iterator[str]:
    supplies = [f"sys/class/power_supply/{name}" for name in tree.names("sys/class/power_supply")]
    if any(tree.text(f"{path}/status") == "Discharging" for path in supplies):
        yield "the machine runs on its battery: it is slower than on the mains, and so would a profile be"
    if "powersave" in tree.text("sys/firmware/acpi/platform_profile") + tree.text("sys/firmware/acpi/low-power"):
        yield "a power-saving profile is on"
    load = tree.text("proc/loadavg").partition(" ")[0]
    try:
        busy = float(load)
    except ValueError:
        return
    if busy > _BUSY_LOAD * max(local.host.vcpus, 1.0):
        yield f"{busy:.1f} processes compete for {local.host.vcpus:g} CPUs: what is measured now is what they leave"


def disk_kind(tree: Tree) -> str:
    """'nvme', 'ssd', 'hard disk' or 'virtual' of the first real disk; '' where none is seen."""
    for name in tree.names("sys/block"):
        if name.startswith(("loop", "ram", "zram", "dm-", "md", "sr")):
            continue
        if name.startswith("nvme"):
            return "nvme"
        if name.startswith(("vd", "xvd")):
            return "virtual"
        return "hard disk" if tree.text(f"sys/block/{name}/queue/rotational") == "1" else "ssd"
    return ""
