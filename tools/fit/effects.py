"""Random effects of residuals: best linear unbiased prediction with given variances, and what remains uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from planner.throughput.evidence import (
    EFFECT_KINDS,
    FAMILY_KINDS,
    GENERAL_KINDS,
    NETWORK_KINDS,
    OWN_KINDS,
    TAIL_STEPS,
    family_line,
    tail_factor,
)
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
    """The solved system: weights of the training residuals, and the covariance they were solved in.

    ``tails`` are by how much the variance of a network's own effects is larger than usual.
    """

    weights: Vector
    covariance: Matrix
    tails: Mapping[str, float]


def covariance(
    first: Sequence[HasEffects],
    second: Sequence[HasEffects],
    sd: Mapping[str, float],
    tails: Mapping[str, float] | None = None,
) -> Matrix:
    """Sum over kinds of sd^2 where two observations share the effect, their own times the root of both tails."""
    total = np.zeros((len(first), len(second)))
    for kinds in (GENERAL_KINDS, OWN_KINDS):
        part = np.zeros_like(total)
        for kind in kinds:
            if sd.get(kind, 0.0) > 0.0:
                position = EFFECT_KINDS.index(kind)
                names = [o.effects[position][1] for o in (*first, *second)]
                codes = np.unique(names, return_inverse=True)[1]  # numbers compare many times faster than names
                part += (codes[: len(first), None] == codes[None, len(first) :]) * sd[kind] ** 2
        if tails is not None and kinds is OWN_KINDS:
            part *= np.outer(_scales_of(first, tails), _scales_of(second, tails))
        total += part
    return total


def _networks(observations: Sequence[HasEffects]) -> list[str]:
    return [o.effects[EFFECT_KINDS.index("network")][1] for o in observations]


def _scales_of(observations: Sequence[HasEffects], tails: Mapping[str, float]) -> Vector:
    """By how much the effects that are an observation's own are larger than usual."""
    return np.sqrt([tails.get(name, 1.0) for name in _networks(observations)])


def solve_effects(
    observations: Sequence[HasEffects], residuals: Vector, sd: Mapping[str, float], noise_sd: float
) -> Solved:
    """Weights with which the observations' residuals predict others; outliers get more noise, odd networks a tail."""
    tails = network_tails(observations, residuals, sd, noise_sd)
    shared = covariance(observations, observations, sd, tails)
    noise = np.full(len(residuals), noise_sd**2)
    for _ in range(2):
        left = np.abs(residuals - shared @ _solved(shared + np.diag(noise), residuals))
        noise = noise_sd**2 * np.maximum(left / (OUTLIER_AT * noise_sd), 1.0)
    total = shared + np.diag(noise)
    return Solved(_solved(total, residuals), total, tails)


def network_tails(
    observations: Sequence[HasEffects], residuals: Vector, sd: Mapping[str, float], noise_sd: float
) -> dict[str, float]:
    """Network -> by how much the variance of its own effects is larger than ``sd`` says.

    That is where it is far off what software and devices explain, and off the median of the networks in its software:
    what those few have in common is the software's, however far off it is.
    """
    general = covariance(observations, observations, {kind: sd[kind] for kind in GENERAL_KINDS})
    own = covariance(observations, observations, {kind: sd[kind] for kind in OWN_KINDS})
    names, codes = np.unique(_networks(observations), return_inverse=True)
    software = np.unique([dict(o.effects)["software"] for o in observations], return_inverse=True)[1]
    variance = sum(sd[kind] ** 2 for kind in OWN_KINDS)
    tails = np.ones(len(names))
    for _ in range(TAIL_STEPS):
        scales = np.sqrt(tails)[codes]
        total = general + own * np.outer(scales, scales)
        total[np.diag_indices_from(total)] += noise_sd**2
        left = _off_the_median(residuals - general @ _solved(total, residuals), software, codes)
        off = np.bincount(codes, left) / np.bincount(codes)
        tails = np.array([tail_factor(float(value), variance) for value in off])
    return dict(zip(names.tolist(), tails.tolist(), strict=True))


def _off_the_median(left: Vector, software: NDArray[np.int64], networks: NDArray[np.int64]) -> Vector:
    """``left`` less the median over the networks in the row's software, each counted once."""
    pairs, pair_of = np.unique(np.stack([software, networks]), axis=1, return_inverse=True)
    pair_of = pair_of.reshape(-1)
    means = np.bincount(pair_of, left) / np.bincount(pair_of)
    medians = np.array([np.median(means[pairs[0] == name]) for name in range(software.max() + 1)])
    off: Vector = left - medians[software]
    return off


def _solved(matrix: Matrix, right: Vector) -> Vector:
    solution: Vector = cho_solve(cho_factor(matrix, lower=True, check_finite=False), right, check_finite=False)
    return solution


def predict_offsets(
    solved: Solved, training: Sequence[HasEffects], wanted: Sequence[HasEffects], sd: Mapping[str, float]
) -> Vector:
    """Offsets of ``wanted`` from the training residuals."""
    offsets: Vector = covariance(wanted, training, sd, solved.tails) @ solved.weights
    return offsets


def fitted_effects(solved: Solved, training: Sequence[HasEffects], sd: Mapping[str, float]) -> FittedEffects:
    """Every effect's mean and remaining sd given the training residuals; a family's as of a network without tail."""
    values: dict[str, dict[str, tuple[float, float]]] = {}
    inverse, scales = np.linalg.inv(solved.covariance), _scales_of(training, solved.tails)
    for position, kind in enumerate(EFFECT_KINDS):
        names = np.array([o.effects[position][1] for o in training])
        found: dict[str, tuple[float, float]] = {}
        for name in sorted(set(names)):
            members = np.flatnonzero(names == name)
            scale = scales[members] if kind in OWN_KINDS else np.ones(len(members))
            own = float(scale[0]) if kind in NETWORK_KINDS else 1.0
            mean = sd[kind] ** 2 * float(scale @ solved.weights[members])
            explained = sd[kind] ** 4 * float(scale @ inverse[np.ix_(members, members)] @ scale)
            remaining = max(sd[kind] ** 2 - explained, 0.0) ** 0.5
            found[str(name)] = (own * mean, own * remaining)
        values[kind] = found
    return FittedEffects(values)


def general_table(effects: FittedEffects) -> dict[str, dict[str, list[float]]]:
    """The effects that do not belong to one network, rounded."""
    return {
        kind: {name: _rounded(value) for name, value in found.items()}
        for kind, found in effects.values.items()
        if kind in GENERAL_KINDS
    }


def own_table(
    effects: FittedEffects, observations: Sequence[HasEffects], tails: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """network or family -> kind -> name -> [mean, remaining sd]; a network with a tail has its family's effects too."""
    table: dict[str, dict[str, Any]] = {}
    for kind in OWN_KINDS:
        for name, value in effects.values[kind].items():
            line = family_line(name) if kind in FAMILY_KINDS else name.partition("|")[0]
            table.setdefault(line, {}).setdefault(kind, {})[name] = _rounded(value)
    for observation in observations:
        named = dict(observation.effects)
        scale = tails[named["network"]] ** 0.5
        for kind in FAMILY_KINDS if scale > 1.0 else ():
            mean, remaining = effects.values[kind][named[kind]]
            own = table[named["network"]].setdefault(kind, {})
            own[named[kind]] = _rounded((scale * mean, scale * remaining))
    return table


def _rounded(value: tuple[float, float]) -> list[float]:
    return [round(value[0], 3), round(value[1], 3)]
