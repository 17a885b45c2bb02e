"""The rate that a measured row states, in samples/s of the whole job, from the units in which rates are published."""

from collections.abc import Mapping

from planner.errors import InputError
from planner.hardware.machine import Machine
from planner.workloads.workload import Workload

MeasuredRow = Mapping[str, str]
"""Column to text, as ``backtest`` reads it (docs/json.md)."""

RATE_COLUMNS = ("samples_per_s", "step_time_ms", "metric_median")
_SAMPLES_PER_UNIT = {
    "images/s": 1.0,
    "img/s": 1.0,
    "sequences/s": 1.0,
    "seq/s": 1.0,
    "samples/s": 1.0,
    "items/s": 1.0,
    "molecules/s": 1.0,
    "molecules/ms": 1e3,
}
_SECONDS_PER_STEP_UNIT = {
    "ms/iter": 1e-3,
    "ms/step": 1e-3,
    "ms": 1e-3,
    "s/iter": 1.0,
    "s/step": 1.0,
    "time 1k iterations (min)": 0.06,
}
# Token rates are also published in thousands and in sequences: a step of a minute gives that away.
_LONGEST_MICRO_STEP_S = 60.0
_TOKEN_UNITS = ("tokens/s", "tok/s", "tokens/s(src+tgt)", "tokens/s (src+tgt)")


def rate_of(
    row: MeasuredRow, workload: Workload, tokens_per_sample: float | None, machine: Machine, step_batch: int | None
) -> float:
    """Samples/s of the whole job from whichever of the three columns the row has.

    ``step_batch`` is the samples of one pass over all devices, None where the row does not state a batch. Raises
    InputError where the row states no rate, or one in a unit that cannot be told.
    """
    stated = _number(row, "samples_per_s")
    if (row.get("metric_unit") or "").strip().endswith("?"):
        raise InputError(f"what {row['metric_unit']!r} counts is not known")
    if stated is not None:
        return stated
    milliseconds = _number(row, "step_time_ms")
    if milliseconds is not None and step_batch is not None:
        return step_batch / milliseconds * 1e3
    value, unit = _number(row, "metric_median"), (row.get("metric_unit") or "").strip().casefold()
    if value is None or not unit:
        raise InputError("the row states no rate: samples_per_s, step_time_ms or metric_median with metric_unit")
    if unit.endswith(("/gpu", "/chip")):
        unit, value = unit.rsplit("/", 1)[0], value * machine.devices
    if unit in _SECONDS_PER_STEP_UNIT:
        if step_batch is None:
            raise InputError(f"{unit} without a batch size")
        return step_batch / (value * _SECONDS_PER_STEP_UNIT[unit])
    rate = value * _samples_per_unit(unit, workload, tokens_per_sample)
    if unit in _TOKEN_UNITS and step_batch is not None and step_batch / rate > _LONGEST_MICRO_STEP_S:
        raise InputError(f"{value:g} {unit} would make one step take {step_batch / rate:.0f} s: another unit is meant")
    return rate


def _samples_per_unit(unit: str, workload: Workload, tokens_per_sample: float | None) -> float:
    """Factor from the row's unit to samples/s. Raises InputError for units the model cannot be compared with."""
    if unit in _SAMPLES_PER_UNIT:
        return _SAMPLES_PER_UNIT[unit]
    if unit in _TOKEN_UNITS:
        if tokens_per_sample is None:
            raise InputError(f"tokens/s without a sequence length, and {workload.name} has none either")
        return 1.0 / tokens_per_sample
    if unit == "model tflop/s":
        return 1e12 / workload.training_flops_per_sample
    raise InputError(f"the unit {unit!r} is not one of samples, tokens or time per step")


def _number(row: MeasuredRow, column: str) -> float | None:
    text = (row.get(column) or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{column} {text!r} is not a number") from None
    if not 0.0 < value < 1e15:
        raise InputError(f"{column} must be greater than 0, not {text}")
    return value
