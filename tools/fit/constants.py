"""Stage one: constants of all operation classes from all observations.

No effects are fitted along: with offsets of networks, lineages and accelerators beside them, the constants explained
left-out dies worse (median 15.3 % against 11.6 %), since every network was free to be off by what the classes owe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.throughput.calibration import Calibration
from tools.fit.model import Features, build_features, predict
from tools.fit.observations import Observation
from tools.fit.parameters import Parameters, Vector, register_constants
from tools.fit.solver import solve


class Problem(NamedTuple):
    """All observations as arrays, made once for all folds.

    ``teaching`` is False for loops that wait for the device after every step: there the host decides.
    """

    features: Features
    teaching: NDArray[np.bool_]
    parameters: Parameters
    host_launch_s: float
    overlap_norm: float


def problem_of(observations: Sequence[Observation], calibration: Calibration, prior: Mapping[str, Any]) -> Problem:
    """The arrays of the observations with the prior's constants as parameters."""
    parameters = Parameters()
    register_constants(parameters, prior)
    return Problem(
        features=build_features(observations, parameters),
        teaching=np.array(["sync" not in o.groups["lineage"] for o in observations]),
        parameters=parameters,
        host_launch_s=calibration.device.host_launch_s,
        overlap_norm=calibration.device.overlap_norm,
    )


def fit_constants(problem: Problem, members: Sequence[int] | None = None, start: Vector | None = None) -> Vector:
    """Parameter values from the observations at ``members`` (None: all); ``start`` is where the search begins."""
    chosen = problem.teaching.copy()
    if members is not None:
        wanted = np.zeros(len(chosen), dtype=bool)
        wanted[list(members)] = True
        chosen &= wanted
    features = problem.features.subset(chosen)
    return solve(features, problem.parameters, problem.host_launch_s, problem.overlap_norm, start).values


def residuals(problem: Problem, values: Vector) -> Vector:
    """ln(predicted / measured step time) of all observations, with constants alone."""
    found = predict(
        problem.features, problem.parameters, values, problem.host_launch_s, problem.overlap_norm, slopes=False
    )
    return found.log_time - problem.features.log_measured
