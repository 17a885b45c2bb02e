"""The facts about this machine that a look at it gives, before anything is concluded from them."""

from typing import NamedTuple


class GpuFacts(NamedTuple):
    """One GPU as the driver describes it; None where it does not say."""

    name: str
    memory_bytes: float | None = None
    power_limit_w: float | None = None
    cores: int | None = None
    nvlink: bool = False


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
