"""Empirical quantiles of left-out residuals: how far P10 and P90 lie from the P50, by tier, kind and lineage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.fit.observations import Observation
from tools.fit.parameters import Vector

# A new source, framework or generation has its own spread, which left-out groups of the same sources do not show:
# on measurements from sources that had no part, 80 % intervals from within-source residuals covered 40-70 %
# (docs/model.md, "The prototype").
NEW_SOURCE_FACTOR = 1.1
NARROWEST = 0.05
FEWEST_FOR_A_TRAIT = 30
# A left-out group tells something of coverage from this many rows on, and should then be covered within these shares.
FEWEST_FOR_COVERAGE = 50
COVERED_FROM, COVERED_TO = 0.65, 0.93
TRAITS = ("kind", "lineage")
_TIERS_BY_WORTH = ("measured_here", "measured_same_gpu", "measured_other_gpu", "same_architecture", "specs_only")


class LeftOutRows(NamedTuple):
    """Rows predicted without their group: ln(predicted / measured), the product of their traits' factors, the group."""

    residuals: Vector
    scales: Vector
    groups: NDArray[np.str_]


class Coverage(NamedTuple):
    """Share of rows inside P10-P90, and how many of the larger groups are covered neither too little nor too much."""

    rows: int
    covered: float
    groups: int
    groups_within: int


def tier_quantiles(rows: Mapping[str, LeftOutRows]) -> dict[str, list[float]]:
    """Tier -> [ln(time / P50) at P10, at P90] of a row of ordinary traits, from left-out rows.

    The interval is wide enough for both sides' quantiles; a better tier is never wider than a worse one.
    """
    table: dict[str, list[float]] = {}
    widest = [-NARROWEST, NARROWEST]
    for tier in _TIERS_BY_WORTH:
        if tier in rows:
            low, high = _tier_edges(tier, rows[tier].residuals / rows[tier].scales)
            widest = [min(widest[0], low), max(widest[1], high)]
        table[tier] = [round(edge, 3) for edge in widest]
    return table


def _tier_edges(tier: str, scaled: Vector) -> tuple[float, float]:
    low, high = quantiles(scaled)
    factor = 1.0 if tier in ("measured_here", "measured_same_gpu") else NEW_SOURCE_FACTOR
    return low * factor, high * factor


def coverage(tier: str, rows: LeftOutRows) -> Coverage:
    """Each group held against the quantiles of all other groups, so that none of them widens its own interval."""
    inside = np.zeros(len(rows.residuals), dtype=bool)
    scaled = rows.residuals / rows.scales
    counted = within = 0
    for group in sorted(set(rows.groups)):
        own = rows.groups == group
        low, high = _tier_edges(tier, scaled[~own])
        inside[own] = (-scaled[own] >= low) & (-scaled[own] <= high)
        if own.sum() >= FEWEST_FOR_COVERAGE:
            counted += 1
            within += COVERED_FROM <= inside[own].mean() <= COVERED_TO
    return Coverage(len(inside), float(inside.mean()), counted, within)


def scales_of(observations: Sequence[Observation], traits: Mapping[str, float]) -> Vector:
    """The product of the factors of every observation's kind and lineage."""
    return np.array([math.prod(traits.get(o.groups[trait], 1.0) for trait in TRAITS) for o in observations])


def quantiles(residuals: Vector) -> tuple[float, float]:
    """ln(measured / predicted time) at 10 and 90 %, at least ``NARROWEST`` away from 0."""
    log_time = -residuals
    low, high = np.quantile(log_time, [0.1, 0.9])
    return min(float(low), -NARROWEST), max(float(high), NARROWEST)


def trait_factors(observations: Sequence[Observation], trait: str, residuals: Vector) -> dict[str, float]:
    """Spread of each value of a trait ('kind', 'lineage') over the pooled spread, for values with enough rows.

    Kind and lineage describe the same few networks, so each takes half, in ln, of what its rows show: in full the two
    together covered fewer left-out groups.
    """
    values = np.array([o.groups[trait] for o in observations])
    pooled = _half_width(residuals)
    factors = {}
    for value in sorted(set(values)):
        members = residuals[values == value]
        if len(members) >= FEWEST_FOR_A_TRAIT:
            factors[str(value)] = round(float(np.clip((_half_width(members) / pooled) ** 0.5, 0.6, 2.0)), 2)
    return factors


def _half_width(residuals: Vector) -> float:
    low, high = np.quantile(residuals, [0.1, 0.9])
    return max(float(high - low) / 2.0, NARROWEST)


def doubt_of(residuals: Vector) -> list[float]:
    """A doubt as [ln below the P50 at P10, ln above it at P90], both positive."""
    low, high = quantiles(residuals)
    return [round(-low, 3), round(high, 3)]
