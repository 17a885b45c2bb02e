"""Coverage of P10-P90: the share of left-out rows inside the intervals that all other groups of rows give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.throughput.spread import edges
from tools.fit.intervals import LeftOutRows, Names, interval_table

# A left-out group tells something of coverage from this many rows on, and should then be covered within these shares.
FEWEST_FOR_COVERAGE = 50
COVERED_FROM, COVERED_TO = 0.65, 0.93


class Coverage(NamedTuple):
    """Share of rows inside P10-P90, number of larger groups, and which of those are covered too little or too much."""

    rows: int
    covered: float
    groups: int
    outside: dict[str, float]


def covered(rows: Mapping[str, LeftOutRows], tier: str) -> NDArray[np.bool_]:
    """Which rows of the tier lie inside the intervals of a table made without any row of their group, in any tier."""
    judged, groups = rows[tier], rows[tier].groups(tier)
    inside = np.zeros(len(groups), dtype=bool)
    for group in sorted(set(groups)):
        others = {name: left.where(left.groups(tier) != group) for name, left in rows.items()}
        table = interval_table(others)
        for i in np.flatnonzero(groups == group):
            low, high = edges(table, tier, str(judged.lineages[i]))
            inside[i] = low <= -judged.residuals[i] <= high
    return inside


def coverage(inside: NDArray[np.bool_], groups: Names) -> Coverage:
    """The coverage of rows, of which ``inside`` lie in their intervals, and of their groups."""
    by_group = {str(group): inside[groups == group] for group in sorted(set(groups))}
    larger = {group: float(own.mean()) for group, own in by_group.items() if len(own) >= FEWEST_FOR_COVERAGE}
    outside = {group: share for group, share in larger.items() if not COVERED_FROM <= share <= COVERED_TO}
    return Coverage(len(inside), float(inside.mean()), len(larger), outside)
