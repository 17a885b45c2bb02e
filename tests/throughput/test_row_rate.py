"""Rates in the units and numbers that people write."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.hardware.catalog import accelerator
from planner.hardware.machine import Machine
from planner.throughput.row_rate import rate_of
from planner.workloads.catalog import load_workload


def machine() -> Machine:
    return Machine("two", accelerator("A100-80GB-SXM"), 2)


def rate(unit: str, value: str = "1300", batch: int | None = 64) -> float:
    row = {"metric_median": value, "metric_unit": unit}
    return rate_of(row, load_workload("resnet50"), 100.0, machine(), batch)


@pytest.mark.parametrize(
    ("unit", "samples_per_s"),
    [
        ("images/s", 1300),
        ("img/sec", 1300),
        ("imgs / second", 1300),
        ("Images per second", 1300),
        ("samples/min", 1300 / 60),
        ("img/sec/GPU", 2600),
        ("images/s/chip", 2600),
        ("molecules/ms", 1.3e6),
        ("tokens/s", 13),
        ("tok/s", 13),
        ("tokens/s(src+tgt)", 13),
        ("tokens/s (src+tgt)", 13),
        ("it/s", 64 * 1300),
        ("steps/s", 64 * 1300),
        ("s/it", 64 / 1300),
        ("sec/step", 64 / 1300),
        ("seconds per iteration", 64 / 1300),
        ("ms/iter", 64 / 1.3),
        ("ms/batch", 64 / 1.3),
        ("ms", 64 / 1.3),
        ("Time 1k iterations (min)", 64 / (1300 * 0.06)),
    ],
)
def test_units_as_they_are_found(unit: str, samples_per_s: float) -> None:
    assert rate(unit) == pytest.approx(samples_per_s)


@pytest.mark.parametrize(("value", "expected"), [("1,300", 1300.0), ("1,234,567.5", 1234567.5), (" 12 ", 12.0)])
def test_numbers_with_thousands_apart(value: str, expected: float) -> None:
    assert rate("images/s", value) == expected


@pytest.mark.parametrize("unit", ["s/epoch", "s/run", "mel-frames/s", "min", "images", "images/epoch", "furlongs"])
def test_other_units_are_not_guessed_at(unit: str) -> None:
    with pytest.raises(InputError, match="is not one of samples, tokens or time per step"):
        rate(unit)


@pytest.mark.parametrize("value", ["1,3", "1,30", "13,00,0", "many", "0", "-5", "nan"])
def test_what_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(InputError, match=r"is not a number|must be greater than 0"):
        rate("images/s", value)


@pytest.mark.parametrize("unit", ["it/s", "ms/iter"])
def test_steps_need_a_batch(unit: str) -> None:
    with pytest.raises(InputError, match="without a batch size"):
        rate(unit, batch=None)
