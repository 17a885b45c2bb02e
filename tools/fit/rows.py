"""Measured rows turned into observations, with the random effects and the folds each belongs to."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.errors import InputError
from planner.throughput.backtest import experiment_of
from planner.throughput.calibration import Calibration
from planner.throughput.device import architecture_group, device_rates
from planner.throughput.evidence import EFFECT_KINDS, Knowledge, subject_of
from planner.throughput.kernels import FUSABLE, kind_of, operations_in, precision_in
from planner.throughput.measurement import Measurement, read_measurement
from planner.throughput.optimizer import update_work
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.throughput.row_rate import MeasuredRow
from planner.throughput.step import StepModel
from planner.workloads.record import parse_record
from planner.workloads.workload import Operation, Workload
from tools.fit.observations import Observation

TIMM = "huggingface/pytorch-image-models"
# Runs of one thing differ by less; beyond it, networks of two sizes share a name (EfficientNet-B0 and -B4), or one run
# was disturbed.
WIDEST_SPREAD = 2.5
# Eight GPUs are at most so many times as fast as one: NVIDIA's table of EfficientNet on V100 with 32 GB says 17.6.
EXAMPLES = "NVIDIA/DeepLearningExamples"
LARGEST_SPEEDUP, OF_GPUS = 12.0, "8"
_SAME_RUN = ("source", "model", "gpu", "precision", "batch_per_gpu", "input", "framework_version", "variant")


@dataclass(frozen=True)
class Unused:
    """A row that is no observation, and why."""

    row: MeasuredRow
    reason: str


def read_table(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, gzipped or not."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def read_records(paths: Iterable[Path]) -> dict[str, Workload]:
    """Workload records by name from JSON-lines files ('resnet50@224': traced with unfused attention)."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return {workload.name: workload for workload in (parse_record(json.loads(line)) for line in lines)}


def observe(
    rows: Sequence[MeasuredRow], records: Mapping[str, Workload], calibration: Calibration
) -> tuple[list[Observation], list[Unused]]:
    """Observations of all rows of one GPU that can be read; ``records`` replace the zoo's for timm rows of those sizes.

    Rows that measure something else than they say are left out (see :func:`unfaithful` and :func:`contradicted`).
    """
    observations: list[Observation] = []
    unused: list[Unused] = []
    wrong = contradicted(rows)
    for row in rows:
        if row["n_gpus"] != "1":
            continue
        problem = "its own table says otherwise on several GPUs" if _run(row) in wrong else unfaithful(row)
        if problem is not None:
            unused.append(Unused(row, problem))
            continue
        try:
            measurement = _measurement(row, records)
            observations.append(observation_of(measurement, row, calibration))
        except InputError as error:
            unused.append(Unused(row, str(error)))
    return observations, unused


def unfaithful(row: MeasuredRow) -> str | None:
    """Why a row would teach the wrong thing; None for ordinary rows."""
    model, source = row["model"].casefold(), row["source"]
    if source == TIMM and model.startswith(("tresnet", "sequencer")):
        return "what ran is not what traces: in-place activated batch norm, or an LSTM over image rows"
    if "no cudnn" in row["framework_version"]:
        return "runs without cuDNN"
    if model.startswith("dlrm"):
        return "the batch column is in thousands, of all GPUs"
    if _spread(row) > WIDEST_SPREAD:
        return "a median over runs that are not one measurement"
    if model == "ig_resnext101_32x48d":
        return "the zoo has no record of this width"
    return None


def contradicted(rows: Iterable[MeasuredRow]) -> set[tuple[str, ...]]:
    """Runs of NVIDIA's tables whose rate on one GPU is a small part of what several GPUs reach each."""
    rates: dict[tuple[str, ...], dict[str, float]] = {}
    for row in rows:
        if row["source"] == EXAMPLES and row["metric_median"]:
            rates.setdefault(_run(row), {})[row["n_gpus"]] = float(row["metric_median"])
    return {
        run
        for run, by_count in rates.items()
        if OF_GPUS in by_count and by_count[OF_GPUS] > LARGEST_SPEEDUP * by_count.get("1", math.inf)
    }


def _run(row: MeasuredRow) -> tuple[str, ...]:
    return tuple(row[column] for column in _SAME_RUN)


def _spread(row: MeasuredRow) -> float:
    """The largest over the smallest rate of the runs whose median the row states; 1 where it does not say."""
    lowest, highest = row.get("metric_min"), row.get("metric_max")
    return float(highest) / float(lowest) if lowest and highest else 1.0


def _measurement(row: MeasuredRow, records: Mapping[str, Workload]) -> Measurement:
    """The row's measurement, of the record traced at the row's own image size where there is one."""
    record = records.get(f"{row['model']}@{row['input'].split('x')[0]}") if row["source"] == TIMM else None
    return read_measurement(row, record)


def observation_of(measurement: Measurement, row: MeasuredRow, calibration: Calibration) -> Observation:
    """The device's side of a measured step. Raises InputError where the device's specifications are incomplete."""
    machine, accelerator = measurement.machine, measurement.machine.accelerator
    precision = resolve_precision(measurement.precision, accelerator)
    rates = None if precision is None else device_rates(accelerator, precision, calibration)
    if precision is None or rates is None:
        raise InputError(f"the specifications of {accelerator.name} are incomplete")
    experiment = experiment_of(measurement)
    software = measurement.software
    model = StepModel(experiment, Knowledge(calibration), framework=software.framework, enforce_memory=False)
    plan = model.plan(machine, precision)
    update = update_work(experiment, precision, loop=software.update_loop)
    timed_update = measurement.scope == "step"
    workload = measurement.workload
    subject = subject_of(workload.name, model.lineage, precision.width, accelerator, workload.family)
    return Observation(
        operations=_operations(model, precision, measurement),
        batch_size=plan.batch_size_per_gpu,
        accumulation=plan.grad_accum_steps,
        layout="nhwc" if model.variant.layout is calibration.layouts["nhwc"] else "nchw",
        accelerator=accelerator,
        rates=rates,
        precision=precision_in(measurement.workload, precision),
        update_bytes=update.traffic_bytes if timed_update else 0.0,
        update_kernels=update.kernels if timed_update else 0.0,
        host_factor=calibration.host_factors.get(software.framework, 1.0),
        step_time_s=plan.global_batch_size / measurement.samples_per_s,
        effects=tuple(zip(EFFECT_KINDS, subject, strict=True)),
        groups={**_groups(measurement, row), "lineage": model.lineage, "width": precision.width},
    )


def _operations(model: StepModel, precision: DevicePrecision, measurement: Measurement) -> tuple[Operation, ...]:
    """What runs in the timed scope, with the bytes a compiler saves already taken off."""
    fused = model.variant.fused_bytes_factor
    return tuple(
        operation._replace(bytes=operation.bytes.scaled(fused)) if operation.op_class in FUSABLE else operation
        for operation in operations_in(model.experiment.workload, precision)
        if measurement.scope != "forward" or operation.phase == "forward"
    )


def _groups(measurement: Measurement, row: MeasuredRow) -> dict[str, str]:
    accelerator = measurement.machine.accelerator
    return {
        "source": row.get("source", ""),
        "tier": row.get("tier", ""),
        "model": row["model"],
        "family": measurement.workload.family,
        "kind": kind_of(measurement.workload),
        "gpu": accelerator.key,
        "architecture": architecture_group(accelerator),
        "vendor": accelerator.vendor,
        "precision": measurement.precision,
        "devices": str(measurement.machine.devices),
        "scope": measurement.scope,
        "version": row.get("framework_version", ""),
    }


def select(observations: Sequence[Observation], **wanted: str) -> list[Observation]:
    """Observations whose groups have all the wanted values."""
    return [o for o in observations if all(o.groups[name] == value for name, value in wanted.items())]
