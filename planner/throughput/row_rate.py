"""The rate that a measured row states, in samples/s of the whole job, from the units in which rates are published."""

import re
from collections.abc import Mapping

from planner.errors import InputError
from planner.hardware.machine import Machine
from planner.workloads.workload import Workload

MeasuredRow = Mapping[str, str]
"""Column to text, as ``backtest`` reads it (docs/json.md)."""

RATE_COLUMNS = ("samples_per_s", "step_time_ms", "metric_median")
# Units as they are found in logs and tables, word by word, in the words used here.
_WORDS = {
    "sample": (
        *("samples", "image", "images", "img", "imgs", "sequence", "sequences", "seq", "seqs", "item", "items"),
        *("example", "examples", "molecule", "molecules"),
    ),
    "token": ("tokens", "tok", "toks"),
    "step": ("steps", "iter", "iters", "iteration", "iterations", "it", "its", "batch", "batches"),
    "gpu": ("gpus", "chip", "device"),
    "ms": ("msec", "millisecond", "milliseconds"),
    "s": ("sec", "secs", "second", "seconds"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
}
_WORD_OF = {spelling: word for word, spellings in _WORDS.items() for spelling in spellings}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
# '1,300', not '1,3'.
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")
_THOUSAND_STEPS_MINUTES = "time 1k iterations (min)"
_TIMES_OF_A_STEP = {(time, "step"): seconds for time, seconds in _SECONDS.items()} | {
    ("ms", ""): 1e-3,
    (_THOUSAND_STEPS_MINUTES, ""): 0.06,
}
# Token rates are also published in thousands and in sequences: a step of a minute gives that away.
_LONGEST_MICRO_STEP_S = 60.0


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
    what, per = _spelled(unit)
    if what.endswith("/gpu"):
        what, value = what.removesuffix("/gpu"), value * machine.devices
    if (what, per) in _TIMES_OF_A_STEP:
        return _batch(step_batch, unit) / (value * _TIMES_OF_A_STEP[what, per])
    if per not in _SECONDS:
        raise InputError(f"the unit {unit!r} is not one of samples, tokens or time per step")
    value /= _SECONDS[per]
    if what == "step":
        return _batch(step_batch, unit) * value
    rate = value * _samples_each(what, unit, workload, tokens_per_sample)
    if what == "token" and step_batch is not None and step_batch / rate > _LONGEST_MICRO_STEP_S:
        raise InputError(f"{value:g} {unit} would make one step take {step_batch / rate:.0f} s: another unit is meant")
    return rate


def _spelled(unit: str) -> tuple[str, str]:
    """What is counted ('/gpu' after it where each device does), and per what: 'img/sec/GPU' is ('sample/gpu', 's')."""
    words = [part.strip() for part in unit.replace(" per ", "/").replace("(src+tgt)", "").split("/")]
    words = [_WORD_OF.get(word, word) for word in words]
    each = ""
    if len(words) > 1 and words[-1] == "gpu":
        each = "/gpu"
        del words[-1]
    return "/".join(words[:1]) + each, "/".join(words[1:])


def _batch(step_batch: int | None, unit: str) -> int:
    if step_batch is None:
        raise InputError(f"{unit} without a batch size")
    return step_batch


def _samples_each(what: str, unit: str, workload: Workload, tokens_per_sample: float | None) -> float:
    """Samples in one of what a row counts. Raises InputError for units the model cannot be compared with."""
    if what == "sample":
        return 1.0
    if what == "token":
        if tokens_per_sample is None:
            raise InputError(f"tokens/s without a sequence length, and {workload.name} has none either")
        return 1.0 / tokens_per_sample
    if what == "model tflop":
        return 1e12 / workload.training_flops_per_sample
    raise InputError(f"the unit {unit!r} is not one of samples, tokens or time per step")


def _number(row: MeasuredRow, column: str) -> float | None:
    text = (row.get(column) or "").strip()
    if not text:
        return None
    try:
        value = float(_THOUSANDS.sub("", text))
    except ValueError:
        raise InputError(f"{column} {text!r} is not a number") from None
    if not 0.0 < value < 1e15:
        raise InputError(f"{column} must be greater than 0, not {text}")
    return value
