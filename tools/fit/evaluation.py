"""What the model is worth: errors on groups that had no part in a fit, and the intervals that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from planner.throughput.calibration import Calibration
from planner.throughput.evidence import EFFECT_KINDS, SAME_FAMILY
from tools.fit.architectures import (
    coverage_without,
    doubt_of_architecture,
    known_architectures,
    without_architectures,
)
from tools.fit.constants import fit_constants, problem_of, residuals
from tools.fit.coverage import Coverage, coverage, covered
from tools.fit.effects import HasEffects, predict_offsets, solve_effects
from tools.fit.folds import Errors, LeftOut, Whole, die, errors, family, leave_out, network
from tools.fit.intervals import LeftOutRows, Table, doubt_of, interval_table
from tools.fit.job_errors import job_errors
from tools.fit.jobs import Job
from tools.fit.ladder import LadderScore, ladder_score
from tools.fit.network import Sync, left_out_log_errors
from tools.fit.observations import Observation
from tools.fit.one_reference import beside_constants, beside_other_networks
from tools.fit.pairs import scaling_pairs
from tools.fit.parameters import Vector
from tools.fit.rows import TIMM
from tools.fit.scaling import Pair, left_out_errors, plausible
from tools.fit.variances import fit_variances

FOLDS = 8
FAMILY_FOLDS = 5
ROW_FOLDS = 10
TIMM_THINNING = 4


class Evaluation(NamedTuple):
    """Error tables by title, the memory model's scores by layout, and the interval tables."""

    tables: dict[str, dict[str, Errors]]
    memory: dict[str, LadderScore]
    sync_factors: dict[str, tuple[int, float]]
    coverage: dict[str, Coverage]
    coverage_by_kind: dict[str, dict[str, Coverage]]
    intervals: Table
    several_devices: list[float]
    unseen_architecture: list[float]
    coverage_without_architecture: dict[str, tuple[float, float]]
    architectures: dict[str, list[str]]


def evaluate(
    observations: Sequence[Observation],
    jobs: Sequence[Job],
    rows: Sequence[Mapping[str, str]],
    syncs: Sequence[Sync],
    calibration: Calibration,
    prior: Mapping[str, Any],
) -> Evaluation:
    """Refit without families, dies, networks and rows in turn."""
    sd, noise = prior["offsets"]["prior_sd"], prior["offsets"]["noise_sd"]
    problem = problem_of(observations, calibration, prior)
    constants = fit_constants(problem)
    plain = residuals(problem, constants)
    whole = Whole(observations, problem, constants, sd, noise)
    by_family = leave_out(whole, family, FAMILY_FOLDS)
    by_die = leave_out(whole, die, FOLDS, calibrate=True)
    by_network = leave_out(whole, network, FOLDS)
    by_row = _leave_rows_out(whole, plain)
    perfect, scaling = _scaling(rows, calibration, prior)
    timm = np.array([o.groups["source"] == TIMM for o in observations])
    judged = np.array([_is_judged(o) for o in observations])
    by_architecture = without_architectures(whole, judged)
    tables = {
        "Unseen model families (timm, RTX 3090, AMP training)": {
            layout.upper(): errors(by_family.family_offsets[timm & _where(observations, layout)])
            for layout in ("nchw", "nhwc")
        },
        "Unseen accelerators (one GPU, step with optimizer, tiers A and B, without timm)": _by_offsets(by_die, judged),
        "The same, by source, with workload and architecture offsets": _by(
            observations, "source", by_die.all_offsets, judged
        ),
        "The same, by accelerator": _by(observations, "gpu", by_die.all_offsets, judged),
        "Unseen architectures, left out whole, specifications and constants alone": {
            name: errors(residuals) for name, residuals in by_architecture.items()
        },
        "Five other networks measured on the accelerator in the same software": {
            "all": errors(by_die.calibrated[judged]),
            **_by(observations, "source", by_die.calibrated, judged & np.isfinite(by_die.calibrated)),
            "all that ran on a reference accelerator too": errors(by_die.calibrated[judged & by_die.is_run_known]),
        },
        "Unseen networks, accelerator and software known": {
            "all but timm": errors(by_network.family_offsets[~timm]),
            "others of the family known": errors(by_network.family_offsets[~timm & by_network.is_family_known]),
            "none of the family known": errors(by_network.family_offsets[~timm & ~by_network.is_family_known]),
        },
        "One reference measurement on another GPU of the same architecture": {
            "beside what other networks tell": errors(beside_other_networks(whole, judged, FOLDS)),
            "beside constants alone": errors(beside_constants(observations, by_die.constants_only, judged, sd, noise)),
        },
        "Language models on many GPUs, left out by network": job_errors(whole, plain, jobs),
        "Scaling from the measured 1-GPU rate, 2-16 GPUs, left out by GPU model": {
            "perfect scaling": errors(perfect),
            "ring with overlap": errors(scaling),
        },
    }
    unseen = np.where(timm, by_family.family_offsets, by_network.family_offsets)
    related = ~timm & by_network.is_family_known
    all_unseen = _balanced(unseen, timm)
    left_out = {
        tier: _left_out_rows(observations, residuals, members)
        for tier, residuals, members in (
            ("measured_same_gpu", by_row, _balanced(by_row, timm)),
            ("measured_other_gpu", by_die.all_offsets, np.flatnonzero(judged)),
            (SAME_FAMILY, unseen, all_unseen[related[all_unseen]]),
            ("same_architecture", unseen, all_unseen[~related[all_unseen]]),
            ("specs_only", by_die.general_offsets, np.flatnonzero(judged)),
        )
    }
    inside = {tier: covered(left_out, tier) for tier in left_out}
    return Evaluation(
        tables=tables,
        memory={layout.upper(): ladder_score(rows, layout, calibration) for layout in ("nchw", "nhwc")},
        sync_factors=_sync_factors(syncs, calibration, prior),
        coverage={tier: coverage(inside[tier], left.groups(tier)) for tier, left in left_out.items()},
        coverage_by_kind=_coverage_by_kind(left_out, inside),
        intervals=interval_table(left_out),
        several_devices=doubt_of(scaling),
        unseen_architecture=doubt_of_architecture(by_architecture),
        coverage_without_architecture=coverage_without(
            whole, by_architecture, judged, left_out, prior["intervals"]["doubts"]
        ),
        architectures=known_architectures(observations, jobs),
    )


def left_out_variances(
    observations: Sequence[Observation], jobs: Sequence[Job], calibration: Calibration, prior: Mapping[str, Any]
) -> tuple[dict[str, float], float]:
    """(kind -> standard deviation of its effects, that of the noise) from residuals of constants fitted elsewhere.

    The one source that is half of all rows, of one GPU, is thinned; jobs have no part in constants.
    """
    sd, noise = prior["offsets"]["prior_sd"], prior["offsets"]["noise_sd"]
    problem = problem_of(observations, calibration, prior)
    whole = Whole(observations, problem, fit_constants(problem), sd, noise)
    timm = np.array([o.groups["source"] == TIMM for o in observations])
    by_family, by_die = leave_out(whole, family, FAMILY_FOLDS), leave_out(whole, die, FOLDS)
    left = np.where(timm, by_family.constants_only, by_die.constants_only)
    kept = _balanced(left, timm)
    everything: list[HasEffects] = [*(observations[i] for i in kept), *jobs]
    return fit_variances(everything, np.concatenate([left[kept], [job.residual for job in jobs]]), sd, noise)


def _left_out_rows(observations: Sequence[Observation], residuals: Vector, members: Any) -> LeftOutRows:
    """The rows at positions ``members`` with what they are."""
    rows = LeftOutRows(
        residuals=residuals,
        lineages=np.array([o.groups["lineage"] for o in observations]),
        kinds=np.array([o.groups["kind"] for o in observations]),
        dies=np.array([die(o) for o in observations]),
        networks=np.array([_described(o) for o in observations]),
    )
    return rows.where(members)


def _coverage_by_kind(left_out: Mapping[str, LeftOutRows], inside: Mapping[str, Any]) -> dict[str, dict[str, Coverage]]:
    """Kind of operations -> tier -> coverage, where a tier has rows of the kind."""
    kinds = sorted({str(kind) for rows in left_out.values() for kind in rows.kinds})
    return {
        kind: {
            tier: coverage(inside[tier][rows.kinds == kind], rows.groups(tier)[rows.kinds == kind])
            for tier, rows in left_out.items()
            if kind in rows.kinds
        }
        for kind in kinds
    }


def _is_judged(observation: Observation) -> bool:
    groups = observation.groups
    return groups["source"] != TIMM and groups["scope"] == "step" and groups["tier"] in ("A", "B")


def _where(observations: Sequence[Observation], layout: str) -> Any:
    return np.array([o.layout == layout for o in observations])


def _by_offsets(left_out: LeftOut, members: Any) -> dict[str, Errors]:
    return {
        "constants only": errors(left_out.constants_only[members]),
        "network and software offsets": errors(left_out.network_offsets[members]),
        "all offsets": errors(left_out.all_offsets[members]),
    }


def _by(observations: Sequence[Observation], group: str, residuals: Vector, members: Any) -> dict[str, Errors]:
    names = np.array([o.groups[group] for o in observations])
    return {str(name): errors(residuals[members & (names == name)]) for name in sorted(set(names[members]))}


def _leave_rows_out(whole: Whole, plain: Vector) -> Vector:
    """Residuals with each tenth of the rows left out of the offsets; NaN where the network is then new there."""
    observations = whole.observations
    left = np.full(len(observations), np.nan)
    fold_of = np.arange(len(observations)) % ROW_FOLDS
    for fold in range(ROW_FOLDS):
        known, held = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        training = [observations[i] for i in known]
        names = {o.effects[EFFECT_KINDS.index("workload_accelerator")] for o in training}
        held = np.array(
            [i for i in held if observations[i].effects[EFFECT_KINDS.index("workload_accelerator")] in names],
            dtype=np.int64,
        )
        solved = solve_effects(training, plain[known], whole.sd, whole.noise_sd)
        left[held] = plain[held] - predict_offsets(solved, training, [observations[i] for i in held], whole.sd)
    return left


def _scaling(
    rows: Sequence[Mapping[str, str]], calibration: Calibration, prior: Mapping[str, Any]
) -> tuple[Vector, Vector]:
    """ln(predicted / measured time) on several GPUs: with perfect scaling, and predicted without the GPU model."""
    pairs: list[Pair] = plausible(scaling_pairs(rows))
    perfect: Vector = np.log([pair.single_s / pair.several_s for pair in pairs])
    return perfect, left_out_errors(pairs, calibration, prior["collectives"])


def _sync_factors(
    syncs: Sequence[Sync], calibration: Calibration, prior: Mapping[str, Any]
) -> dict[str, tuple[int, float]]:
    """Application -> (steps, median factor between predicted and measured sync time), left out; and all together."""
    constants = {**calibration.collectives, "tcp_flow_share": prior["collectives"]["tcp_flow_share"]}
    by_application = {name: np.abs(e) for name, e in left_out_log_errors(syncs, calibration, constants).items()}
    together = np.concatenate(list(by_application.values()))
    factors = {name: (len(e), float(np.exp(np.median(e)))) for name, e in by_application.items()}
    return {**factors, "all": (len(together), float(np.exp(np.median(together))))}


def _described(observation: Observation) -> str:
    """What is left out of an unseen network: timm's whole family, elsewhere the network."""
    return family(observation) if observation.groups["source"] == TIMM else network(observation)


def _balanced(residuals: Vector, timm: Any) -> Any:
    """Positions of known residuals, with the one source that is half of all rows thinned to its share of the others."""
    known = np.isfinite(residuals)
    own, others = np.flatnonzero(known & timm), np.flatnonzero(known & ~timm)
    return np.concatenate([others, own[::TIMM_THINNING]])
