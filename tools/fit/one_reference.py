"""What one measurement of a workload is worth for another accelerator of the same architecture.

The accelerator's die has no part in constants and effects, and the workload's network none in the effects but by that
one measurement: as for a user whose network nobody else measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.throughput.evidence import EFFECT_KINDS
from tools.fit.constants import fit_constants, residuals
from tools.fit.effects import HasEffects, Matrix, covariance
from tools.fit.folds import Whole, die, split
from tools.fit.observations import Observation
from tools.fit.parameters import Vector

# What a reference on another accelerator says nothing of.
_OF_THE_ACCELERATOR = ("accelerator", "workload_accelerator")


def beside_constants(
    observations: Sequence[Observation], plain: Vector, members: Any, sd: Mapping[str, float], noise_sd: float
) -> Vector:
    """Residuals where nothing else was measured in the reference's software, every reference of a row in turn."""
    shared = sum(sd[kind] ** 2 for kind in EFFECT_KINDS if kind not in _OF_THE_ACCELERATOR)
    weight = shared / (sum(sd[kind] ** 2 for kind in EFFECT_KINDS) + noise_sd**2)
    judged = [int(i) for i in np.flatnonzero(members)]
    left = []
    for i in judged:
        others = [j for j in judged if die(observations[j]) != die(observations[i])]
        left += [plain[i] - weight * plain[j] for j in others if _is_reference(observations[j], observations[i])]
    return np.array(left)


def beside_other_networks(whole: Whole, members: Any, folds: int) -> Vector:
    """Residuals where all other networks were measured as well, on other dies."""
    observations, found = whole.observations, [np.empty(0)]
    for training, held in split([die(o) for o in observations], folds):
        plain = residuals(whole.problem, fit_constants(whole.problem, training, whole.constants))
        judged = [i for i in held if members[i]]
        known = Known([observations[i] for i in training], plain[training], whole.sd, whole.noise_sd)
        networks = np.array([dict(observations[i].effects)["network"] for i in training])
        for i in judged:
            own = np.flatnonzero(networks == dict(observations[i].effects)["network"])
            references = [
                position
                for position, j in enumerate(np.array(training)[own])
                if members[j] and _is_reference(observations[j], observations[i])
            ]
            if references:
                found.append(known.with_one_of(observations[i], plain[i], own)[references])
    return np.concatenate(found)


def _is_reference(other: Observation, wanted: Observation) -> bool:
    """Whether the same workload ran in the same precision on another accelerator of the architecture."""
    kinds = ("workload_precision", "architecture")
    others, mine = dict(other.effects), dict(wanted.effects)
    return all(others[kind] == mine[kind] for kind in kinds)


class Known:
    """Known residuals with the inverse of their covariance, from which any of them can be taken out again."""

    def __init__(self, rows: Sequence[HasEffects], residuals: Vector, sd: Mapping[str, float], noise_sd: float) -> None:
        self._rows, self._sd = rows, sd
        self._precision: Matrix = np.linalg.inv(covariance(rows, rows, sd) + noise_sd**2 * np.eye(len(rows)))
        self._weights: Vector = self._precision @ residuals

    def with_one_of(self, wanted: HasEffects, residual: float, members: Any) -> Vector:
        """Residuals of ``wanted`` where of the rows at ``members`` each alone is known, and all other rows.

        What the others leave of the members has the inverse of their block of the precision for its covariance
        (Rasmussen and Williams, "Gaussian processes for machine learning", 2006, section 5.4.2).
        """
        shared = covariance([wanted], self._rows, self._sd)[0]
        left_covariance = np.linalg.inv(self._precision[np.ix_(members, members)])
        left = left_covariance @ self._weights[members]
        weights = (shared @ self._precision)[members]
        without = residual - shared @ self._weights + weights @ left
        moved: Vector = without - (weights @ left_covariance) / np.diag(left_covariance) * left
        return moved
