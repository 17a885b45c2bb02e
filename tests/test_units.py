"""Durations, counts, money and intervals as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import units
from planner.errors import InputError
from planner.units import Interval


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("45m", 2700),
        ("45min", 2700),
        ("12h", 43200),
        ("2d12h", 216000),
        ("1w", 604800),
        ("1.5h", 5400),
        ("2h15", 8100),
        ("2h15m", 8100),
        ("1d 22h00", 165600),
        ("1 day", 86400),
        ("2 days 3 hours", 183600),
        ("1 Hour 30 Minutes", 5400),
        ("1,000d", 86400000),
    ],
)
def test_parse_duration(text: str, seconds: float) -> None:
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "12", "h", "12 parsecs", "-3h", "0h", "nan", "1h and a bit", "2h5", "2h75"])
def test_a_duration_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match="duration"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1281167", 1281167),
        ("1_281_167", 1281167),
        ("1,281,167", 1281167),
        ("50k", 5e4),
        ("1.3B", 1.3e9),
        ("15T", 15e12),
        ("3e9", 3e9),
    ],
)
def test_parse_count(text: str, value: float) -> None:
    assert units.parse_count(text) == value


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1e30", "ten", "1.3 Q"])
def test_a_count_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_count(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0s"),
        (45, "45s"),
        (3120, "52m"),
        (79200, "22h00"),
        (3600 * 47.9, "47h54"),
        (3600 * 51, "2d03h"),
        (86400 * 120, "120d"),
        (86400 * 2000, "5y"),
        (None, "–"),
        (math.inf, "–"),
    ],
)
def test_format_duration(seconds: float | None, text: str) -> None:
    assert units.format_duration(seconds) == text


@given(st.floats(1, 1e11))
def test_a_duration_as_it_is_shown_can_be_typed(seconds: float) -> None:
    shown = units.format_duration(seconds)
    assert units.format_duration(units.parse_duration(shown)) == shown


@pytest.mark.parametrize(("usd", "text"), [(6.82, "$6.82"), (1234.5, "$1,234"), (0.0, "$0.00"), (None, "–")])
def test_format_money(usd: float | None, text: str) -> None:
    assert units.format_money(usd) == text


def test_other_formats() -> None:
    assert units.format_rate(1480.4) == "1,480"
    assert units.format_rate(12.34) == "12.3"
    assert units.format_rate(0.0421) == "0.042"
    assert units.format_rate(None) == "–"
    assert units.format_bytes(24 * units.GIB) == "24.0 GiB"
    assert units.format_bytes(2048 * units.GIB) == "2.0 TiB"
    assert units.format_bytes(0.5 * units.GIB) == "512 MiB"
    assert units.format_bytes(2.7 * 1024**2) == "2.7 MiB"
    assert units.format_bytes(48 * 1024) == "48 KiB"
    assert units.format_bytes(0) == "0 GiB"
    assert units.format_bytes(None) == "–"
    assert units.format_count(25_557_032) == "25.6M"
    assert units.format_count(8.03e9) == "8.03B"
    assert units.format_count(12) == "12"
    assert units.format_count(None) == "–"


@given(st.floats(0.01, 1e6), st.floats(1.01, 10), st.floats(1.01, 10), st.floats(1, 1e9))
def test_a_slow_time_is_a_low_rate(p50: float, down: float, up: float, samples: float) -> None:
    time = Interval(p50 / down, p50, p50 * up)
    rate = time.inverse(samples)
    assert rate.p10 < rate.p50 < rate.p90
    assert rate.p10 == samples / time.p90
    assert rate.inverse(samples).p50 == pytest.approx(p50)


def test_one_of_a_thing_has_no_s() -> None:
    assert [units.counted(number, "row") for number in (0, 1, 6436)] == ["0 rows", "1 row", "6,436 rows"]
