"""Rows of whole jobs on many GPUs (language models): what they teach of networks, lineages and architectures.

Their device time cannot be told from their communication, so they have no part in the constants; the residual of the
whole step against the shipped equations gives offsets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from planner.errors import InputError
from planner.throughput.backtest import experiment_of, predict
from planner.throughput.calibration import Calibration
from planner.throughput.evidence import EFFECT_KINDS, Knowledge, architecture_name, subject_of
from planner.throughput.kernels import kind_of
from planner.throughput.lineage import lineage_of
from planner.throughput.measurement import read_measurement
from planner.throughput.precision import resolve_precision
from planner.throughput.row_rate import MeasuredRow

SOURCES = ("mosaicml/llm-foundry", "NVIDIA-NeMo/Megatron-Bridge", "pytorch/torchtitan", "AI-Hypercomputer/maxtext")
# A job farther off than this factor states another unit or another model than it ran.
FARTHEST_LN = 1.6


@dataclass(frozen=True)
class Job:
    """One row with the effects it shares and its residual ln(predicted / measured step time) without offsets."""

    effects: tuple[tuple[str, str], ...]
    groups: dict[str, str]
    residual: float


def read_jobs(rows: Iterable[MeasuredRow], calibration: Calibration) -> list[Job]:
    """All rows of the language-model sources that can be predicted."""
    knowledge = Knowledge(calibration._replace(offsets={**calibration.offsets, "effects": {}, "networks": {}}))
    jobs = []
    for row in rows:
        if row["source"] not in SOURCES:
            continue
        try:
            job = _job(row, knowledge)
        except InputError:
            continue
        if job is not None and abs(job.residual) < FARTHEST_LN:
            jobs.append(job)
    return jobs


def _job(row: MeasuredRow, knowledge: Knowledge) -> Job | None:
    measurement = read_measurement(row)
    accelerator = measurement.machine.accelerator
    precision = resolve_precision(measurement.precision, accelerator)
    estimate = predict(measurement, knowledge)
    if estimate.samples_per_s is None or precision is None:
        return None
    lineage = lineage_of(experiment_of(measurement), measurement.software.framework)
    workload = measurement.workload
    subject = subject_of(workload.name, lineage, precision.width, accelerator, workload.family)
    return Job(
        effects=tuple(zip(EFFECT_KINDS, subject, strict=True)),
        groups={
            "source": row["source"],
            "model": row["model"],
            "gpu": accelerator.key,
            "architecture": architecture_name(accelerator),
            "lineage": lineage,
            "kind": kind_of(measurement.workload),
        },
        residual=math.log(measurement.samples_per_s / estimate.samples_per_s.p50),
    )
