"""An architecture that no row is of: the errors of each one left out whole, and how far its mean may lie from the P50.

The means of architectures that had no part in the fit scatter around 0; a new one's lies within the t-quantile of their
standard deviation (a prediction interval of normal means; Gelman and Hill, "Data analysis using regression", 2007,
chapter 12). Rows scatter around their architecture's mean as the intervals say already. What is not NVIDIA's has no
part in the doubt: how far another vendor's stack lies off is a doubt of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from planner.throughput.evidence import ANY_LINEAGE, architecture_name
from planner.throughput.spread import edges, widened
from tools.fit.folds import Whole, die, leave_out
from tools.fit.intervals import LeftOutRows, interval_table
from tools.fit.jobs import Job
from tools.fit.observations import Observation
from tools.fit.parameters import Vector

TIER, DOUBT, VENDOR = "specs_only", "architecture_unmeasured", "NVIDIA "
# More folds than architectures, so that each is left out alone.
_FOLDS = 997
_TAIL = 0.9


def architecture(observation: Observation) -> str:
    return architecture_name(observation.accelerator)


def without_architectures(whole: Whole, judged: Any) -> dict[str, Vector]:
    """Architecture -> ln(predicted / measured time) of its judged rows, predicted from all others' specifications."""
    residuals = leave_out(whole, architecture, _FOLDS).general_offsets
    names = np.array([architecture(o) for o in whole.observations])
    return {str(name): residuals[judged & (names == name)] for name in sorted(set(names[judged]))}


def doubt_of_architecture(left: Mapping[str, Vector]) -> list[float]:
    """A doubt as [ln below the P50 at P10, ln above it at P90]: alike, since a new architecture may be old or young."""
    means = [float(residuals.mean()) for name, residuals in left.items() if name.startswith(VENDOR)]
    count = len(means)
    spread = float(np.std(means, ddof=1)) * math.sqrt(1.0 + 1.0 / count)
    doubt = round(float(student_t.ppf(_TAIL, count - 1)) * spread, 3)
    return [doubt, doubt]


def coverage_without(
    whole: Whole,
    left: Mapping[str, Vector],
    judged: Any,
    left_out: Mapping[str, LeftOutRows],
    doubts: Mapping[str, Sequence[float]],
) -> dict[str, tuple[float, float]]:
    """Architecture -> share of its rows inside P10-P90 without the doubt and with it, both made without its rows.

    ``doubts`` has that of another vendor's stack, which its rows have in both.
    """
    architectures = np.array([architecture(o) for o in whole.observations])
    lineages = np.array([o.groups["lineage"] for o in whole.observations])
    found = {}
    for name, residuals in left.items():
        own = [die(o) for o in whole.observations if architecture(o) == name]
        table = interval_table({tier: rows.where(~np.isin(rows.dies, own)) for tier, rows in left_out.items()})
        others = {key: rows for key, rows in left.items() if key != name}
        known = {**doubts, DOUBT: doubt_of_architecture(others)}
        flags = () if name.startswith(VENDOR) else ("vendor_unmeasured",)
        rows = list(zip(residuals, lineages[judged & (architectures == name)], strict=True))
        found[name] = (_covered(rows, table, flags, known), _covered(rows, table, (*flags, DOUBT), known))
    return found


def _covered(
    rows: Sequence[tuple[float, str]],
    table: Mapping[str, Any],
    flags: Sequence[str],
    doubts: Mapping[str, Sequence[float]],
) -> float:
    inside = 0
    for residual, lineage in rows:
        low, high = widened(edges(table, TIER, str(lineage)), flags, doubts)
        inside += low <= -residual <= high
    return inside / len(rows)


def known_architectures(observations: Sequence[Observation], jobs: Sequence[Job]) -> dict[str, list[str]]:
    """Lineage -> architectures measured with it alone; under ``ANY_LINEAGE`` those that taught the constants."""
    taught = {architecture(o) for o in observations}
    found = {ANY_LINEAGE: sorted(taught)}
    for job in jobs:
        if job.groups["architecture"] not in taught:
            found.setdefault(job.groups["lineage"], []).append(job.groups["architecture"])
    return {lineage: sorted(set(names)) for lineage, names in found.items()}
