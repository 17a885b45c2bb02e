"""A published run put to the product: the same resolving, step model and timeline as an estimate, time only."""

from __future__ import annotations

import math
from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.timeline import timeline
from planner.throughput.step import StepModel
from planner.units import Interval
from tools.published.reading import Run, Unread


class Predicted(NamedTuple):
    """A run with the product's time. ``log_error`` is ln(predicted / actual): above 0 is too slow."""

    run: Run
    time_s: Interval
    bound_by: str
    evidence: str
    batch_size_per_gpu: int

    @property
    def log_error(self) -> float:
        return math.log(self.time_s.p50 / self.run.actual_s)


def predict(run: Run) -> Predicted | Unread:
    """The product's time of the run, or why it has none."""
    try:
        experiment = experiment_of(run)
        # What was published did run: a batch that should not fit is accumulated, as in the backtest.
        step = StepModel(experiment, enforce_memory=False).estimate(run.machine)
    except InputError as error:
        return Unread(run.source, run.label, str(error))
    if step.samples_per_s is None or step.bound_by is None:
        return Unread(run.source, run.label, step.reason)
    line = timeline(experiment, run.machine, step, rented=False)
    time_s = line.total if run.checkpoints else line.total.shifted(-line.checkpoints_s)
    return Predicted(run, time_s, step.bound_by, step.evidence, step.batch_size_per_gpu)


def experiment_of(run: Run) -> Experiment:
    """The experiment a user would type for the run. Raises InputError."""
    epochs = run.amount.epochs
    request = ExperimentRequest(
        model=run.workload.name,
        epochs=epochs or 1.0,
        samples=run.amount.samples,
        global_batch_size=_divisible(run.global_batch_size, run.num_accelerators),
        precision=run.precision,
        tuned=run.tuned,
    )
    return resolve_experiment(request)


def _divisible(batch: int | None, devices: int) -> int | None:
    """The nearest batch that every accelerator has an equal share of; at least one sample each."""
    return None if batch is None else max(1, round(batch / max(devices, 1))) * max(devices, 1)
