"""Small pictures made of text: never wider than asked, and true to their numbers."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from planner.tui.drawing import (
    TIME_TICKS_S,
    LogAxis,
    axis_around,
    bar,
    both_ends,
    close_axis,
    even_axis,
    fact,
    fitted,
    interval_bar,
    stacked_bar,
)
from planner.tui.theme import DARK
from planner.units import Interval

AMOUNTS = st.floats(1e-3, 1e9)


@given(st.floats(-1, 2), st.integers(1, 60))
def test_a_bar_fills_its_cells(share: float, cells: int) -> None:
    assert bar(share, cells, "red", "blue").cell_len == cells


def test_a_bar_has_half_cells() -> None:
    assert bar(0.5, 5, "red", "blue").plain == "━━╸──"


@given(st.lists(AMOUNTS, min_size=1, max_size=9), st.integers(4, 80))
def test_stacked_parts_fill_the_line(amounts: list[float], cells: int) -> None:
    assert stacked_bar([(amount, "red") for amount in amounts], cells).cell_len == cells


def test_nothing_to_stack_is_nothing() -> None:
    assert stacked_bar([(0.0, "red")], 10).plain == ""


@given(st.lists(AMOUNTS, min_size=1), AMOUNTS)
def test_axes_hold_their_values_and_clamp_the_others(values: list[float], other: float) -> None:
    axis = close_axis(values)
    assert all(axis.holds(value) for value in values)
    assert 0 <= axis.cell(other, 20) <= 19
    assert axis.at(0) == 0


def test_an_axis_goes_from_tick_to_tick() -> None:
    assert axis_around([4000, 80_000], TIME_TICKS_S) == LogAxis(3600, 86400)
    assert axis_around([3600], TIME_TICKS_S) == LogAxis(3600, 36000)


def test_a_run_that_may_never_end_is_drawn_to_the_end_of_the_axis() -> None:
    axis = axis_around([4000, 80_000, math.inf], TIME_TICKS_S)
    assert axis == LogAxis(3600, 86400)
    assert interval_bar(Interval(4000, 80_000, math.inf), axis, 5, "red", "blue", None, "white").plain == "━━━━●"
    assert interval_bar(Interval(math.inf, math.inf, math.inf), axis, 5, "red", "blue", None, "white").plain == "────›"
    assert close_axis([1e4, math.inf]) == close_axis([1e4])
    assert close_axis([math.inf]).high < math.inf


def test_an_interval_shows_its_ends_its_middle_and_the_mark() -> None:
    axis = LogAxis(1, 1000)
    drawn = interval_bar(Interval(1, 10, 100), axis, 10, "red", "blue", 1000, "amber")
    assert drawn.plain == "━━━●━━━──┊"


def test_an_interval_beyond_the_axis_is_an_arrow() -> None:
    axis = LogAxis(10, 100)
    assert interval_bar(Interval(200, 300, 400), axis, 5, "red", "blue", None, "").plain.endswith("›")
    assert interval_bar(Interval(1, 2, 3), axis, 5, "red", "blue", None, "").plain.startswith("‹")


def test_texts_are_fitted() -> None:
    assert fitted("abcdef", 4) == "abc…"
    assert fitted("abc", 4) == "abc"
    assert both_ends(Text("ab"), Text("yz"), 8).plain == "ab    yz"
    assert both_ends(Text("abcdef"), Text("yz"), 5).plain == "abcd…"


@given(st.floats(1e-2, 1e9), st.integers(5, 60))
def test_an_even_axis_has_its_labels_on_whole_rows_and_holds_what_is_drawn(highest: float, rows: int) -> None:
    axis = even_axis(highest, rows)
    assert 2 <= axis.rows <= rows - 1
    assert axis.top * (1 + 1e-6) >= highest
    assert math.isclose(axis.top / axis.step * axis.rows, rows - 1)
    assert float(f"{axis.step:e}".partition("e")[0]) in (1, 2, 2.5, 5)


def test_an_even_axis_leaves_little_air() -> None:
    assert even_axis(4585, 17) == (1000, 3, 16000 / 3)
    assert even_axis(6570, 38) == (2000, 11, 2000 / 11 * 37)
    assert even_axis(6570, 5) == (5000, 3, 5000 / 3 * 4)


def test_a_fact_goes_on_under_its_value() -> None:
    assert fact("CPU", "AMD EPYC", "taken as Zen 4", 6, 40, DARK).plain == "CPU   AMD EPYC   taken as Zen 4"
    assert fact("CPU", "AMD EPYC", "taken as Zen 4", 6, 20, DARK).plain == "CPU   AMD EPYC\n      taken as Zen 4"
    assert fact("mind", "it is what they leave", "", 6, 20, DARK).plain == "mind  it is what\n      they leave"
    assert fact("link", "", "", 6, 20, DARK).plain == "link  "
