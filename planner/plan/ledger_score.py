"""How good the recorded forecasts were, and what their outcomes teach the next ones."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from planner.errors import InputError, UnknownNameError
from planner.experiment.experiment import Optimizer, Precision
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import TrainingRun
from planner.plan.ledger import Entry
from planner.throughput.backtest import experiment_of, reference_of
from planner.throughput.evidence import Expectation, Reference, shipped_knowledge
from planner.throughput.measured import workload_of
from planner.throughput.measurement import Measurement, Method
from planner.throughput.row_software import Software
from planner.units import Interval


class Checked(NamedTuple):
    """One quantity of one forecast against its outcome: ``log_error`` is ln(forecast P50 / outcome)."""

    entry: Entry
    quantity: str
    forecast: Interval
    outcome: float

    @property
    def log_error(self) -> float:
        return math.log(self.forecast.p50 / self.outcome)

    @property
    def inside(self) -> bool:
        return self.forecast.p10 <= self.outcome <= self.forecast.p90


class Score(NamedTuple):
    """All checks of one quantity; fractions."""

    quantity: str
    outcomes: int
    median_error: float
    bias: float
    coverage: float


def checks(entries: Iterable[Entry]) -> list[Checked]:
    """Every quantity that was both forecast and told."""
    found = []
    for entry in entries:
        if entry.outcome is None:
            continue
        for quantity in ("samples_per_s", "time_s", "cost_usd"):
            forecast, outcome = getattr(entry.row, quantity), getattr(entry.outcome, quantity)
            if forecast is not None and outcome is not None and forecast.p50 > 0 and outcome > 0:
                found.append(Checked(entry, quantity, forecast, outcome))
    return found


def scores(found: Sequence[Checked]) -> list[Score]:
    """Median absolute error, bias (mean of the logarithm) and coverage of P10-P90 by quantity."""
    result = []
    for quantity in ("samples_per_s", "time_s", "cost_usd"):
        rows = [row for row in found if row.quantity == quantity]
        if rows:
            result.append(
                Score(
                    quantity,
                    len(rows),
                    statistics.median(abs(math.exp(row.log_error) - 1.0) for row in rows),
                    statistics.fmean(row.log_error for row in rows),
                    statistics.fmean(row.inside for row in rows),
                )
            )
    return result


def references_of(entries: Iterable[Entry], expected: Expectation | None = None) -> list[Reference]:
    """What the rates that runs on GPUs really had teach beside what is ``expected`` (by what ships, unless said)."""
    known = expected or (lambda experiment: shipped_knowledge())
    found = (_reference(entry, known) for entry in entries)
    return [reference for reference in found if reference is not None]


def runs_here(entries: Iterable[Entry]) -> tuple[TrainingRun, ...]:
    """The outcomes of this machine as training runs, for its profile."""
    return tuple(run for run in map(_run, entries) if run is not None and run.device == "cpu")


def _run(entry: Entry) -> TrainingRun | None:
    """An outcome as a run of its global batch."""
    row, outcome, experiment = entry.row, entry.outcome, entry.experiment
    if outcome is None or outcome.samples_per_s is None or outcome.samples_per_s <= 0:
        return None
    seconds = row.batch_size_per_gpu * row.grad_accum_steps / outcome.samples_per_s
    return TrainingRun(
        model=experiment["model"],
        device="cpu" if row.is_this_machine and row.num_gpus == 0 else "gpu",
        precision=experiment["precision"],
        optimizer=experiment["optimizer"],
        batch_size=row.batch_size_per_gpu,
        step_time_s=seconds,
        low_s=seconds,
        high_s=seconds,
        steps=1,
        measured_at=outcome.added_at,
        seq_length=experiment["seq_length"],
        image_size=experiment["image_size"],
    )


def _reference(entry: Entry, expected: Expectation) -> Reference | None:
    """What a run on GPUs of one machine teaches; a CPU says nothing of other machines (measured.py)."""
    run, row, experiment = _run(entry), entry.row, entry.experiment
    if run is None or entry.outcome is None or row.num_nodes != 1 or row.num_gpus < 1 or experiment["zero_stage"]:
        return None
    if experiment.get("offload") or experiment.get("tensor_parallel", 1) * experiment.get("pipeline_parallel", 1) > 1:
        return None  # entries of before these could be asked for have none of the three
    workload = workload_of(run)
    precision = next((name for name in get_args(Precision) if name == run.precision), None)
    optimizer = next((name for name in get_args(Optimizer) if name == run.optimizer), None)
    if workload is None or precision is None or optimizer is None:
        return None
    try:
        machine = machine_from_spec(row.words, row.accelerator, int(row.num_gpus))
    except (InputError, UnknownNameError):
        return None
    measurement = Measurement(
        workload=workload,
        machine=machine,
        precision=precision,
        batch_size_per_gpu=row.batch_size_per_gpu,
        samples_per_s=entry.outcome.samples_per_s or 0.0,
        scope="step",
        software=Software(
            channels_last=experiment["channels_last"], compiled=experiment["compiled"], tuned=experiment["tuned"]
        ),
        optimizer=optimizer,
        grad_accum_steps=row.grad_accum_steps,
        method=Method(
            lora_rank=experiment["lora_rank"],
            four_bit_weights=experiment.get("four_bit_weights", False),
            grad_checkpointing=experiment.get("grad_checkpointing", False),
        ),
    )
    known = expected(experiment_of(measurement))
    return reference_of(
        measurement, known.of_here if row.is_this_machine else known, on_this_machine=row.is_this_machine
    )
