"""Constants of the collectives, from pairs of a measured one-GPU step and a measured step on several GPUs.

The shipped formula itself is evaluated (``planner.throughput.collectives.communicate``), so there is nothing to keep in
step with it. Errors are reported with each GPU model left out.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration
from planner.throughput.collectives import communicate
from planner.throughput.precision import DevicePrecision
from tools.fit.folds import split
from tools.fit.tables import DIGITS

NOISE_SD = 0.08
FOLDS = 6
MAX_EFFICIENCY, MIN_EFFICIENCY = 1.25, 0.15


@dataclass(frozen=True)
class Pair:
    """A step measured on one GPU and on several of the same kind, at the same batch per GPU."""

    experiment: Experiment
    precision: DevicePrecision
    machine: Machine
    single_s: float
    several_s: float
    gpu: str
    lineage: str = "pytorch"

    @property
    def efficiency(self) -> float:
        return self.single_s / self.several_s

    @property
    def topology(self) -> str:
        link = self.machine.link
        if link is None:
            return "none"
        return link.kind if link.peer_access or not link.kind.startswith("pcie") else f"{link.kind}_no_peer"


def plausible(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs whose efficiency is neither above linear nor a broken run (docs/model.md, "The prototype")."""
    return [pair for pair in pairs if MIN_EFFICIENCY <= pair.efficiency <= MAX_EFFICIENCY]


def predicted_s(pair: Pair, calibration: Calibration) -> float:
    """The several-GPU micro step predicted from the measured one-GPU micro step."""
    steps = pair.experiment.grad_accum_steps or 1
    link = communicate(pair.experiment, pair.precision, pair.machine, pair.single_s, steps, calibration, pair.lineage)
    return pair.single_s + link.exposed_s / steps


# What is fitted, as (path into the constants, prior sd in ln); shares and exponents of the topologies that occur.
_SHARED = (
    ("overlap_share", 0.5),
    ("contention_per_doubling", 0.5),
    ("exposed_floor", 0.7),
    ("link_hop_s", 0.5),
    ("replica_copy_share", 0.5),
)
_SHARE_SD, _EXPONENT_SD = 0.5, 0.3


def fit_collectives(pairs: Sequence[Pair], calibration: Calibration, prior: Mapping[str, Any]) -> dict[str, Any]:
    """Constants that explain ``pairs`` and stay near ``prior``; topologies without a pair keep their prior."""
    seen = sorted({pair.topology for pair in pairs})
    start = np.zeros(len(_SHARED) + 2 * len(seen))
    sd = np.array([width for _, width in _SHARED] + [_SHARE_SD, _EXPONENT_SD] * len(seen))
    measured = np.log([pair.several_s for pair in pairs])

    def residuals(x: NDArray[np.float64]) -> NDArray[np.float64]:
        constants = _moved(prior, seen, x)
        changed = calibration._replace(collectives=constants)
        predicted = np.log([predicted_s(pair, changed) for pair in pairs])
        return np.concatenate([_robust((predicted - measured) / NOISE_SD), x / sd])

    found = least_squares(residuals, start, method="trf", max_nfev=30, diff_step=1e-3).x
    constants: dict[str, Any] = _rounded(_moved(prior, seen, found))
    return constants


def _rounded(value: Any) -> Any:
    """All numbers with the digits that constants have: more of them differ by the machine that fitted."""
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _robust(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Residuals whose square grows linearly beyond 1.5 (Huber), so that broken runs do not set the constants."""
    return np.sign(z) * np.sqrt(np.where(np.abs(z) > 1.5, 3.0 * np.abs(z) - 2.25, z**2))


def _moved(prior: Mapping[str, Any], seen: Sequence[str], x: NDArray[np.float64]) -> dict[str, Any]:
    """The prior's constants shifted by ``x``: logarithms of the positive ones, the exponents themselves."""
    constants: dict[str, Any] = copy.deepcopy(dict(prior))
    for (name, _), shift in zip(_SHARED, x, strict=False):
        constants[name] = prior[name] * math.exp(shift)
    for position, topology in enumerate(seen):
        share, exponent = x[len(_SHARED) + 2 * position :][:2]
        link = prior["links"][topology]
        constants["links"][topology] = {
            **link,
            "share": link["share"] * math.exp(share),
            "exponent": link["exponent"] + float(exponent),
        }
    return constants


def left_out_errors(pairs: Sequence[Pair], calibration: Calibration, prior: Mapping[str, Any]) -> NDArray[np.float64]:
    """ln(predicted / measured time) of every pair, with constants fitted without its fold of GPU models."""
    errors = np.zeros(len(pairs))
    for training, held in split([pair.gpu for pair in pairs], FOLDS):
        constants = fit_collectives([pairs[i] for i in training], calibration, prior)
        changed = calibration._replace(collectives=constants)
        for i in held:
            errors[i] = math.log(predicted_s(pairs[i], changed) / pairs[i].several_s)
    return errors
