"""Deadlines as people write them, and the probability to meet a limit."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.plan.deadline import parse_deadline
from planner.plan.probability import p_below
from planner.plan.relax import limit_met
from planner.units import Interval

MONDAY_10 = datetime(2026, 11, 30, 10, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("12h", "2026-11-30T22:00:00+01:00"),
        ("2d12h", "2026-12-02T22:00:00+01:00"),
        ("2026-12-24 09:00", "2026-12-24T09:00:00+01:00"),
        ("2026-12-24T09:00:00+00:00", "2026-12-24T09:00:00+00:00"),
        ("tomorrow 09:00", "2026-12-01T09:00:00+01:00"),
        ("tomorrow", "2026-12-01T23:59:00+01:00"),
        ("today 18:30", "2026-11-30T18:30:00+01:00"),
        ("Tue 18:00", "2026-12-01T18:00:00+01:00"),
        ("monday 09:00", "2026-12-07T09:00:00+01:00"),
        ("17:00", "2026-11-30T17:00:00+01:00"),
        ("09:30", "2026-12-01T09:30:00+01:00"),
        ("mon 11:00", "2026-11-30T11:00:00+01:00"),
        ("9:30", "2026-12-01T09:30:00+01:00"),
        ("tomorrow 9:00", "2026-12-01T09:00:00+01:00"),
        ("2026-12-24 9:00", "2026-12-24T09:00:00+01:00"),
        ("2026-12-24T9:00+01:00", "2026-12-24T09:00:00+01:00"),
        ("9am", "2026-12-01T09:00:00+01:00"),
        ("Tue 5:30 pm", "2026-12-01T17:30:00+01:00"),
        ("Thurs. 9:00", "2026-12-03T09:00:00+01:00"),
        ("Wednesday, 9:00", "2026-12-02T09:00:00+01:00"),
        ("today 12 P.M.", "2026-11-30T12:00:00+01:00"),
        ("tomorrow 12am", "2026-12-01T00:00:00+01:00"),
    ],
)
def test_deadlines(text: str, when: str) -> None:
    assert parse_deadline(text, MONDAY_10) == datetime.fromisoformat(when)


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "9:60", "13pm", "2026-13-01", "tomorrow at nine", "xyz 09:00", "Monkey 09:00"]
)
def test_a_deadline_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match="cannot read the deadline"):
        parse_deadline(text, MONDAY_10)


@pytest.mark.parametrize("text", ["2020-01-01", "today 09:00"])
def test_a_deadline_in_the_past(text: str) -> None:
    with pytest.raises(InputError, match="in the past"):
        parse_deadline(text, MONDAY_10)


def test_the_three_quantiles_are_met_with_their_own_probability() -> None:
    time = Interval(80, 100, 150)
    for limit, probability in ((80, 0.1), (100, 0.5), (150, 0.9)):
        assert p_below(time, limit) == pytest.approx(probability)


def test_certain_cases() -> None:
    assert p_below(Interval(1, 2, 3), 0) == 0
    assert p_below(Interval(0, 0, 0), 1) == 1
    assert p_below(Interval(0, 0, 44), 44) == pytest.approx(0.9)
    assert p_below(Interval(0, 0, 44), 10) == pytest.approx(0.6146, abs=1e-4)  # 10 / 44 of 1.2816 deviations
    assert limit_met(Interval(0, 0, 44), 0.9) == pytest.approx(44)
    assert p_below(Interval(2, 2, 2), 3) == 1
    assert p_below(Interval(2, 2, 2), 1) == 0


@given(st.floats(0.1, 1e5), st.floats(1.01, 4), st.floats(1.01, 4), st.floats(0.01, 1e6), st.floats(1.0, 10))
def test_a_later_deadline_is_never_less_likely_met(
    p50: float, down: float, up: float, limit: float, more: float
) -> None:
    time = Interval(p50 / down, p50, p50 * up)
    assert 0 <= p_below(time, limit) <= p_below(time, limit * more) <= 1
