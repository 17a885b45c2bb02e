"""A machine: accelerators, the link between them, and the host around them."""

from typing import NamedTuple

from planner.hardware.accelerator import Accelerator
from planner.hardware.interconnect import Link, Network


class Cpu(NamedTuple):
    """A CPU family as a training device and as a host: rates per core, bandwidth per socket."""

    key: str
    name: str
    vendor: str
    fp32_flop_per_cycle_core: float
    clock_hz: float
    bandwidth_bytes_per_s: float | None
    vcpus_per_core: int
    cores_per_socket: int


class Machine(NamedTuple):
    """What runs the training: ``num_nodes`` machines of ``num_gpus`` accelerators each.

    ``num_gpus`` is per node; 0 means the CPU is the device (then ``accelerator.kind`` is "cpu" and its rates are the
    whole machine's). A fraction (0.125..0.5) is a share of a GPU: rates and memory scale with it.
    """

    name: str
    accelerator: Accelerator
    num_gpus: float
    num_nodes: int = 1
    link: Link | None = None
    network: Network | None = None
    cpu: Cpu | None = None
    vcpus: float | None = None
    ram_bytes: float | None = None

    @property
    def devices(self) -> int:
        """Data-parallel workers over all nodes; a CPU machine or a share of a GPU is one per node."""
        return max(1, int(self.num_gpus)) * self.num_nodes


def cpu_machine(
    cpu: Cpu,
    vcpus: float,
    ram_bytes: float | None,
    *,
    name: str = "",
    whole_socket: bool = False,
    power_w: float | None = None,
) -> Machine:
    """A machine whose CPU does the training: the accelerator is the cores one has, as one device.

    Peak rate = cores x clock x FLOP a clock; bandwidth is the share of the sockets' that the cores make up, or all of
    it with ``whole_socket`` (nobody else is on the machine). The device's memory is the machine's.
    """
    cores = max(vcpus / cpu.vcpus_per_core, 0.5)
    share = max(1.0, cores / cpu.cores_per_socket) if whole_socket else cores / cpu.cores_per_socket
    bandwidth = cpu.bandwidth_bytes_per_s
    device = Accelerator(
        key=cpu.key,
        name=cpu.name,
        kind="cpu",
        vendor=cpu.vendor,
        architecture=cpu.name,
        form_factor="socket",
        stack="cpu",
        trains=True,
        fp32_flops_per_s=cores * cpu.clock_hz * cpu.fp32_flop_per_cycle_core,
        memory_bytes=ram_bytes,
        usable_memory_bytes=ram_bytes,
        bandwidth_bytes_per_s=bandwidth * share if bandwidth is not None else None,
        power_w=power_w,
    )
    return Machine(name=name or cpu.name, accelerator=device, num_gpus=0, cpu=cpu, vcpus=vcpus, ram_bytes=ram_bytes)
