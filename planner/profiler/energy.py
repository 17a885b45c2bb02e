"""Energy from the counters of the hardware: RAPL of Intel and AMD processors, NVML of NVIDIA's GPUs.

RAPL counts microjoules of a processor's package and wraps at ``max_energy_range_uj``; since CVE-2020-8694 Linux lets
only root read it. A machine without readable counters has no energy to report: unknown, never 0.
"""

import glob
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from planner.profiler.nvml import Nvml, open_nvml

_PACKAGES = "sys/class/powercap/intel-rapl:[0-9]*"


class Counter:
    """One counter of joules that only grows, read through ``read``; ``range_j`` is where it starts again at 0."""

    def __init__(self, read: Callable[[], float | None], range_j: float | None = None) -> None:
        self._read = read
        self._range_j = range_j
        self._start = read()

    def joules(self) -> float | None:
        """Joules since the counter was made."""
        now = self._read()
        if now is None or self._start is None:
            return None
        if now >= self._start:
            return now - self._start
        return None if self._range_j is None else now + self._range_j - self._start


class Energy(NamedTuple):
    """Joules by what counted them; None where no counter can be read."""

    processor_j: float | None
    gpus_j: float | None

    @property
    def total_j(self) -> float | None:
        counted = [part for part in self if part is not None]
        return sum(counted) if counted else None


class EnergyMeter:
    """All counters of the machine. ``start`` sets them to zero."""

    def __init__(self, root: str = "/", nvml: Callable[[], Nvml | None] = open_nvml) -> None:
        self._root = Path(root)
        self._nvml = nvml()
        self._processor: list[Counter] = []
        self._boards: list[Counter] = []

    def start(self) -> None:
        self._processor, self._boards = self._packages(), self._gpus()

    def energy(self) -> Energy:
        """Joules since ``start``."""
        return Energy(_sum(self._processor), _sum(self._boards))

    def _packages(self) -> list[Counter]:
        directories = sorted(glob.glob(str(self._root / _PACKAGES)))
        return [
            Counter(_microjoules(directory, "energy_uj"), _microjoules(directory, _RANGE)())
            for directory in directories
            if Path(directory).name.count(":") == 1  # ':0:0' is a part of ':0'
        ]

    def _gpus(self) -> list[Counter]:
        nvml = self._nvml
        if nvml is None:
            return []
        return [Counter(partial(nvml.energy_j, index)) for index in range(nvml.device_count())]


def _sum(counters: list[Counter]) -> float | None:
    values = [value for counter in counters if (value := counter.joules()) is not None]
    return sum(values) if values else None


_RANGE = "max_energy_range_uj"


def _microjoules(directory: str, name: str) -> Callable[[], float | None]:
    def read() -> float | None:
        try:
            return float(Path(directory, name).read_text()) * 1e-6
        except (OSError, ValueError):
            return None

    return read
