"""Predictions against measurements: every row predicted as an estimate would be, and the errors by group.

``ape`` is |predicted / measured - 1| of samples/s, ``bias`` the mean of ln(predicted / measured), ``coverage`` the
share of measurements inside P10-P90. Rows that cannot be predicted are counted and keep the reason.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planner.errors import InputError, UnknownNameError
from planner.experiment.experiment import Experiment
from planner.throughput.estimate import Evidence, StepEstimate
from planner.throughput.evidence import Knowledge, Reference, run_of, shipped_knowledge, subject_of
from planner.throughput.measurement import Measurement, read_accelerator, read_measurement
from planner.throughput.precision import resolve_precision
from planner.throughput.row_rate import RATE_COLUMNS, MeasuredRow
from planner.throughput.row_software import states_one_gpu
from planner.throughput.step import StepModel

GROUPS = ("gpu", "family", "precision", "source", "evidence")


class BacktestRow(NamedTuple):
    """One input row with its prediction in samples/s of the whole job, or the reason why there is none."""

    row: MeasuredRow
    measured_samples_per_s: float | None = None
    predicted_samples_per_s: float | None = None
    p10: float | None = None
    p90: float | None = None
    ape: float | None = None
    evidence: Evidence | None = None
    flags: tuple[str, ...] = ()
    reason: str | None = None
    groups: tuple[str, ...] = ()

    @property
    def log_error(self) -> float:
        """ln(predicted / measured samples/s) of a predicted row."""
        return math.log((self.predicted_samples_per_s or math.nan) / (self.measured_samples_per_s or math.nan))


class Score(NamedTuple):
    """Errors of a group of rows; None where none of them could be predicted."""

    n: int
    n_predicted: int
    median_ape: float | None
    mean_ape: float | None
    p90_ape: float | None
    bias: float | None
    coverage: float | None


class BacktestReport(NamedTuple):
    """``groups`` maps a group's kind (gpu, family, precision, source, evidence) to its members' scores."""

    total: Score
    groups: dict[str, dict[str, Score]]
    rows: tuple[BacktestRow, ...]


def run_backtest(
    rows: Iterable[MeasuredRow], anchor: str | None = None, knowledge: Knowledge | None = None
) -> BacktestReport:
    """Predict every row. With ``anchor`` the rows on that GPU are measurements and the others are predicted from them.

    Raises InputError for an anchor that is no accelerator or on which nothing was measured, and where no column states
    a rate.
    """
    rows = list(rows)
    if rows and not any(column in row for row in rows for column in RATE_COLUMNS):
        raise InputError(f"the file has no column with a measured rate: {', '.join(RATE_COLUMNS)}")
    known = knowledge or shipped_knowledge()
    if anchor is None:
        results = [predict_row(row, known) for row in rows]
    else:
        key = read_accelerator(anchor).key
        anchored = [_is_on(row, key) for row in rows]
        known = known.with_references(
            _references([r for r, on in zip(rows, anchored, strict=True) if on], known, anchor)
        )
        results = [
            BacktestRow(row, reason=f"used as a measurement on the anchor {key}") if on else predict_row(row, known)
            for row, on in zip(rows, anchored, strict=True)
        ]
    return BacktestReport(score(results), _grouped(results), tuple(results))


def predict_row(row: MeasuredRow, knowledge: Knowledge) -> BacktestRow:
    """The prediction for one row; never raises for what a row says."""
    try:
        measurement = _of_whole_job(row)
        estimate = predict(measurement, knowledge)
    except InputError as error:
        return BacktestRow(row, reason=str(error), groups=_labels(row))
    if estimate.samples_per_s is None:
        return BacktestRow(row, reason=estimate.reason, groups=_labels(row))
    rate, measured = estimate.samples_per_s, measurement.samples_per_s
    flags = estimate.flags if measurement.batch_size_per_gpu is not None else (*estimate.flags, "batch_assumed")
    return BacktestRow(
        row=row,
        measured_samples_per_s=measured,
        predicted_samples_per_s=rate.p50,
        p10=rate.p10,
        p90=rate.p90,
        ape=abs(rate.p50 / measured - 1.0),
        evidence=estimate.evidence,
        flags=flags,
        groups=(
            measurement.machine.accelerator.key,
            measurement.workload.family,
            estimate.precision,
            row.get("source", ""),
            estimate.evidence,
        ),
    )


def _of_whole_job(row: MeasuredRow) -> Measurement:
    measurement = read_measurement(row)
    if not states_one_gpu(row):
        return measurement
    return measurement._replace(samples_per_s=measurement.samples_per_s * measurement.machine.devices)


def predict(measurement: Measurement, knowledge: Knowledge) -> StepEstimate:
    """The estimate for exactly what was measured: its batch, software, scope; memory never refuses it.

    A sharded run whose batch does not fit by far is taken to have checkpointed its activations, not accumulated.
    """
    experiment = experiment_of(measurement)
    estimate = _model(measurement, experiment, knowledge).estimate(measurement.machine)
    if measurement.software.sharded and estimate.grad_accum_steps > measurement.grad_accum_steps:
        recomputing = experiment._replace(grad_checkpointing=True)
        estimate = _model(measurement, recomputing, knowledge).estimate(measurement.machine)
        estimate = estimate._replace(flags=(*estimate.flags, "checkpointing_assumed"))
    return estimate


def _model(measurement: Measurement, experiment: Experiment, knowledge: Knowledge) -> StepModel:
    return StepModel(
        experiment,
        knowledge,
        scope=measurement.scope,
        framework=measurement.software.framework,
        update_loop=measurement.software.update_loop,
        enforce_memory=False,
    )


def experiment_of(measurement: Measurement) -> Experiment:
    """The measured run as an experiment of one epoch of one sample; its input is taken as never binding."""
    software, method = measurement.software, measurement.method
    if software.sharded and measurement.machine.devices > 1:
        method = method._replace(zero_stage=3)
    return Experiment(
        workload=measurement.workload,
        dataset=None,
        samples_per_epoch=1.0,
        epochs=1.0,
        total_samples=1.0,
        precision=measurement.precision,
        optimizer=measurement.optimizer,
        batch_size_per_gpu=measurement.batch_size_per_gpu,
        grad_accum_steps=measurement.grad_accum_steps if measurement.batch_size_per_gpu is not None else None,
        channels_last=software.channels_last,
        compiled=software.compiled,
        tuned=software.tuned,
        **method._asdict(),
    )


def reference_of(measurement: Measurement, knowledge: Knowledge, *, on_this_machine: bool = False) -> Reference | None:
    """What a measurement teaches: its residual against shipped knowledge; None where no estimate is possible."""
    estimate = predict(measurement, knowledge)
    precision = resolve_precision(measurement.precision, measurement.machine.accelerator)
    if estimate.samples_per_s is None or precision is None:
        return None
    model = StepModel(experiment_of(measurement), knowledge, framework=measurement.software.framework)
    workload, accelerator = measurement.workload, measurement.machine.accelerator
    subject = subject_of(workload.name, model.lineage, precision.width, accelerator, workload.family)
    residual = math.log(measurement.samples_per_s / estimate.samples_per_s.p50)
    # A profile's own rows are held against rates that were measured with them: nothing of a run is left to come again.
    run = "" if on_this_machine else run_of(estimate.batch_size_per_gpu, measurement.machine.devices)
    return Reference(subject, residual, on_this_machine, run)


def _references(rows: Sequence[MeasuredRow], knowledge: Knowledge, anchor: str) -> list[Reference]:
    found = []
    for row in rows:
        try:
            reference = reference_of(_of_whole_job(row), knowledge)
        except InputError:
            continue
        if reference is not None:
            found.append(reference)
    if not found:
        raise InputError(f"no row of the file was measured on {anchor}, so it cannot be the anchor")
    return found


def _is_on(row: MeasuredRow, key: str) -> bool:
    try:
        return read_accelerator(row.get("gpu", "")).key == key
    except UnknownNameError:
        return False


def _labels(row: MeasuredRow) -> tuple[str, ...]:
    """Group names of a row that was not predicted, as the row writes them."""
    return (row.get("gpu", ""), row.get("model", ""), row.get("precision", ""), row.get("source", ""), "none")


def score(rows: Sequence[BacktestRow]) -> Score:
    """The errors of ``rows``; rows without prediction count in ``n`` only."""
    predicted = [row for row in rows if row.ape is not None]
    if not predicted:
        return Score(len(rows), 0, None, None, None, None, None)
    errors = sorted(row.ape for row in predicted if row.ape is not None)
    inside = sum(1 for row in predicted if _covers(row))
    return Score(
        n=len(rows),
        n_predicted=len(predicted),
        median_ape=quantile(errors, 0.5),
        mean_ape=math.fsum(errors) / len(errors),
        p90_ape=quantile(errors, 0.9),
        bias=math.fsum(row.log_error for row in predicted) / len(predicted),
        coverage=inside / len(predicted),
    )


def _covers(row: BacktestRow) -> bool:
    return (row.p10 or 0.0) <= (row.measured_samples_per_s or 0.0) <= (row.p90 or 0.0)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values, interpolated linearly between neighbours."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _grouped(rows: Sequence[BacktestRow]) -> dict[str, dict[str, Score]]:
    members: dict[str, dict[str, list[BacktestRow]]] = {kind: {} for kind in GROUPS}
    for row in rows:
        for kind, name in zip(GROUPS, row.groups, strict=False):
            members[kind].setdefault(name, []).append(row)
    return {kind: {name: score(members[kind][name]) for name in sorted(members[kind])} for kind in GROUPS}
