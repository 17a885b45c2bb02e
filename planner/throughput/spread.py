"""How wide an interval is: ln(time / P50) at P10 and P90, read from the fitted table and widened by doubts.

The table has quantiles of left-out residuals by evidence tier and software lineage (:mod:`tools.fit.intervals`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Edges = tuple[float, float]


def edges(table: Mapping[str, Any], tier: str, lineage: str) -> Edges:
    """ln(time / P50) at P10 and P90, without doubts; those of any lineage where nobody measured this one."""
    low, high = table["lineages"].get(tier, {}).get(lineage) or table["tiers"][tier]
    return low, high


def widened(known: Edges, flags: Sequence[str], doubts: Mapping[str, Sequence[float]]) -> Edges:
    """``known`` and the doubts of those flags that have one, as independent: squares add up."""
    low, high = known
    for flag in flags:
        if flag in doubts:
            doubt_low, doubt_high = doubts[flag]
            low, high = -math.hypot(low, doubt_low), math.hypot(high, doubt_high)
    return low, high
