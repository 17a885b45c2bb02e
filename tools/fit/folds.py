"""Groups left out: by model family, by die, by network; and the errors that remain."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from planner.throughput.evidence import GENERAL_KINDS
from tools.fit.constants import Problem, fit_constants, residuals
from tools.fit.effects import predict_offsets, solve_effects
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
WITHOUT_DEVICE = ("software", "network", "workload", "workload_precision")


class LeftOut(NamedTuple):
    """ln(predicted / measured time) of each observation, predicted without its group; by what offsets were allowed.

    ``calibrated`` also knows a few networks measured on the held-out accelerators; it is NaN for those themselves, and
    where it was not asked for.
    """

    constants_only: Vector
    network_offsets: Vector
    general_offsets: Vector
    all_offsets: Vector
    calibrated: Vector


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
    results = LeftOut(*(np.full(len(observations), np.nan) for _ in range(5)))
    for training, held in split([group_of(o) for o in observations], count):
        known, unknown = [observations[i] for i in training], [observations[i] for i in held]
        everything = residuals(whole.problem, fit_constants(whole.problem, training, whole.constants))
        solved = solve_effects(known, everything[training], sd, noise_sd)
        plain = everything[held]
        without_device = {kind: value for kind, value in sd.items() if kind in WITHOUT_DEVICE}
        general = {kind: value for kind, value in sd.items() if kind in GENERAL_KINDS}
        results.constants_only[held] = plain
        results.network_offsets[held] = plain - predict_offsets(solved, known, unknown, without_device)
        results.general_offsets[held] = plain - predict_offsets(solved, known, unknown, general)
        results.all_offsets[held] = plain - predict_offsets(solved, known, unknown, sd)
        if not calibrate:
            continue
        chosen = _calibration_models(unknown)
        more = [*known, *(unknown[i] for i in chosen)]
        known_residuals = np.concatenate([everything[training], plain[chosen]])
        calibrated = plain - predict_offsets(solve_effects(more, known_residuals, sd, noise_sd), more, unknown, sd)
        calibrated[chosen] = np.nan
        results.calibrated[held] = calibrated
    return results


def _calibration_models(observations: Sequence[Observation]) -> list[int]:
    """Positions of one observation each of a few networks on every accelerator, the same ones at every run."""
    chosen: dict[str, dict[str, int]] = {}
    for position, observation in enumerate(observations):
        chosen.setdefault(observation.groups["gpu"], {}).setdefault(network(observation), position)
    return [
        by_network[name]
        for by_network in chosen.values()
        for name in sorted(by_network, key=lambda name: zlib.crc32(name.encode()))[:CALIBRATION_MODELS]
    ]


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
