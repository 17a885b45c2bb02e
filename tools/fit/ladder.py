"""The memory model against timm's batch ladder: the largest of a fixed list of batches that ran on 24 GB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planner.errors import InputError
from planner.throughput.backtest import experiment_of
from planner.throughput.calibration import Calibration
from planner.throughput.measurement import read_measurement
from planner.throughput.memory import available_bytes, memory_model
from planner.throughput.precision import resolve_precision
from planner.throughput.row_rate import MeasuredRow
from tools.fit.rows import TIMM, unfaithful

# The batches timm's benchmark script tried in turn, as they occur in its tables.
LADDER = (512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)


class LadderScore(NamedTuple):
    """Shares of rows: the rung predicted exactly, within one rung, and above the one that ran (out of memory)."""

    rows: int
    exact: float
    within_one: float
    over: float


def ladder_score(rows: Iterable[MeasuredRow], layout: str, calibration: Calibration) -> LadderScore:
    """Predicted against measured rungs of one layout ('nchw', 'nhwc')."""
    steps = [step for row in rows if (step := _rungs_off(row, layout, calibration)) is not None]
    count = len(steps)
    return LadderScore(
        rows=count,
        exact=sum(step == 0 for step in steps) / count,
        within_one=sum(abs(step) <= 1 for step in steps) / count,
        over=sum(step > 0 for step in steps) / count,
    )


def _rungs_off(row: MeasuredRow, layout: str, calibration: Calibration) -> int | None:
    """Rungs by which the predicted batch is larger than the one that ran; None for rows that do not tell."""
    if row["source"] != TIMM or (row["variant"] or "nchw") != layout or unfaithful(row) is not None:
        return None
    try:
        measurement = read_measurement(row)
    except InputError:
        return None
    precision = resolve_precision(measurement.precision, measurement.machine.accelerator)
    available = available_bytes(measurement.machine, calibration)
    ran = measurement.batch_size_per_gpu
    if precision is None or available is None or ran not in LADDER:
        return None
    largest = memory_model(experiment_of(measurement), precision, 1, calibration).largest_batch(available)
    predicted = next((rung for rung in LADDER if rung <= largest), LADDER[-1])
    return LADDER.index(ran) - LADDER.index(predicted)
