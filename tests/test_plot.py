"""Lines in characters: where they run, what is marked, what does not fit."""

from __future__ import annotations

import math

from planner.plot import Line, Point, plot


def _drawn(*lines: Line, points: tuple[Point, ...] = ()) -> list[str]:
    return plot(lines, points, 10.0, lambda y: f"{y:.0f}", "months", width=21, height=5)


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    rows = [line.split("┤")[1] for line in _drawn(Line("up", "x", lambda x: x))[:5]]
    assert rows[4].startswith("x")
    assert rows[0].rstrip().endswith("x")
    assert rows[0].index("x") > rows[2].index("x") > rows[4].index("x")


def test_axes_name_their_ends_and_lines_their_marks() -> None:
    text = _drawn(Line("flat", "o", lambda x: 4.0))
    assert text[0].startswith("4 ┤o")
    assert text[4].startswith("0 ┤")
    assert text[6].split() == ["0", "5", "10", "months"]
    assert text[7].strip() == "o flat"


def test_what_is_not_a_number_is_not_drawn() -> None:
    text = _drawn(Line("half", "x", lambda x: x if x <= 5 else math.nan))
    assert max(len(line.split("┤")[1].rstrip()) for line in text[:5]) <= 12


def test_points_are_marked_and_named() -> None:
    text = _drawn(Line("up", "x", lambda x: x), points=(Point(5.0, 5.0), Point(50.0, 50.0)))
    assert sum(line.count("◆") for line in text[:5]) == 1
    assert text[-1].endswith("◆ break-even")
