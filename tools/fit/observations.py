"""One observation: a measured step with the operations that ran and the device they ran on."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.hardware.accelerator import Accelerator
from planner.throughput.device import DeviceRates
from planner.throughput.precision import DevicePrecision
from planner.workloads.workload import Operation


@dataclass(frozen=True)
class Observation:
    """A measured optimizer step of ``accumulation`` micro steps on one device.

    ``effects`` names the random effects it shares with others as (kind, name); ``groups`` are the folds it belongs to
    (family, accelerator, source ...). ``update_bytes`` and ``update_kernels`` are 0 without optimizer step.
    """

    operations: tuple[Operation, ...]
    batch_size: float
    accumulation: int
    layout: str
    accelerator: Accelerator
    rates: DeviceRates
    precision: DevicePrecision
    update_bytes: float
    update_kernels: float
    host_factor: float
    step_time_s: float
    effects: tuple[tuple[str, str], ...] = ()
    groups: dict[str, str] = field(default_factory=dict)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        bandwidth = self.accelerator.bandwidth_bytes_per_s
        if bandwidth is None:
            raise ValueError(f"the bandwidth of {self.accelerator.key} is unknown")
        return bandwidth
