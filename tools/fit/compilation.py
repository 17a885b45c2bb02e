"""How many bytes of memory-bound work a compiler saves, from rows with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from planner.throughput.backtest import predict
from planner.throughput.calibration import Calibration
from planner.throughput.evidence import Knowledge
from planner.throughput.measurement import Measurement

_CANDIDATES = np.linspace(0.1, 1.0, 37)


def fused_bytes_factor(level: str, pairs: Sequence[tuple[Measurement, Measurement]], calibration: Calibration) -> float:
    """The share of fusable bytes left, for which predicted and measured speed-ups agree best (least absolute ln)."""
    misses = [median(_misses(level, pairs, float(factor), calibration)) for factor in _CANDIDATES]
    return round(float(_CANDIDATES[int(np.argmin(misses))]), 3)


def _misses(
    level: str, pairs: Sequence[tuple[Measurement, Measurement]], factor: float, calibration: Calibration
) -> list[float]:
    """|ln(predicted speed-up / measured speed-up)| of every pair."""
    compiled = {**calibration.levels[level], "fused_bytes_factor": factor}
    no_offsets = {**calibration.offsets, "effects": {}, "networks": {}}
    changed = calibration._replace(levels={**calibration.levels, level: compiled}, offsets=no_offsets)
    knowledge = Knowledge(changed)
    misses = []
    for plain, fused in pairs:
        before, after = predict(plain, knowledge).samples_per_s, predict(fused, knowledge).samples_per_s
        if before is not None and after is not None:
            predicted = after.p50 / before.p50
            misses.append(abs(np.log(predicted / (fused.samples_per_s / plain.samples_per_s))))
    return misses
