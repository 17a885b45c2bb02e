"""The facts about this machine that a look at it gives, before anything is concluded from them."""

from typing import NamedTuple


class GpuFacts(NamedTuple):
    """One GPU as the driver describes it; None where it does not say."""

    name: str
    memory_bytes: float | None = None
    power_limit_w: float | None = None
    cores: int | None = None
    nvlink: bool = False


class MigSlice(NamedTuple):
    """A part of a partitioned GPU: 'NVIDIA A100-SXM4-40GB MIG 3g.20gb' and its memory."""

    name: str
    memory_bytes: float | None


class GpuDetail(NamedTuple):
    """What the full look asks of a GPU besides; None where the driver does not say.

    ``used_bytes`` is memory in use now and ``busy_share`` the share of the last moments in which a kernel ran, by
    anyone; ``links`` are NVLinks that are up.
    """

    pcie_generation: int | None = None
    pcie_width: int | None = None
    clock_hz: float | None = None
    mig: bool | None = None
    ecc: bool | None = None
    compute_capability: tuple[int, int] | None = None
    used_bytes: float | None = None
    busy_share: float | None = None
    links: int = 0


class HostFacts(NamedTuple):
    """The machine around the GPUs, with the limits of its container applied.

    ``cpu_identity`` is vendor, family and model number ('intel 6 85'), for clouds that hide the name. ``cloud`` names
    the provider of a virtual machine ('' on real hardware). ``vcpus`` may be a fraction under a CPU quota.
    """

    cpu_name: str
    vcpus: float
    threads_per_core: float
    ram_bytes: float | None
    cpu_identity: str = ""
    cpu_flags: tuple[str, ...] = ()
    cpu_clock_hz: float | None = None
    portable: bool = False
    cloud: str = ""
    container: bool = False
    limits: tuple[str, ...] = ()

    @property
    def physical_cores(self) -> int:
        """Cores that the vCPUs make up, at least one."""
        return max(1, round(self.vcpus / self.threads_per_core))
