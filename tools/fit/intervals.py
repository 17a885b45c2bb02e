"""Empirical quantiles of left-out residuals: how far P10 and P90 lie from the P50, by tier and software lineage.

ln(measured / predicted time) = scale x z: the scale is that of the row's lineage in its tier, the quantiles of z are
the tier's. Such locally weighted residuals are those of Lei, G'Sell, Rinaldo, Tibshirani and Wasserman
("Distribution-free predictive inference for regression", JASA 2018, section 5.2). A lineage's scale is pooled
partially: with that of all tiers, and that with all lineages, by the number of rows that stand behind each (Gelman and
Hill, "Data analysis using regression", 2007, chapter 12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from planner.throughput.evidence import SAME_FAMILY
from planner.throughput.spread import Edges
from tools.fit.parameters import Vector

Table = dict[str, Any]
Names = NDArray[np.str_]

# A new source, framework or generation has its own spread, which left-out groups of the same sources do not show:
# on measurements from sources that had no part, 80 % intervals from within-source residuals covered 40-70 %
# (docs/model.md, "The prototype").
NEW_SOURCE_FACTOR = 1.1
# The same run on the same machine has no rows to leave out; it gets this.
NARROWEST = 0.05
# Pooling: a scale weighs as many rows as it has against this many at the scale it is drawn to.
ROWS_OF_THE_WHOLE = 10
# A lineage that spreads less than others did so in the one or two places that measured it: half of it is believed.
BELIEVED_OF_LESS = 0.5
# No spread is believed to be below a tenth of the whole's, as that of a few rows that agree by chance.
SMALLEST_SCALE = 0.1
# From the best to the worst.
TIERS = ("measured_same_gpu", "measured_other_gpu", SAME_FAMILY, "same_architecture", "specs_only")
# Of a network that nobody measured, whether or not others of its family were, all rows of it are left out.
_WITHOUT_NETWORK = (SAME_FAMILY, "same_architecture")
_ANY = ""  # any lineage without rows


class LeftOutRows(NamedTuple):
    """Rows predicted without their die or network: ln(predicted / measured time), and what they are of.

    An unseen network is left out with all of its like, everything else with its die.
    """

    residuals: Vector
    lineages: Names
    kinds: Names
    dies: Names
    networks: Names

    def where(self, members: NDArray[Any]) -> LeftOutRows:
        """The rows at positions, or those where ``members`` is True."""
        return LeftOutRows(*(column[members] for column in self))

    def groups(self, tier: str) -> Names:
        """What is left out to judge a tier."""
        return self.networks if tier in _WITHOUT_NETWORK else self.dies


def interval_table(rows: Mapping[str, LeftOutRows]) -> Table:
    """The tables of :mod:`planner.throughput.spread` from left-out rows by tier: 'tiers', and 'lineages' of each."""
    factors = _lineage_factors(rows)
    own = [_edges(tier, rows[tier], factors[tier]) for tier in TIERS]
    counts = [Counter(map(str, rows[tier].lineages)) for tier in TIERS]
    ordered = {name: _in_order([pairs[name] for pairs in own], [count[name] for count in counts]) for name in own[0]}
    of_any = ordered.pop(_ANY)
    return {
        "tiers": {"measured_here": [-NARROWEST, NARROWEST], **dict(zip(TIERS, of_any, strict=True))},
        "lineages": {tier: {name: pairs[i] for name, pairs in ordered.items()} for i, tier in enumerate(TIERS)},
    }


def _edges(tier: str, rows: LeftOutRows, factors: Mapping[str, float]) -> dict[str, Edges]:
    """Lineage -> ln(time / P50) at P10 and P90 of a row of the tier."""
    own = np.array([factors[str(name)] for name in rows.lineages])
    low, high = np.quantile(-rows.residuals / own, [0.1, 0.9])
    beyond = 1.0 if tier == "measured_same_gpu" else NEW_SOURCE_FACTOR
    every = {_ANY: 1.0, **factors}
    return {name: (float(low) * beyond * factor, float(high) * beyond * factor) for name, factor in every.items()}


def _in_order(own: Sequence[Edges], rows: Sequence[int]) -> list[list[float]]:
    """The edges of tiers from the best to the worst, so that better evidence never widens an interval.

    Where it would, both tiers are given their mean by rows (isotonic regression; Barlow et al., "Statistical inference
    under order restrictions", 1972).
    """
    weights = [count + ROWS_OF_THE_WHOLE for count in rows]
    low = isotonic_regression([edge for edge, _ in own], weights=weights, increasing=False).x
    high = isotonic_regression([edge for _, edge in own], weights=weights).x
    return [_rounded(pair) for pair in zip(low, high, strict=True)]


def _lineage_factors(rows: Mapping[str, LeftOutRows]) -> dict[str, dict[str, float]]:
    """Tier -> lineage -> its spread over the tier's; also of lineages that other tiers alone have."""
    relative = {tier: left.residuals / _spread(left.residuals) for tier, left in rows.items()}
    everywhere, named = np.concatenate(list(relative.values())), np.concatenate([r.lineages for r in rows.values()])
    names = sorted(set(named))
    whole = {name: _pooled(everywhere[named == name], 0.0) for name in names}
    return {
        tier: {str(name): math.exp(_pooled(values[rows[tier].lineages == name], whole[name])) for name in names}
        for tier, values in relative.items()
    }


def _pooled(relative: Vector, drawn_to: float) -> float:
    """ln of the spread of ``relative``, drawn to ``drawn_to`` by so much more the fewer values there are."""
    if not len(relative):
        return drawn_to
    own = math.log(max(_spread(relative), SMALLEST_SCALE))
    own *= BELIEVED_OF_LESS if own < 0.0 else 1.0
    return (len(relative) * own + ROWS_OF_THE_WHOLE * drawn_to) / (len(relative) + ROWS_OF_THE_WHOLE)


def _spread(residuals: Vector) -> float:
    """The half-width around 0 of four fifths of the residuals."""
    return float(np.quantile(np.abs(residuals), 0.8))


def _rounded(edges: Edges) -> list[float]:
    low, high = edges
    return [round(min(float(low), -NARROWEST), 3), round(max(float(high), NARROWEST), 3)]


def doubt_of(residuals: Vector) -> list[float]:
    """A doubt as [ln below the P50 at P10, ln above it at P90], both positive."""
    low, high = np.quantile(-residuals, [0.1, 0.9])
    low, high = _rounded((float(low), float(high)))
    return [-low, high]
