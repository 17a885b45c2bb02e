"""The one alternative worth knowing beside the recommended row: what a dearer, or a cheaper, hour would pick."""

from typing import NamedTuple

from planner.plan.planning import Answer
from planner.plan.recommend import recommend
from planner.plan.search import Row
from planner.units import SECONDS_PER_HOUR


class Alternative(NamedTuple):
    """A row that may be recommended too, and the value of an hour of waiting, in USD, from which on it is the better.

    ``sooner`` is True for a faster, dearer row (better above that value), False for a slower, cheaper one (below it).
    """

    row: Row
    hour_value_usd: float
    sooner: bool


def alternative(answer: Answer) -> Alternative | None:
    """The first row to overtake the recommended one as an hour's value rises; else the first as it falls.

    Minimising ``cost + value * hours`` over all values walks the lower convex hull of the rows; these are the
    recommended row's neighbours on it.
    """
    if answer.best is None:
        return None
    best = answer.ranking.rows[answer.best]
    sooner = [row for row in answer.ranking.rows if row.time_s < best.time_s and row.weighed_usd > best.weighed_usd]
    later = [row for row in answer.ranking.rows if row.time_s > best.time_s and row.weighed_usd < best.weighed_usd]
    sooner.sort(key=lambda row: _exchange_rate(best, row))
    later.sort(key=lambda row: -_exchange_rate(best, row))
    for rows, faster in ((sooner, True), (later, False)):
        # Sorted by merit, so that the first that may be recommended is the answer.
        chosen = recommend(rows, answer.competition.limits._replace(sort="value"), answer.competition.named)
        if chosen is not None:
            return Alternative(rows[chosen], _exchange_rate(best, rows[chosen]), faster)
    return None


def _exchange_rate(one: Row, other: Row) -> float:
    """USD for each hour by which the two rows differ."""
    return (other.weighed_usd - one.weighed_usd) / (one.time_s - other.time_s) * SECONDS_PER_HOUR
