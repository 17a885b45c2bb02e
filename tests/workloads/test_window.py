"""What a convolution's window and strides leave in its row."""

from __future__ import annotations

import pytest

from planner.workloads.window import common_stride, shorter_side


@pytest.mark.parametrize(("window", "side"), [((3, 3), 3), ((1, 7), 1), ((25,), 1), ((3, 3, 3), 3)])
def test_the_shorter_side(window: tuple[int, ...], side: int) -> None:
    assert shorter_side(window) == side


@pytest.mark.parametrize(("strides", "stride"), [((1, 1), 1), ((2, 2), 2), ((2,), 1.41), ((2, 1), 1.41), ((4, 4), 4)])
def test_one_stride_for_all_sides(strides: tuple[int, ...], stride: float) -> None:
    assert common_stride(strides) == stride
