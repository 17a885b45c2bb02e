"""Probability that a quantity stays below a limit, read from its P10, P50 and P90."""

from __future__ import annotations

import math

from planner.units import Interval

Z90 = 1.2815515655446004
"""The standard normal's 90 % quantile."""


def p_below(quantity: Interval, limit: float) -> float:
    """P(quantity <= limit) for a split log-normal through the three quantiles: each side has its own spread.

    Of a cost of which a credit pays the likely part nothing is left at P50; its upper side is then that of a normal.
    """
    if limit <= 0:
        return 0.0
    if quantity.p50 <= 0:
        return _p_below_normal(limit / quantity.p90 * Z90) if quantity.p90 > 0 else 1.0
    distance = math.log(limit / quantity.p50)
    end = quantity.p90 if distance >= 0 else quantity.p10
    spread = abs(math.log(end / quantity.p50)) / Z90 if end > 0 else math.inf
    if spread == 0:
        return 1.0 if distance >= 0 else 0.0
    return _p_below_normal(distance / spread)


def _p_below_normal(deviations: float) -> float:
    """The standard normal's distribution function."""
    return 0.5 * math.erfc(-deviations / math.sqrt(2))


def p_both(
    time_s: Interval, longest_s: float | None, cost_usd: Interval | None, budget_usd: float | None
) -> float | None:
    """P(a run ends in time and within the budget); None where neither is asked for, 0 where its cost is not known."""
    in_time = None if longest_s is None else p_below(time_s, longest_s)
    if budget_usd is None:
        return in_time
    return joint(in_time, 0.0 if cost_usd is None else p_below(cost_usd, budget_usd))


def joint(in_time: float | None, in_budget: float | None) -> float | None:
    """P(both limits are met) of the two limits' own probabilities; None is a limit that is not given.

    Time drives cost, so the two fail together: the smaller probability is the joint one.
    """
    if in_time is None or in_budget is None:
        return in_budget if in_time is None else in_time
    return min(in_time, in_budget)
