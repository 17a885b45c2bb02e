"""Random effects of residuals: best linear unbiased prediction with given variances, and what remains uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from planner.throughput.evidence import EFFECT_KINDS, NETWORK_KINDS
from tools.fit.parameters import Vector

Matrix = NDArray[np.float64]
# Residuals beyond this many noise widths are believed less and less (a Student-like noise variance).
OUTLIER_AT = 1.5


class HasEffects(Protocol):
    """An observation of one device, or a job of many: what it shares with others, as (kind, name) in order."""

    @property
    def effects(self) -> tuple[tuple[str, str], ...]: ...


class FittedEffects(NamedTuple):
    """kind -> name -> (mean, remaining sd)."""

    values: dict[str, dict[str, tuple[float, float]]]


class Solved(NamedTuple):
    """The solved system: weights of the training residuals, and the covariance they were solved in."""

    weights: Vector
    covariance: Matrix


def covariance(first: Sequence[HasEffects], second: Sequence[HasEffects], sd: Mapping[str, float]) -> Matrix:
    """Sum over kinds of sd^2 where two observations share the effect."""
    total = np.zeros((len(first), len(second)))
    for position, kind in enumerate(EFFECT_KINDS):
        if sd.get(kind, 0.0) > 0.0:
            names = [o.effects[position][1] for o in (*first, *second)]
            codes = np.unique(names, return_inverse=True)[1]  # numbers compare many times faster than names
            total += (codes[: len(first), None] == codes[None, len(first) :]) * sd[kind] ** 2
    return total


def solve_effects(
    observations: Sequence[HasEffects], residuals: Vector, sd: Mapping[str, float], noise_sd: float
) -> Solved:
    """Weights with which the observations' residuals predict others; outliers get more noise."""
    shared = covariance(observations, observations, sd)
    noise = np.full(len(residuals), noise_sd**2)
    for _ in range(2):
        left = np.abs(residuals - shared @ _solved(shared + np.diag(noise), residuals))
        noise = noise_sd**2 * np.maximum(left / (OUTLIER_AT * noise_sd), 1.0)
    total = shared + np.diag(noise)
    return Solved(_solved(total, residuals), total)


def _solved(matrix: Matrix, right: Vector) -> Vector:
    solution: Vector = cho_solve(cho_factor(matrix, lower=True, check_finite=False), right, check_finite=False)
    return solution


def predict_offsets(
    solved: Solved, training: Sequence[HasEffects], wanted: Sequence[HasEffects], sd: Mapping[str, float]
) -> Vector:
    """Offsets of ``wanted`` from the training residuals."""
    offsets: Vector = covariance(wanted, training, sd) @ solved.weights
    return offsets


def fitted_effects(solved: Solved, training: Sequence[HasEffects], sd: Mapping[str, float]) -> FittedEffects:
    """Every effect's mean and remaining sd given the training residuals."""
    values: dict[str, dict[str, tuple[float, float]]] = {}
    inverse = np.linalg.inv(solved.covariance)
    for position, kind in enumerate(EFFECT_KINDS):
        names = np.array([o.effects[position][1] for o in training])
        found: dict[str, tuple[float, float]] = {}
        for name in sorted(set(names)):
            members = np.flatnonzero(names == name)
            mean = sd[kind] ** 2 * float(solved.weights[members].sum())
            explained = sd[kind] ** 4 * float(inverse[np.ix_(members, members)].sum())
            found[str(name)] = (mean, max(sd[kind] ** 2 - explained, 0.0) ** 0.5)
        values[kind] = found
    return FittedEffects(values)


def general_table(effects: FittedEffects) -> dict[str, dict[str, list[float]]]:
    """The effects that do not belong to one network, rounded."""
    return {
        kind: {name: _rounded(value) for name, value in found.items()}
        for kind, found in effects.values.items()
        if kind not in NETWORK_KINDS
    }


def network_table(effects: FittedEffects) -> dict[str, dict[str, Any]]:
    """network -> kind -> name -> [mean, remaining sd]."""
    table: dict[str, dict[str, Any]] = {}
    for kind in NETWORK_KINDS:
        for name, value in effects.values[kind].items():
            table.setdefault(name.partition("|")[0], {}).setdefault(kind, {})[name] = _rounded(value)
    return table


def _rounded(value: tuple[float, float]) -> list[float]:
    return [round(value[0], 3), round(value[1], 3)]
