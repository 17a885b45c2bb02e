"""Stage one: constants of all operation classes from all observations, with the effects that would bias them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from planner.throughput.calibration import Calibration
from tools.fit.model import build_features, predict
from tools.fit.observations import Observation
from tools.fit.parameters import JOINT_EFFECT_SD, Parameters, Vector, register_constants
from tools.fit.rows import TIMM
from tools.fit.solver import solve

# Networks of one benchmark with hundreds of networks are its sample: their own offsets would hide what they teach.
# One loop, one software version, rows that repeat within 2 %: worth more than rows of many hosts (chosen on left-out
# families and dies among 1, 4 and 16).
TIMM_WEIGHT = 1.0
_NO_OWN_OFFSET = ("workload", "workload_precision", "accelerator")


class Constants(NamedTuple):
    """Fitted parameter values; effects that were fitted along are not part of them."""

    parameters: Parameters
    values: Vector


def fit_constants(observations: Sequence[Observation], calibration: Calibration, prior: Mapping[str, Any]) -> Constants:
    """Constants of both layouts, with offsets of benchmarks, architectures and lineages taken out."""
    parameters = Parameters()
    register_constants(parameters, prior)
    count = len(parameters)
    usable = [_for_constants(o) for o in observations if "sync" not in o.groups["lineage"]]
    features = build_features(usable, parameters, JOINT_EFFECT_SD)
    device = calibration.device
    solution = solve(features, parameters, device.host_launch_s, device.overlap_norm)
    alone = Parameters()
    register_constants(alone, prior)
    return Constants(alone, solution.values[:count])


def _for_constants(observation: Observation) -> Observation:
    if observation.groups["source"] != TIMM:
        return observation
    effects = tuple(effect for effect in observation.effects if effect[0] not in _NO_OWN_OFFSET)
    return replace(observation, effects=effects, weight=TIMM_WEIGHT)


def residuals(observations: Sequence[Observation], constants: Constants, calibration: Calibration) -> Vector:
    """ln(predicted / measured step time) with constants alone."""
    features = build_features(observations, constants.parameters, {})
    device = calibration.device
    prediction = predict(
        features,
        constants.parameters,
        constants.values,
        device.host_launch_s,
        device.overlap_norm,
        slopes=False,
    )
    return prediction.log_plain - features.log_measured
