"""The front of time and cost, and what an hour sooner costs along it."""

from collections.abc import Sequence
from typing import NamedTuple

from planner.plan.search import ORDINARY_STACKS, Row, pareto_front
from planner.plan.tail import is_sound
from planner.units import SECONDS_PER_HOUR


class FrontPoint(NamedTuple):
    """A row that no other beats in both, by its place among the rows; ``usd_per_hour_sooner`` against the next slower.

    It is None for the slowest, which is the cheapest.
    """

    row: int
    usd_per_hour_sooner: float | None


def front(rows: Sequence[Row]) -> list[FrontPoint]:
    """The front of rows that run ordinary PyTorch, at a known cost that can be relied on, the fastest first."""
    allowed = [
        index
        for index, row in enumerate(rows)
        if row.setting.candidate.machine.accelerator.stack in ORDINARY_STACKS and row.cost_known and is_sound(row)
    ]
    kept = pareto_front([rows[index] for index in allowed])
    chosen = sorted((allowed[index] for index in kept), key=lambda index: rows[index].time_s)
    points = []
    for place, index in enumerate(chosen):
        slower = rows[chosen[place + 1]] if place + 1 < len(chosen) else None
        points.append(FrontPoint(index, None if slower is None else hour_sooner_usd(rows[index], slower)))
    return points


def hour_sooner_usd(faster: Row, slower: Row) -> float:
    """USD for each hour that ``faster`` ends before ``slower``."""
    return (faster.weighed_usd - slower.weighed_usd) / (slower.time_s - faster.time_s) * SECONDS_PER_HOUR
