"""How far the effects of each kind scatter: maximum likelihood of the residuals, by steps along one kind after another.

The likelihood is that of a normal with the covariance of :mod:`tools.fit.effects`; residuals beyond ``FARTHEST`` are
descriptions of something else, and those beyond ``CLIPPED`` count as that far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from planner.throughput.evidence import EFFECT_KINDS
from tools.fit.effects import HasEffects, covariance
from tools.fit.parameters import Vector

FARTHEST, CLIPPED = 0.9, 0.6
SWEEPS, FIRST_STEP, SMALLEST_SD = 6, 0.5, 0.005


def fit_variances(
    observations: Sequence[HasEffects], residuals: Vector, sd: Mapping[str, float], noise_sd: float
) -> tuple[dict[str, float], float]:
    """(kind -> standard deviation, that of the noise) that make ``residuals`` most likely, searched from the given."""
    near = np.flatnonzero(np.abs(residuals) < FARTHEST)
    known = [observations[int(i)] for i in near]
    clipped = np.clip(residuals[near], -CLIPPED, CLIPPED)
    shared = [covariance(known, known, {kind: 1.0}) for kind in EFFECT_KINDS]
    best = np.log([*(sd[kind] for kind in EFFECT_KINDS), noise_sd])
    lowest = _minus_log_likelihood(best, shared, clipped)
    steps = np.full(len(best), FIRST_STEP)
    for _ in range(SWEEPS):
        for position in range(len(best)):
            for direction in (1.0, -1.0):
                tried = best.copy()
                tried[position] = max(tried[position] + direction * steps[position], np.log(SMALLEST_SD))
                value = _minus_log_likelihood(tried, shared, clipped)
                if value < lowest:
                    best, lowest = tried, value
                    break
            else:
                steps[position] /= 2.0
    found = [round(float(value), 3) for value in np.exp(best)]
    return dict(zip(EFFECT_KINDS, found[:-1], strict=True)), found[-1]


def _minus_log_likelihood(log_sd: Vector, shared: Sequence[Vector], residuals: Vector) -> float:
    variances = np.exp(2.0 * log_sd)
    total = np.diag(np.full(len(residuals), variances[-1]))
    for variance, matrix in zip(variances, shared, strict=False):
        total += variance * matrix
    try:
        factor = cho_factor(total, lower=True, check_finite=False)
    except LinAlgError:
        return np.inf
    half_squares = 0.5 * residuals @ cho_solve(factor, residuals, check_finite=False)
    return float(half_squares + np.log(np.diag(factor[0])).sum())
