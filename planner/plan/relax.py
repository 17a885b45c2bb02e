"""Where nothing meets the limits: the least by which one of them must give way."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Literal, NamedTuple

from planner.plan.pick import find
from planner.plan.plan import Estimate
from planner.plan.planning import Answer
from planner.plan.probability import Z90, p_below
from planner.plan.recommend import recommend
from planner.plan.search import Limits
from planner.units import Interval

_QUARTER_S = 900


class Relaxation(NamedTuple):
    """A limit moved as far as it takes; ``estimate`` is the row that then meets it, or all limits (``meets_all``)."""

    limit: Literal["deadline", "budget"]
    limits: Limits
    estimate: Estimate
    meets_all: bool


def relaxations(answer: Answer, estimates: Sequence[Estimate], limits: Limits, now: datetime) -> list[Relaxation]:
    """For each limit given, what it would have to be for a row of ``estimates`` that may be recommended.

    Where no row meets the other limit either, the row that meets this one first is named. A deadline is moved to the
    next quarter of an hour, a budget to the next dollar.
    """
    rows = [row for row in estimates if _recommendable(answer, row)]
    found = []
    if limits.deadline is not None:
        chosen = _least(rows, _deadline_s(limits), lambda row: _within_budget(row, limits))
        if chosen is not None:
            row, seconds, meets_all = chosen
            moved = _next_quarter(now + timedelta(seconds=seconds))
            found.append(Relaxation("deadline", limits._replace(deadline=moved), row, meets_all))
    if limits.budget_usd is not None:
        chosen = _least(rows, _budget_usd(limits), lambda row: _in_time(row, limits, now))
        if chosen is not None:
            row, usd, meets_all = chosen
            found.append(Relaxation("budget", limits._replace(budget_usd=float(math.ceil(usd))), row, meets_all))
    return found


def _recommendable(answer: Answer, estimate: Estimate) -> bool:
    choice = find(answer, estimate)
    if choice is None or choice.row is None:
        return False
    return recommend([choice.row], Limits(), answer.competition.named) is not None


def _least(
    rows: Sequence[Estimate], needed: Callable[[Estimate], float], meets_the_other: Callable[[Estimate], bool]
) -> tuple[Estimate, float, bool] | None:
    """The row that needs least of a limit, among those that meet the other one, if there are any."""
    sound = [row for row in rows if meets_the_other(row)]
    candidates = sound or rows
    if not candidates:
        return None
    best = min(candidates, key=needed)
    return best, needed(best), bool(sound)


def _deadline_s(limits: Limits) -> Callable[[Estimate], float]:
    return lambda row: limit_met(row.time_s, limits.confidence) if row.time_s is not None else math.inf


def _budget_usd(limits: Limits) -> Callable[[Estimate], float]:
    return lambda row: limit_met(row.cost_usd, limits.confidence) if row.cost_usd is not None else math.inf


def limit_met(quantity: Interval, probability: float) -> float:
    """The limit below which the quantity stays with ``probability`` (0 to 1): the inverse of ``p_below``."""
    deviations = NormalDist().inv_cdf(probability)
    end = quantity.p90 if deviations >= 0 else quantity.p10
    if min(quantity.p50, end) <= 0:
        return quantity.p50
    return quantity.p50 * math.exp(deviations * abs(math.log(end / quantity.p50)) / Z90)


def _within_budget(row: Estimate, limits: Limits) -> bool:
    if limits.budget_usd is None:
        return True
    return row.cost_usd is not None and p_below(row.cost_usd, limits.budget_usd) >= limits.confidence


def _in_time(row: Estimate, limits: Limits, now: datetime) -> bool:
    if limits.deadline is None:
        return True
    left_s = (limits.deadline - now).total_seconds()
    return row.time_s is not None and p_below(row.time_s, left_s) >= limits.confidence


def _next_quarter(moment: datetime) -> datetime:
    whole = moment.replace(minute=0, second=0, microsecond=0)
    quarters = math.ceil((moment - whole).total_seconds() / _QUARTER_S)
    return whole + timedelta(seconds=quarters * _QUARTER_S)
