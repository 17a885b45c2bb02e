"""Groups left out: by model family, by die, by network; and the errors that remain."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.throughput.evidence import EFFECT_KINDS, FAMILY_KINDS, GENERAL_KINDS, TAIL_STEPS, tail_factor
from tools.fit.constants import Problem, fit_constants, residuals
from tools.fit.effects import Solved, covariance, predict_offsets, solve_effects
from tools.fit.observations import Observation
from tools.fit.parameters import Vector

_SAME_DIE = {
    "A100": "A100",
    "V100": "V100",
    "H100": "H100",
    "QuadroRTX6000": "TU102",
    "QuadroRTX8000": "TU102",
    "TITAN-RTX": "TU102",
}
# Effects that need no measurement on the accelerator or its architecture.
CALIBRATION_MODELS = 5
WITHOUT_DEVICE = ("software", *FAMILY_KINDS, "network", "workload", "workload_precision")


class LeftOut(NamedTuple):
    """ln(predicted / measured time) of each observation, predicted without its group; by what offsets were allowed.

    ``family_offsets`` know what other networks of the family are off by in the software. ``calibrated`` also knows a
    few other networks measured on the same accelerator by the same loop; it is NaN where there are too few, and where
    it was not asked for. ``is_family_known``, ``is_run_known``: whether another of the family, or the network itself,
    was measured in this software and precision elsewhere.
    """

    constants_only: Vector
    network_offsets: Vector
    general_offsets: Vector
    family_offsets: Vector
    all_offsets: Vector
    calibrated: Vector
    is_family_known: NDArray[np.bool_]
    is_run_known: NDArray[np.bool_]


def die(observation: Observation) -> str:
    """Accelerators of one die are one fold, whatever their memory, form or label."""
    key = observation.groups["gpu"]
    return next((name for prefix, name in _SAME_DIE.items() if key.startswith(prefix)), key)


def family(observation: Observation) -> str:
    return observation.groups["family"]


def network(observation: Observation) -> str:
    return dict(observation.effects)["network"]


def split(groups: Sequence[str], count: int) -> Iterator[tuple[list[int], list[int]]]:
    """(training, held-out) positions of ``count`` folds; a group is in one fold, by a hash of its name."""
    fold_of = np.array([zlib.crc32(group.encode()) % count for group in groups])
    for fold in range(count):
        held = np.flatnonzero(fold_of == fold)
        if len(held):
            yield list(np.flatnonzero(fold_of != fold)), list(held)


class Whole(NamedTuple):
    """What every fold is a part of: the observations, their arrays, constants fitted on all, the effects' variances."""

    observations: Sequence[Observation]
    problem: Problem
    constants: Vector
    sd: Mapping[str, float]
    noise_sd: float


def leave_out(whole: Whole, group_of: Callable[[Observation], str], count: int, *, calibrate: bool = False) -> LeftOut:
    """Refit everything without each fold's groups and predict them."""
    observations, sd, noise_sd = whole.observations, whole.sd, whole.noise_sd
    unknown_yet = [np.full(len(observations), np.nan) for _ in range(6)]
    results = LeftOut(*unknown_yet, *np.zeros((2, len(observations)), dtype=bool))
    for training, held in split([group_of(o) for o in observations], count):
        known, unknown = [observations[i] for i in training], [observations[i] for i in held]
        everything = residuals(whole.problem, fit_constants(whole.problem, training, whole.constants))
        solved = solve_effects(known, everything[training], sd, noise_sd)
        plain = everything[held]
        results.constants_only[held] = plain
        for left, kinds in (
            (results.network_offsets, WITHOUT_DEVICE),
            (results.general_offsets, GENERAL_KINDS),
            (results.family_offsets, (*GENERAL_KINDS, *FAMILY_KINDS)),
            (results.all_offsets, EFFECT_KINDS),
        ):
            left[held] = plain - predict_offsets(solved, known, unknown, {kind: sd[kind] for kind in kinds})
        results.is_family_known[held] = shares("family_precision", unknown, known)
        results.is_run_known[held] = shares("workload_precision", unknown, known)
        if calibrate:
            results.calibrated[held] = _calibrated(solved, known, plain, unknown, sd, noise_sd)
    return results


def shares(kind: str, unknown: Sequence[Observation], known: Sequence[Observation]) -> NDArray[np.bool_]:
    """Which of ``unknown`` share their effect of the kind with any of ``known``."""
    names = {dict(o.effects)[kind] for o in known}
    return np.array([dict(o.effects)[kind] in names for o in unknown])


def _calibrated(
    solved: Solved,
    known: Sequence[Observation],
    residuals: Vector,
    held: Sequence[Observation],
    sd: Mapping[str, float],
    noise_sd: float,
) -> Vector:
    """Residuals of ``held`` when ``CALIBRATION_MODELS`` other networks of its loop are measured once each as well."""
    left = np.full(len(held), np.nan)
    first = _first_rows(held)
    wanted = [p for p, o in enumerate(held) if len(first[_loop(o)]) > CALIBRATION_MODELS]
    if not wanted:
        return left
    shared = covariance(held, known, sd, solved.tails)
    remaining = covariance(held, held, sd, solved.tails) - shared @ np.linalg.solve(solved.covariance, shared.T)
    expected = residuals - shared @ solved.weights
    for position in wanted:
        others = first[_loop(held[position])]
        names = sorted(others.keys() - {network(held[position])}, key=lambda name: zlib.crc32(name.encode()))
        chosen = [others[name] for name in names[:CALIBRATION_MODELS]]
        among = remaining[np.ix_(chosen, chosen)] + noise_sd**2 * np.eye(len(chosen))
        weights = _weights_with_tails(among, expected[chosen])
        left[position] = expected[position] - remaining[position, chosen] @ weights
    return left


def _weights_with_tails(among: Vector, residuals: Vector) -> Vector:
    """As :meth:`Knowledge.with_references` weighs measurements of different networks in one loop.

    What they share is what lies beside the diagonal of their covariance ``among``; the rest is each network's own.
    """
    count = len(residuals)
    shared = (among.sum() - np.trace(among)) / (count * (count - 1))
    own, tails = np.diag(among) - shared, np.ones(count)
    for _ in range(TAIL_STEPS):
        weights: Vector = np.linalg.solve(among + np.diag(own * (tails - 1.0)), residuals)
        left = residuals - shared * weights.sum()
        tails = np.array([tail_factor(float(a), float(b)) for a, b in zip(left, own, strict=True)])
    solved: Vector = np.linalg.solve(among + np.diag(own * (tails - 1.0)), residuals)
    return solved


def _loop(observation: Observation) -> tuple[str, str, str]:
    """Whose script in which software and precision on which accelerator: what a user calibrates."""
    groups = observation.groups
    return groups["gpu"], groups["source"], dict(observation.effects)["software"]


def _first_rows(observations: Sequence[Observation]) -> dict[tuple[str, str, str], dict[str, int]]:
    """Loop -> network -> position of its first row."""
    first: dict[tuple[str, str, str], dict[str, int]] = {}
    for position, observation in enumerate(observations):
        first.setdefault(_loop(observation), {}).setdefault(network(observation), position)
    return first


class Errors(NamedTuple):
    """Of samples/s: |predicted / measured - 1| and ln(predicted / measured)."""

    n: int
    mean: float
    median: float
    p90: float
    bias: float


def errors(log_residuals: Vector) -> Errors:
    """Errors of samples/s from ln(predicted / measured time)."""
    log_residuals = log_residuals[np.isfinite(log_residuals)]
    ape = np.abs(np.expm1(-log_residuals))
    return Errors(
        n=len(ape),
        mean=float(ape.mean()),
        median=float(np.median(ape)),
        p90=float(np.quantile(ape, 0.9)),
        bias=float(-log_residuals.mean()),
    )
