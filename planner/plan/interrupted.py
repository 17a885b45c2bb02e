"""A spot machine's run: its time with interruptions, and what one should know of them."""

import math
from collections.abc import Callable

from planner.plan.plan import SpotTerms
from planner.plan.spot import NEVER, SpotTime, interruption_time, segments
from planner.plan.timeline import LONGEST_RUN_S, Timeline
from planner.units import SECONDS_PER_HOUR, Interval

_BISECTIONS = 24
"""Seven digits of a rate that nobody knows to two."""


def loss(line: Timeline, work_s: float, per_hour: float) -> SpotTime:
    """What interruptions at a rate add to ``work_s`` seconds of the run's work, and to the checkpoints it has."""
    return NEVER if per_hour <= 0 else losses(line, work_s)(per_hour)


def losses(line: Timeline, work_s: float) -> Callable[[float], SpotTime]:
    """``loss`` by the rate of interruptions.

    An epoch's checkpoint, and the one at the end, are what a restart goes on from like any other: ``fixed_s`` is only
    for those that the run would not write without interruptions.
    """
    checkpoint_s, restart_s, checkpoints = line.checkpoint_s, line.restart_s, line.checkpoints
    written_s = checkpoints * checkpoint_s

    def loss_at(per_hour: float) -> SpotTime:
        rate = per_hour / SECONDS_PER_HOUR
        if rate <= 0 or work_s <= 0:
            return NEVER
        fixed_s, *chance = interruption_time(work_s, rate, checkpoint_s, restart_s, checkpoints)
        return SpotTime(fixed_s - written_s, *chance)

    return loss_at


def with_checkpoints(line: Timeline, per_hour: Interval) -> Timeline:
    """The timeline with the checkpoints that the likely rate of interruptions calls for."""
    return line._replace(checkpoints_s=line.checkpoints_s + loss(line, line.work.p50, per_hour.p50).fixed_s)


def interrupted_time(line: Timeline, per_hour: Interval) -> Interval:
    """The run's time with interruptions: at P50 what is expected at the likely rate.

    Three things make it uncertain, taken as independent, their distances in ln added in quadrature: the work itself,
    the rate, and luck, which is the spread of the process at the likely rate. It is never less than without
    interruptions. P90 is infinite where no end is in sight (``LONGEST_RUN_S``): a rate that is known no better than to
    a factor of ten may be one at which hardly a segment ends.
    """
    undisturbed, loss_at = line.total, losses(line, line.work.p50)
    luck = loss_at(per_hour.p50)
    middle = undisturbed.p50 + luck.expected_s
    if not math.isfinite(middle):
        return Interval(middle, middle, middle)
    rates = [undisturbed.p50 + loss_at(rate).expected_s for rate in (per_hour.p10, per_hour.p90)]
    chance = [undisturbed.p50 + luck.quantile_s(share) for share in (0.1, 0.9)]
    below = (undisturbed.p50 / undisturbed.p10, middle / rates[0], middle / chance[0])
    above = (undisturbed.p90 / undisturbed.p50, rates[1] / middle, chance[1] / middle)
    high = middle * math.exp(_together(above))
    return Interval(
        max(undisturbed.p10, middle * math.exp(-_together(below))), middle, high if high <= LONGEST_RUN_S else math.inf
    )


def _together(ratios: tuple[float, ...]) -> float:
    """One distance in ln for several; a ratio below 1 is no distance in this direction."""
    if not all(map(math.isfinite, ratios)):
        return math.inf
    return math.hypot(*(math.log(max(1.0, ratio)) for ratio in ratios))


def spot_terms(line: Timeline, per_hour: Interval, break_even_per_hour: float | None) -> SpotTerms:
    """The terms of a run, for whoever looks at one row."""
    rate, work_s = per_hour.p50 / SECONDS_PER_HOUR, line.work.p50
    exposed_s = work_s + line.checkpoints * line.checkpoint_s
    added = loss(line, work_s, per_hour.p50)
    return SpotTerms(
        per_hour=per_hour,
        checkpoint_interval_s=work_s / segments(work_s, rate, line.checkpoint_s, line.checkpoints),
        checkpoint_s=line.checkpoint_s,
        restart_s=line.restart_s,
        interruptions=rate * (exposed_s + added.expected_s),
        never_interrupted=added.calm,
        added_s=added.expected_s,
        added_p90_s=added.quantile_s(0.9),
        break_even_per_hour=break_even_per_hour,
    )


def break_even_rate(line: Timeline, spot_usd_per_hour: float, on_demand_usd_per_hour: float) -> float:
    """Interruptions an hour at which a spot run is expected to cost what the undisturbed one does on demand.

    0 where spot is no cheaper an hour; found by bisection, as the expected time grows with the rate.
    """
    undisturbed, loss_at = line.total.p50, losses(line, line.work.p50)
    allowed_s = undisturbed * on_demand_usd_per_hour / spot_usd_per_hour - undisturbed
    if allowed_s <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while loss_at(high).expected_s <= allowed_s:
        low, high = high, high * 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if loss_at(middle).expected_s <= allowed_s else (low, middle)
    return low
