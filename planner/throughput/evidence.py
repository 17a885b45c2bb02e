"""Evidence: which measurements stand behind an estimate, the offset they give, and how wide the interval must be.

ln(predicted time / measured time) is modelled as a sum of random effects; an offset is the effect's shrunken mean
(best linear unbiased prediction, Robinson 1991), subtracted from ln(time).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from planner.hardware.accelerator import Accelerator
from planner.throughput.calibration import Calibration, load_calibration
from planner.throughput.device import HostSpeed, architecture_group
from planner.throughput.estimate import Evidence
from planner.units import Interval


class Correction(NamedTuple):
    """``log_offset`` is subtracted from ln(time); ``low`` and ``high`` are ln(time / P50) at P10 and P90."""

    log_offset: float
    low: float
    high: float
    evidence: Evidence

    def interval(self, p50: float) -> Interval:
        return Interval(p50 * math.exp(self.low), p50, p50 * math.exp(self.high))


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known beyond specifications: the fitted constants and the host's measured launch cost."""

    calibration: Calibration
    host: HostSpeed | None = None

    def correction(self, workload_name: str, accelerator: Accelerator, flags: tuple[str, ...]) -> Correction:
        offsets = self.calibration.offsets["architecture"]
        group = architecture_group(accelerator)
        evidence: Evidence = "same_architecture" if group in offsets else "specs_only"
        low, high = self.calibration.intervals[evidence]
        for flag in flags:
            wider = self.calibration.intervals.get(flag)
            if wider is not None:
                low, high = min(low, wider[0]), max(high, wider[1])
        return Correction(offsets.get(group, 0.0), low, high, evidence)


def shipped_knowledge() -> Knowledge:
    """The knowledge of a user who has measured nothing."""
    return Knowledge(load_calibration())
