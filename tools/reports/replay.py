"""Replay a report through the product: resolve, estimate, and hold the outcome against P10-P90 or the fit verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.throughput.estimate import StepEstimate
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval
from planner.workloads.attention import with_stored_scores
from tools.reports.cases import Case, Replay, Report


class Figure(NamedTuple):
    """A quantity people report: its unit and how an estimate gives it."""

    unit: str
    of: Callable[[StepEstimate, Experiment, Machine], Interval]


class Outcome(NamedTuple):
    """One replay's end: ``predicted`` in the figure's unit (None where nothing fits), ``right`` None: not replayed."""

    replay: Replay
    reported: str
    predicted: Interval | None
    unit: str
    step: StepEstimate | None
    right: bool | None
    problem: str = ""


class Verdict(NamedTuple):
    """A report with all its outcomes; ``right`` when every outcome is that counts."""

    report: Report
    case: Case
    outcomes: tuple[Outcome, ...]

    @property
    def right(self) -> bool:
        counted = [outcome.right for outcome in self.outcomes if not outcome.replay.extra]
        return bool(counted) and all(right is True for right in counted)


def _step_time(factor: float) -> Callable[[StepEstimate, Experiment, Machine], Interval]:
    return lambda step, experiment, machine: _scaled(_known(step.step_time_s), factor)


def _rate_per_gpu(step: StepEstimate, experiment: Experiment, machine: Machine) -> Interval:
    return _scaled(_known(step.samples_per_s), 1 / machine.devices)


def _tokens_per_gpu(step: StepEstimate, experiment: Experiment, machine: Machine) -> Interval:
    return _scaled(_known(step.samples_per_s), (experiment.workload.seq_length or 1) / machine.devices)


def _run_hours(step: StepEstimate, experiment: Experiment, machine: Machine) -> Interval:
    rate = _known(step.samples_per_s)
    hours = [experiment.total_samples / each / SECONDS_PER_HOUR for each in (rate.p90, rate.p50, rate.p10)]
    return Interval(*hours)


FIGURES = {
    "step": Figure("s/step", _step_time(1.0)),
    "step_ms": Figure("ms/step", _step_time(1e3)),
    "100_steps": Figure("s/100 steps", _step_time(1e2)),
    "run": Figure("h", _run_hours),
    "rate_per_gpu": Figure("samples/s/GPU", _rate_per_gpu),
    "tokens_per_gpu": Figure("tokens/s/GPU", _tokens_per_gpu),
}


def _times_as_fast(step: StepEstimate, beside: StepEstimate) -> Interval:
    """Samples a second over those of the machine beside it, whose own uncertainty is shared and left out."""
    return _scaled(_known(step.samples_per_s), 1 / _known(beside.samples_per_s).p50)


def _known(interval: Interval | None) -> Interval:
    if interval is None:
        raise InputError("no time was estimated")
    return interval


def _scaled(interval: Interval, factor: float) -> Interval:
    return Interval(*(value * factor for value in interval))


def judge(report: Report, case: Case) -> Verdict:
    """The report beside what the product says of it."""
    return Verdict(report, case, tuple(_outcome(report, replay) for replay in case.replays))


def _outcome(report: Report, replay: Replay) -> Outcome:
    try:
        software = dict(replay.software)
        experiment = experiment_of(replay.experiment, stored_scores=software.pop("stored_scores", False))
        machine = machine_of(replay.machine)
        if replay.measure in ("fits", "tight"):
            return _fit_outcome(replay, StepModel(experiment).estimate(machine))
        # What people report did run: a batch that should not fit is accumulated and flagged, as in the backtest.
        model = StepModel(experiment, enforce_memory=False, **software)
        step = model.estimate(machine)
        if replay.measure == "times_as_fast":
            unit, predicted = "x", _times_as_fast(step, model.estimate(machine_of(replay.beside)))
        else:
            unit, predicted = FIGURES[replay.measure].unit, FIGURES[replay.measure].of(step, experiment, machine)
    except InputError as error:
        return Outcome(replay, _reported(report, replay), None, "", None, None, str(error))
    wanted = report.outcome if replay.outcome is None else float(replay.outcome)
    if wanted is None:
        raise ValueError(f"{report.id}: the report's outcome is no number, so its replay needs one")
    right = predicted.p10 <= wanted <= predicted.p90
    return Outcome(replay, f"{wanted:g}", predicted, unit, step, right)


def _reported(report: Report, replay: Replay) -> str:
    wanted = report.outcome if replay.outcome is None else replay.outcome
    if isinstance(wanted, bool):
        return "fits" if wanted else "does not fit"
    return "" if wanted is None else f"{wanted:g}"


def _fit_outcome(replay: Replay, step: StepEstimate) -> Outcome:
    reported = "fits" if replay.outcome else "does not fit"
    right = step.fits == replay.outcome or (replay.measure == "tight" and "memory_tight" in step.flags)
    return Outcome(replay, reported, None, "", step, right)


def experiment_of(fields: dict[str, Any], *, stored_scores: bool = False) -> Experiment:
    """The resolved experiment; one step where the report says no amount of training. Raises InputError."""
    said = fields if {"epochs", "tokens", "steps"} & fields.keys() else {**fields, "steps": 1.0}
    experiment = resolve_experiment(ExperimentRequest(**said))
    return experiment._replace(workload=with_stored_scores(experiment.workload)) if stored_scores else experiment


def machine_of(fields: dict[str, Any]) -> Machine:
    """The described machine; several nodes whose network the report does not state have an unknown one."""
    nodes = fields.get("nodes", 1)
    if nodes > 1 and "network" not in fields:
        alone = {key: value for key, value in fields.items() if key != "nodes"}
        return machine_from_spec("report", **alone)._replace(num_nodes=nodes)
    return machine_from_spec("report", **fields)
