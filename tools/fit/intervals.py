"""Empirical quantiles of left-out residuals: how far P10 and P90 lie from the P50, by tier, kind and lineage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tools.fit.observations import Observation
from tools.fit.parameters import Vector

# A new source, framework or generation has its own spread, which left-out groups of the same sources do not show:
# on measurements from sources that had no part, 80 % intervals from within-source residuals covered 40-70 %
# (MODEL.md section 13).
NEW_SOURCE_FACTOR = 1.1
NARROWEST = 0.05
FEWEST_FOR_A_TRAIT = 30
_TIERS_BY_WORTH = ("measured_here", "measured_same_gpu", "measured_other_gpu", "same_architecture", "specs_only")


def tier_quantiles(residuals: Mapping[str, Vector]) -> dict[str, list[float]]:
    """Tier -> [ln(time / P50) at P10, at P90] from ln(predicted / measured) of left-out rows.

    The interval is wide enough for both sides' quantiles; a better tier is never wider than a worse one.
    """
    table: dict[str, list[float]] = {}
    widest = [-NARROWEST, NARROWEST]
    for tier in _TIERS_BY_WORTH:
        if tier in residuals:
            low, high = quantiles(residuals[tier])
            factor = 1.0 if tier in ("measured_here", "measured_same_gpu") else NEW_SOURCE_FACTOR
            widest = [min(widest[0], low * factor), max(widest[1], high * factor)]
        table[tier] = [round(edge, 3) for edge in widest]
    return table


def quantiles(residuals: Vector) -> tuple[float, float]:
    """ln(measured / predicted time) at 10 and 90 %, at least ``NARROWEST`` away from 0."""
    log_time = -residuals
    low, high = np.quantile(log_time, [0.1, 0.9])
    return min(float(low), -NARROWEST), max(float(high), NARROWEST)


def trait_factors(observations: Sequence[Observation], trait: str, residuals: Vector) -> dict[str, float]:
    """Spread of each value of a trait ('kind', 'lineage') over the pooled spread, for values with enough rows."""
    values = np.array([o.groups[trait] for o in observations])
    pooled = _half_width(residuals)
    factors = {}
    for value in sorted(set(values)):
        members = residuals[values == value]
        if len(members) >= FEWEST_FOR_A_TRAIT:
            factors[str(value)] = round(float(np.clip(_half_width(members) / pooled, 0.6, 2.0)), 2)
    return factors


def _half_width(residuals: Vector) -> float:
    low, high = np.quantile(residuals, [0.1, 0.9])
    return max(float(high - low) / 2.0, NARROWEST)


def doubt_of(residuals: Vector) -> list[float]:
    """A doubt as [ln below the P50 at P10, ln above it at P90], both positive."""
    low, high = quantiles(residuals)
    return [round(-low, 3), round(high, 3)]
