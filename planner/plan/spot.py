"""What interruptions cost a run that checkpoints: expected time by the exact renewal formula, and its spread.

Interruptions are Poisson with rate ``lam`` per second; after each the job restarts (``restart_s``) from its last
checkpoint. For a segment of ``tau`` seconds of work and a checkpoint of ``checkpoint_s`` the expected time is
``(1/lam + restart_s) * (exp(lam * (tau + checkpoint_s)) - 1)`` (Daly 2006, "A higher order estimate of the optimum
checkpoint interval", eq. 13 with the restart counted once per interruption); the interval is Young's optimum
``sqrt(2 * checkpoint_s / lam)`` (Young 1974).
"""

import math
from typing import NamedTuple

MAX_EXPONENT = 50.0
"""Beyond exp(50) a segment never completes in practice."""


class SpotTime(NamedTuple):
    """Seconds that interruptions add to the work: expected, and one standard deviation."""

    expected_s: float
    deviation_s: float


def checkpoint_interval_s(rate_per_s: float, checkpoint_s: float) -> float:
    """Young's optimum interval between checkpoints; infinite without interruptions."""
    return math.sqrt(2 * checkpoint_s / rate_per_s) if rate_per_s > 0 else math.inf


def interruption_time(work_s: float, rate_per_s: float, checkpoint_s: float, restart_s: float) -> SpotTime:
    """Seconds beyond ``work_s`` spent on checkpoints, lost work and restarts. Infinite when no segment can finish."""
    if rate_per_s <= 0 or work_s <= 0:
        return SpotTime(0.0, 0.0)
    tau = min(work_s, checkpoint_interval_s(rate_per_s, checkpoint_s))
    exponent = rate_per_s * (tau + checkpoint_s)
    if exponent > MAX_EXPONENT:
        return SpotTime(math.inf, math.inf)
    expected = (1 / rate_per_s + restart_s) * math.expm1(exponent) * work_s / tau
    interruptions = rate_per_s * expected
    loss = tau / 2 + restart_s
    return SpotTime(expected - work_s, math.sqrt(interruptions) * loss)
