"""Merging operations keeps every sum that an efficiency model could read, row class by row class."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.workloads.compaction import StepPair, compacted, line_through, memory_of, operations_of
from planner.workloads.window import few_channels
from planner.workloads.workload import Linear, Operation

BATCHES = (4, 8)


class Step(NamedTuple):
    rows: list[tuple[str, str, int, float, int, int, float, float, float]]
    peak_live_bytes: float = 0.0
    saved_bytes: float = 0.0


def _row(op_class: str, flops: float, moved: float, *, width: float = 0.0, groups: int = 0) -> tuple[object, ...]:
    return (op_class, "forward", 2, width, groups, 0, flops, moved, 1.0)


def _pair(*rows: tuple[tuple[object, ...], tuple[object, ...]]) -> StepPair:
    first, second = zip(*rows, strict=True)
    return StepPair(BATCHES, Step(list(first)), Step(list(second)))


def test_two_batch_sizes_give_the_line() -> None:
    assert line_through(14.0, 22.0, BATCHES) == Linear(6.0, 2.0)
    assert line_through(14.0, 22.0, BATCHES).at(100) == 206.0


def test_operations_become_linear_in_the_batch() -> None:
    (operation,) = operations_of(_pair((_row("mm", 400.0, 140.0), _row("mm", 800.0, 180.0))))
    assert operation.flops == Linear(0.0, 100.0)
    assert operation.bytes == Linear(100.0, 10.0)


def test_strides_stay_apart() -> None:
    """Two strided convolutions of three merge; that of a trace without strides is one of stride 1."""
    rows = [(*_row("conv", 900.0, 100.0), 2), (*_row("conv", 900.0, 100.0), 2), _row("conv", 900.0, 100.0)]
    merged = compacted(operations_of(StepPair(BATCHES, Step(rows), Step(rows))))  # type: ignore[arg-type]
    assert [(op.stride, op.kernels, op.flops.fixed) for op in merged] == [(1, 1.0, 900.0), (2, 2.0, 1800.0)]


def test_a_graph_that_changes_with_the_batch_is_refused() -> None:
    row = _row("mm", 1.0, 1.0)
    with pytest.raises(ValueError, match="1 operations at batch 4 and 2 at 8"):
        operations_of(StepPair(BATCHES, Step([row]), Step([row, row])))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="class mm became ew"):
        operations_of(_pair((row, _row("ew", 0.0, 1.0))))


def test_memory_is_a_line_too() -> None:
    pair = StepPair(BATCHES, Step([], 1000.0, 500.0), Step([], 1400.0, 700.0))
    memory = memory_of(pair)
    assert memory.live_bytes == Linear(600.0, 100.0)
    assert memory.saved_bytes == Linear(300.0, 50.0)


classes = st.sampled_from(["conv", "conv1_dg", "gconv_wg", "dw", "mm", "bmm", "sdpa", "bn", "ew", "copy", "cast"])
counts = st.integers(0, 10**12).map(float)


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    return Operation(
        draw(classes),
        draw(st.sampled_from(["forward", "backward"])),
        draw(st.sampled_from([2, 4])),
        draw(st.sampled_from([0.0, 16.0])),
        draw(st.sampled_from([0, 32])),
        draw(st.sampled_from([0, 3, 7])),
        Linear(draw(counts), draw(counts)),
        Linear(draw(counts), draw(counts)),
        draw(st.integers(1, 5)),
    )


def _sums(rows: list[Operation]) -> dict[tuple[str, str, int], list[float]]:
    sums: dict[tuple[str, str, int], list[float]] = defaultdict(lambda: [0.0] * 5)
    for op in rows:
        for index, value in enumerate((*op.flops, *op.bytes, op.kernels)):
            sums[op.op_class, op.phase, op.element_bytes][index] += value
    return sums


@given(st.lists(operations(), max_size=40))
def test_sums_by_class_phase_and_element_size_are_kept(rows: list[Operation]) -> None:
    merged = compacted(rows)
    assert len(merged) <= len(rows)
    before, after = _sums(rows), _sums(merged)
    assert before.keys() == after.keys()
    for key, values in before.items():
        assert after[key] == pytest.approx(values, rel=1e-9)


@given(st.lists(operations(), max_size=40))
def test_order_does_not_matter(rows: list[Operation]) -> None:
    forwards, backwards = compacted(rows), compacted(reversed(rows))
    assert [op[:6] for op in forwards] == [op[:6] for op in backwards]


def _operation(op_class: str, flops: float, moved: float, width: float = 0.0) -> Operation:
    return Operation(op_class, "forward", 2, width, 0, 0, Linear(0.0, flops), Linear(0.0, moved), 1)


def test_memory_classes_merge_whatever_their_size() -> None:
    assert len(compacted([_operation("ew", 0.0, 1.0), _operation("ew", 0.0, 1e9)])) == 1


def test_matrix_classes_merge_only_within_a_half_octave_of_intensity() -> None:
    near = [_operation("mm", 100.0, 1.0), _operation("mm", 210.0, 2.0)]
    far = [_operation("mm", 100.0, 1.0), _operation("mm", 400.0, 2.0)]
    assert len(compacted(near)) == 1
    assert len(compacted(far)) == 2


def test_the_shape_key_keeps_group_widths_apart() -> None:
    assert len(compacted([_operation("gconv", 100.0, 1.0, 8.0), _operation("gconv", 100.0, 1.0, 16.0)])) == 2


@pytest.mark.parametrize(("into", "out", "few"), [(3, 64, 3), (64, 1, 1), (8, 64, 0), (256, 12, 0)])
def test_channels_are_kept_where_a_matrix_engine_fills_them_up(into: int, out: int, few: int) -> None:
    assert few_channels(into, out) == few
