"""Rates of operation classes from their measurements."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.profiler.rates import class_rate, rates_of


def row(
    op_class: str, flops: float, moved: float, seconds: float, kernels: float = 1, name: str = ""
) -> dict[str, object]:
    return {"name": name, "op_class": op_class, "flops": flops, "bytes": moved, "kernels": kernels, "seconds": seconds}


def test_without_arithmetic_a_class_moves_all_its_bytes_in_all_its_seconds() -> None:
    assert class_rate([row("ew", 0, 3e9, 1.0), row("ew", 0, 1e9, 1.0)]) == (None, 2e9)


def test_a_roofline_is_found_again() -> None:
    """100 GFLOP/s and 10 GB/s: three operations limited by arithmetic, two by memory."""
    rows = [
        row("conv", f * 1e9, b * 1e9, max(f / 100, b / 10)) for f, b in ((100, 1), (50, 2), (10, 0.1), (1, 1), (2, 5))
    ]
    flops, moved = class_rate(rows)
    assert flops == pytest.approx(100e9)
    assert moved == pytest.approx(10e9)


@given(st.lists(st.tuples(st.floats(1e6, 1e12), st.floats(1e5, 1e10), st.floats(1e-5, 1.0)), min_size=1, max_size=6))
def test_a_fit_is_no_worse_than_any_single_measurement_taken_alone(points: list[tuple[float, float, float]]) -> None:
    rows = [row("mm", *point) for point in points]
    flops, moved = class_rate(rows)
    assert flops is not None
    assert moved is not None

    def misfit(flops_rate: float, byte_rate: float) -> float:
        return sum(math.log(max(f / flops_rate, b / byte_rate) / t) ** 2 for f, b, t in points)

    f, b, t = points[0]
    assert misfit(flops, moved) <= misfit(f / t, b / t) + 1e-9


def test_updates_overhead_and_held_memory() -> None:
    rates = rates_of(
        [
            row("update sgd", 0, 4.0 * 8e6, 8e-3, 4),
            row("update sgd", 0, 4.0 * 2e6, 2e-3, 1),
            row("launch", 0, 0, 1e-3, 100),
            row("held", 0, 8e6, 5e-3, 2),
            row("rewritten", 0, 8e6, 1e-3, 2),
        ]
    )
    assert rates.updates["sgd"] == pytest.approx(1e-9)
    assert rates.launch_s == pytest.approx(1e-5)
    assert rates.held_s_per_byte == pytest.approx(0.5e-9)
    assert rates.classes == {}


@pytest.mark.parametrize(("faulted_bytes", "expected"), [(None, 0.5e-9), (16e6, 0.25e-9), (0.0, 0.5e-9)])
def test_memory_costs_what_the_system_took_for_what_it_handed_out(faulted_bytes: float | None, expected: float) -> None:
    """4 ms for 8 MB that are held; a C library that kept them is no reason to divide by nothing."""
    held = {**row("held", 0, 8e6, 5e-3, 2), "faulted_bytes": faulted_bytes}
    assert rates_of([held, row("rewritten", 0, 8e6, 1e-3, 2)]).held_s_per_byte == pytest.approx(expected)


def test_memory_that_is_handed_out_faster_than_rewritten_costs_nothing() -> None:
    assert rates_of([row("held", 0, 8e6, 1e-3), row("rewritten", 0, 8e6, 2e-3)]).held_s_per_byte == 0.0


def probe(seconds: float, rows: list[list[object]]) -> dict[str, object]:
    more = {"phase": "depthwise", "optimizer": "sgd", "parameters": 1e6, "held_bytes": 1e8, "rows": rows}
    return {**row("probe", 0, 0, seconds), **more}


MEASURED = (
    row("mm", 1e9, 1e6, 0.01),
    row("ew", 0, 1e9, 0.1),
    row("update sgd", 0, 4.0 * 8e6, 8e-3, 4),
    row("launch", 0, 0, 1e-3, 100),
    row("held", 0, 8e6, 5e-3, 2),
    row("rewritten", 0, 8e6, 1e-3, 2),
)


@pytest.mark.parametrize(("faulted_bytes", "seconds"), [(None, 0.1211), (1e8, 0.1211), (3e8, 0.2211), (0.0, 0.0711)])
def test_a_probe_tells_what_its_surroundings_cost(faulted_bytes: float | None, seconds: float) -> None:
    """1 ms of update, 20 of products, 50 elementwise, 0.1 of calls, and 0.5 ns a byte that was handed out anew."""
    rows: list[list[object]] = [["mm", 2e9, 1e6, 4], ["ew", 0.0, 5e8, 6]]
    rates = rates_of([*MEASURED, {**probe(2 * seconds, rows), "faulted_bytes": faulted_bytes}])
    assert rates.surroundings == {"depthwise": pytest.approx(-math.log(2), abs=1e-3)}


@pytest.mark.parametrize("missing", ["mm", "update sgd", "launch", "held"])
def test_a_probe_of_unmeasured_operations_tells_nothing(missing: str) -> None:
    rows = [entry for entry in MEASURED if entry["op_class"] != missing]
    assert rates_of([*rows, probe(0.3, [["mm", 2e9, 1e6, 4]])]).surroundings == {}


def test_what_was_not_measured_is_unknown() -> None:
    rates = rates_of([row("mm", 1e9, 1e6, 0.01)])
    assert (rates.launch_s, rates.held_s_per_byte, dict(rates.updates)) == (None, None, {})


def test_a_warm_machine_keeps_a_share_of_its_arithmetic() -> None:
    cold, warm = (rates_of([row("mm", 1e9, 1e6, 0.01), row("ew", 0, 1e9, 1.0)], share) for share in (1.0, 0.8))
    assert warm.classes["mm"].flops_per_s == pytest.approx(0.8 * (cold.classes["mm"].flops_per_s or 0))
    assert warm.classes["ew"] == cold.classes["ew"]
