"""Where nothing meets the limits: the least by which one of them must give way."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from statistics import NormalDist
from typing import Literal, NamedTuple

from planner.plan.plan import Estimate
from planner.plan.planning import Answer
from planner.plan.probability import Z90
from planner.plan.recommend import recommendable
from planner.plan.rows import ranked_estimate
from planner.plan.search import Limits
from planner.units import Interval

_QUARTER_S = 900


class Relaxation(NamedTuple):
    """A limit moved as far as it takes; ``estimate`` is the row that then meets it, or all limits (``meets_all``)."""

    limit: Literal["deadline", "budget"]
    limits: Limits
    estimate: Estimate
    meets_all: bool


def relaxations(answer: Answer, now: datetime) -> list[Relaxation]:
    """For each limit given, what it would have to be for a row that may be recommended, whatever the row's rank.

    Where no row meets the other limit either, the row that meets this one first is named; a limit that some row meets
    by itself is then left alone, as moving it would not help. A deadline is moved to the next quarter of an hour, a
    budget to the next dollar.
    """
    limits, rows = answer.competition.limits, answer.ranking.rows
    left_s = (limits.deadline - now).total_seconds() if limits.deadline is not None else math.inf
    most_usd = limits.budget_usd if limits.budget_usd is not None else math.inf
    needs = _needs(answer, now)

    def later(seconds: float) -> float:
        return (_next_quarter(now + timedelta(seconds=seconds)) - now).total_seconds()

    found = []
    soonest = _least([(seconds, usd, index) for seconds, usd, index in needs], left_s, most_usd, later)
    if soonest is not None:
        seconds, index, meets_all = soonest
        moved = limits._replace(deadline=_next_quarter(now + timedelta(seconds=seconds)))
        found.append(Relaxation("deadline", moved, ranked_estimate(rows[index], index + 1, False, now), meets_all))
    cheapest = _least([(usd, seconds, index) for seconds, usd, index in needs], most_usd, left_s, math.ceil)
    if cheapest is not None:
        usd, index, meets_all = cheapest
        moved = limits._replace(budget_usd=float(math.ceil(usd)))
        found.append(Relaxation("budget", moved, ranked_estimate(rows[index], index + 1, False, now), meets_all))
    return found


def _needs(answer: Answer, now: datetime) -> list[tuple[float, float, int]]:
    """Of rows that may be recommended: the seconds and the USD each needs with the confidence, and its index.

    Of a machine's offers that take as long at prices as old, only the cheapest can be of use.
    """
    rows, confidence = answer.ranking.rows, answer.competition.limits.confidence
    cheapest: dict[tuple[object, ...], int] = {}
    for index in recommendable(rows, answer.competition.named):
        row = rows[index]
        aged = (row.offer.purchase, row.offer.price_as_of) if row.offer is not None else None
        known = cheapest.setdefault((id(row.setting), row.time_s, aged), index)
        if row.cost_usd < rows[known].cost_usd:
            cheapest[id(row.setting), row.time_s, aged] = index
    found = []
    for index in cheapest.values():
        setting, offer = rows[index].setting, rows[index].offer
        time_s, cost_usd = setting.time_s(offer), setting.cost_usd(offer, now.date())
        found.append((limit_met(time_s, confidence), limit_met(cost_usd, confidence), index))
    return found


def _least(
    needs: list[tuple[float, float, int]], given: float, other_given: float, rounded: Callable[[float], float]
) -> tuple[float, int, bool] | None:
    """Of rows that need so much of a limit, and so much of the other: the least, a row, and if it meets the other.

    The row is the one that needs least of the other limit once this one is moved, ``rounded`` up. None where nothing
    can meet the limit, or where it is not in the way.
    """
    sound = [need for need in needs if need[1] <= other_given]
    least = min((need[0] for need in sound or needs), default=0.0)
    if not given < least < math.inf:
        return None
    moved = rounded(least)
    _, index = min((other, index) for needed, other, index in sound or needs if needed <= moved)
    return least, index, bool(sound)


def limit_met(quantity: Interval, probability: float) -> float:
    """The limit below which the quantity stays with ``probability`` (0 to 1): the inverse of ``p_below``."""
    deviations = _deviations(probability)
    end = quantity.p90 if deviations >= 0 else quantity.p10
    if quantity.p50 <= 0 < deviations:
        return quantity.p90 * deviations / Z90
    if min(quantity.p50, end) <= 0:
        return quantity.p50
    return quantity.p50 * math.exp(deviations * abs(math.log(end / quantity.p50)) / Z90)


@cache
def _deviations(probability: float) -> float:
    """The standard normal's quantile: thousands of rows ask for the same."""
    return NormalDist().inv_cdf(probability)


def _next_quarter(moment: datetime) -> datetime:
    whole = moment.replace(minute=0, second=0, microsecond=0)
    quarters = math.ceil((moment - whole).total_seconds() / _QUARTER_S)
    return whole + timedelta(seconds=quarters * _QUARTER_S)
