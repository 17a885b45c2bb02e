"""What interruptions cost a run that checkpoints: exact mean and variance of the renewal process, and its quantiles.

The process (Daly 2006, "A higher order estimate of the optimum checkpoint interval for restart dumps", section 2):
interruptions are Poisson with rate ``lam``; the work is cut into ``n`` segments of ``work / n`` seconds, each followed
by a checkpoint of ``c`` seconds, so that a segment takes ``d = work / n + c``; an interruption loses the segment it
falls into, and after it the job needs ``r`` seconds without interruption to be back at its last checkpoint. From this
follow the number of failures, which is negative binomial in ``n`` and ``exp(-lam * d)``, and Daly's equation
``n * exp(lam * r) * expm1(lam * d) / lam`` for the expected time; variance and quantiles below are of the same process.
Several nodes are one job: any node's loss interrupts all, so their rates add up before they come here.
"""

import math
from typing import NamedTuple

MAX_EXPONENT = 50.0
"""Beyond exp(50) a segment never completes in practice."""


class SpotTime(NamedTuple):
    """Seconds beyond the work: ``fixed_s`` for its checkpoints, then what interruptions add, by mean and deviation.

    ``calm`` is the probability that no interruption comes at all; one costs at least ``least_s``.
    """

    fixed_s: float
    mean_s: float
    deviation_s: float
    calm: float
    least_s: float = 0.0

    @property
    def expected_s(self) -> float:
        return self.fixed_s + self.mean_s

    def quantile_s(self, share: float) -> float:
        """Seconds beyond the work that are not exceeded with probability ``share``, within (0, 1).

        Runs without any interruption take ``fixed_s``; the others a restart at least, and beyond it a gamma
        distribution of their mean and variance is taken, by Wilson and Hilferty (1931).
        """
        if share <= self.calm or self.mean_s <= 0:
            return self.fixed_s
        if not math.isfinite(self.mean_s):
            return math.inf
        stormy = 1.0 - self.calm
        mean = self.mean_s / stormy
        variance = (self.deviation_s**2 + self.mean_s**2) / stormy - mean**2
        beyond = mean - self.least_s
        if variance <= 0 or beyond <= 0:
            return self.fixed_s + mean
        ninth = variance / (9.0 * beyond**2)
        root = 1.0 - ninth + normal_quantile((share - self.calm) / stormy) * math.sqrt(ninth)
        return self.fixed_s + self.least_s + beyond * max(0.0, root) ** 3


NEVER = SpotTime(0.0, 0.0, 0.0, 1.0)


def checkpoint_interval_s(rate_per_s: float, checkpoint_s: float) -> float:
    """Daly's optimum of the work between checkpoints (2006, eq. 37), Young's (1974) to first order; seconds.

    Infinite without interruptions. Where a checkpoint takes as long as interruptions are apart, it is that distance.
    """
    if rate_per_s <= 0:
        return math.inf
    between = 1.0 / rate_per_s
    if checkpoint_s >= 2 * between:
        return between
    ratio = checkpoint_s / (2 * between)
    young = math.sqrt(2 * checkpoint_s * between)
    return young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - checkpoint_s


def segments(work_s: float, rate_per_s: float, checkpoint_s: float, multiple_of: int = 1) -> int:
    """Into how many equal segments the work is best cut: the whole number next to Daly's optimum that takes least.

    A multiple of ``multiple_of``, so that checkpoints that are written anyway, such as each epoch's, are among its
    own. Exactly the best, so that neither more work nor more interruptions ever seem to take less.
    """
    interval = checkpoint_interval_s(rate_per_s, checkpoint_s)
    if interval <= 0 or not math.isfinite(work_s):
        return multiple_of
    times = max(1, round(work_s / interval / multiple_of))

    def grows_with(times: int) -> float:  # all of the expected time that depends on the number
        exponent = rate_per_s * (work_s / (times * multiple_of) + checkpoint_s)
        return times * math.expm1(exponent) if exponent < MAX_EXPONENT else math.inf

    here = grows_with(times)
    if not math.isfinite(here):  # no segment ever completes, however short
        return times * multiple_of
    while (more := grows_with(times + 1)) < here:
        times, here = times + 1, more
    while times > 1 and (fewer := grows_with(times - 1)) <= here:
        times, here = times - 1, fewer
    return times * multiple_of


def interruption_time(
    work_s: float, rate_per_s: float, checkpoint_s: float, restart_s: float, multiple_of: int = 1
) -> SpotTime:
    """What a run of ``work_s`` seconds takes beyond them. Infinite when no segment, or no restart, can finish."""
    if rate_per_s <= 0 or work_s <= 0:
        return NEVER
    count = segments(work_s, rate_per_s, checkpoint_s, multiple_of)
    return segmented_time(work_s, count, rate_per_s, checkpoint_s, restart_s)


def segmented_time(work_s: float, count: int, rate_per_s: float, checkpoint_s: float, restart_s: float) -> SpotTime:
    """As ``interruption_time``, of work cut into ``count`` segments."""
    segment_s = work_s / count + checkpoint_s
    exponent, restart_exponent = rate_per_s * segment_s, rate_per_s * restart_s
    if exponent + restart_exponent > MAX_EXPONENT:
        return SpotTime(count * checkpoint_s, math.inf, math.inf, 0.0)
    odds = math.expm1(exponent)  # failures of a segment for each completion
    failures, failures_variance = count * odds, count * odds * (1 + odds)
    lost, lost_variance = _lost_in_a_segment(rate_per_s, segment_s)
    back, back_variance = _back_at_work(rate_per_s, restart_s)
    each = lost + back
    variance = failures * (lost_variance + back_variance) + failures_variance * each**2
    return SpotTime(count * checkpoint_s, failures * each, math.sqrt(variance), math.exp(-count * exponent), restart_s)


def _lost_in_a_segment(rate: float, segment_s: float) -> tuple[float, float]:
    """Mean and variance of the time into a segment at which an interruption comes, given that one comes."""
    exponent = rate * segment_s
    if exponent < 1e-4:  # nearly uniform; the closed form cancels
        return segment_s / 2, segment_s**2 / 12
    inverse_odds = 1 / math.expm1(exponent)
    mean = 1 / rate - segment_s * inverse_odds
    variance = 1 / rate**2 - segment_s**2 * inverse_odds * (1 + inverse_odds)
    return mean, max(0.0, variance)


def _back_at_work(rate: float, restart_s: float) -> tuple[float, float]:
    """Mean and variance of the time until ``restart_s`` seconds have passed without another interruption."""
    exponent = rate * restart_s
    if exponent < 1e-4:
        return restart_s, restart_s**3 * rate / 3
    growth = math.exp(exponent)
    return (growth - 1) / rate, max(0.0, (growth * growth - 2 * exponent * growth - 1) / rate**2)


def normal_quantile(share: float) -> float:
    """The standard normal's quantile, within 5e-4 (Abramowitz and Stegun 26.2.23)."""
    tail = min(share, 1.0 - share)
    if tail <= 0:
        return math.inf if share > 0.5 else -math.inf
    root = math.sqrt(-2.0 * math.log(tail))
    above = 2.515517 + root * (0.802853 + root * 0.010328)
    below = 1.0 + root * (1.432788 + root * (0.189269 + root * 0.001308))
    value = root - above / below
    return value if share > 0.5 else -value
