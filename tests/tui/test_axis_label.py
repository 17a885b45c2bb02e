"""The header of the interval column: the ends of its time axis."""

from __future__ import annotations

import pytest

from planner.plan.search import Limits
from planner.tui.drawing import TIME_TICKS_S, LogAxis, axis_around
from planner.tui.theme import DARK
from planner.tui.widgets.columns import View
from planner.tui.widgets.plan_table import axis_label
from tests.tui.samples import NOW

DAY = 86400.0


def label(low: float, high: float, width: int) -> str:
    return axis_label(View(DARK, NOW, Limits(), LogAxis(low, high), None), width)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (3600, 4 * DAY, "1h    4d"),
        (1.64171, 1800, "1.6s 30m"),
        (100 * DAY, 3 * 365 * DAY, "100d  3y"),
        (DAY, 36500 * DAY, "1d  100y"),
        (0.05, 1e12, ""),
    ],
)
def test_its_ends_are_round_and_never_touch(low: float, high: float, words: str) -> None:
    assert label(low, high, 8) == words


def test_short_and_long_runs_have_round_ends_too() -> None:
    assert label(*axis_around([1.64171, 1500], TIME_TICKS_S), 8) == "1s   30m"
    assert label(*axis_around([150 * DAY, 900 * DAY], TIME_TICKS_S), 8) == "100d  3y"
