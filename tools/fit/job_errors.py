"""What the model is worth on jobs of many GPUs: language models of each source, left out by network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tools.fit.effects import HasEffects, Matrix, covariance, predict_offsets, solve_effects
from tools.fit.folds import Errors, Whole, errors, split
from tools.fit.jobs import Job
from tools.fit.parameters import Vector

JOB_FOLDS = 12


def job_errors(whole: Whole, plain: Vector, jobs: Sequence[Job]) -> dict[str, Errors]:
    """Errors of each source's jobs by what is known; ``plain`` are the residuals of the observations of one GPU."""
    own = np.array([job.residual for job in jobs])
    left = _without_network(whole, plain, jobs, own)
    sources = np.array([job.groups["source"] for job in jobs])
    table = {}
    for source in sorted(set(sources)):
        of_source = sources == source
        table[f"{source}: constants only"] = errors(own[of_source])
        table[f"{source}: lineage and architecture offsets"] = errors(left[of_source])
        known = _left_by_other_sources(whole, plain, jobs, own, np.flatnonzero(of_source))
        pairs = known.pairs()
        if pairs.any():
            moved = _from_one_job(known)
            table[f"{source}: and one measurement on the GPU"] = errors(_and_one_job(known))
            table[f"{source}: nothing of the source but one measurement on the GPU"] = errors(moved[pairs])
    return table


def _without_network(whole: Whole, plain: Vector, jobs: Sequence[Job], own: Vector) -> Vector:
    """Residuals of the jobs of each network with the offsets of all others."""
    left = own.copy()
    for training, held in split([dict(job.effects)["network"] for job in jobs], JOB_FOLDS):
        known: list[HasEffects] = [*whole.observations, *(jobs[i] for i in training)]
        solved = solve_effects(known, np.concatenate([plain, own[training]]), whole.sd, whole.noise_sd)
        left[held] = own[held] - predict_offsets(solved, known, [jobs[i] for i in held], whole.sd)
    return left


class Open(NamedTuple):
    """What other sources' offsets leave of one source's jobs: residuals, their covariance, the noise in each."""

    residuals: Vector
    covariance: Matrix
    noise: float
    networks: Vector
    devices: Vector

    def pairs(self) -> Matrix:
        """Which job of another network (column) was measured on a job's (row) GPU."""
        others: Matrix = (self.networks[:, None] != self.networks) & (self.devices[:, None] == self.devices)
        return others

    def knowing(self, members: Vector) -> Open:
        """What is left where the jobs at ``members`` are known (best linear unbiased prediction)."""
        shared = self.covariance[members]
        among = shared[:, members] + self.noise * np.eye(len(members))
        weights = np.linalg.solve(among, shared)
        return self._replace(
            residuals=self.residuals - weights.T @ self.residuals[members],
            covariance=self.covariance - shared.T @ weights,
        )


def _left_by_other_sources(whole: Whole, plain: Vector, jobs: Sequence[Job], own: Vector, members: Vector) -> Open:
    others, chosen = np.setdiff1d(np.arange(len(jobs)), members), [jobs[i] for i in members]
    known: list[HasEffects] = [*whole.observations, *(jobs[i] for i in others)]
    solved = solve_effects(known, np.concatenate([plain, own[others]]), whole.sd, whole.noise_sd)
    shared = covariance(chosen, known, whole.sd, solved.tails)
    return Open(
        residuals=own[members] - shared @ solved.weights,
        covariance=covariance(chosen, chosen, whole.sd) - shared @ np.linalg.solve(solved.covariance, shared.T),
        noise=whole.noise_sd**2,
        networks=np.array([dict(job.effects)["network"] for job in chosen]),
        devices=np.array([job.groups["gpu"] for job in chosen]),
    )


def _from_one_job(known: Open) -> Matrix:
    """Residual of each job (row) where each other one (column) is measured as well."""
    gains = known.covariance / (np.diag(known.covariance) + known.noise)
    moved: Matrix = known.residuals[:, None] - gains * known.residuals
    return moved


def _and_one_job(known: Open) -> Vector:
    """Residuals of a network's jobs from all networks but it and one more, and from each job of that on the GPU."""
    return np.concatenate(list(_by_two_networks(known)))


def _by_two_networks(known: Open) -> Iterator[Vector]:
    pairs = known.pairs()
    for wanted in sorted(set(known.networks)):
        for measured in sorted(set(known.networks) - {wanted}):
            rest = np.flatnonzero((known.networks != wanted) & (known.networks != measured))
            moved = _from_one_job(known.knowing(rest))
            yield moved[pairs & (known.networks == wanted)[:, None] & (known.networks == measured)]
