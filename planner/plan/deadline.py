"""Deadlines as people say them: '12h', '2026-12-24 09:00', 'tomorrow 09:00', 'Tue 18:00'."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from planner.errors import InputError
from planner.units import parse_duration

FORMS = "12h, 2h15, 2d12h, 17:00, '2026-12-24 09:00', 'tomorrow 09:00' or 'Tue 18:00'"
_TWELVE = re.compile(r"\b(?P<hour>0?[1-9]|1[0-2])(?::(?P<minute>[0-5]\d))?\s*(?P<half>[ap])\.?m\b\.?", re.IGNORECASE)
_ONE_DIGIT = re.compile(r"(?<![\d:.])(\d:\d\d)")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST_WEEKDAY = 3


def parse_deadline(text: str, now: datetime) -> datetime:
    """The moment ``text`` means, in the zone of ``now``; a bare clock time is the next one.

    Raises InputError where it cannot be read or is past.
    """
    moment = _moment(_in_24_hours(text.strip()), now)
    if moment is None:
        raise InputError(f"cannot read the deadline {text!r}; write {FORMS}")
    return _not_past(moment, now, repr(text))


def as_moment(given: datetime | None, now: datetime) -> datetime | None:
    """The deadline ``given``; one without a zone is by the clock of ``now``. Raises InputError where it is past."""
    if given is None:
        return None
    return _not_past(given if given.tzinfo else _on_the_clock(given, now), now, "given")


def _not_past(moment: datetime, now: datetime, said: str) -> datetime:
    if moment <= now:
        raise InputError(f"the deadline {said} ({moment:%Y-%m-%d %H:%M}) is in the past")
    return moment


def later(now: datetime, seconds: float) -> datetime:
    """``seconds`` after ``now`` on the user's clock, which summer time may have moved by then."""
    moment = now.astimezone(UTC) + timedelta(seconds=seconds)
    return moment.astimezone() if _is_of_this_system(now) else moment.astimezone(now.tzinfo)


def _is_of_this_system(now: datetime) -> bool:
    """Whether ``now`` is in this system's zone, of which it carries only the present offset from UTC."""
    local = now.astimezone()
    return now.utcoffset() == local.utcoffset() and now.tzname() == local.tzname()


def _on_the_clock(naive: datetime, now: datetime) -> datetime:
    """What a clock in the zone of ``now`` shows as ``naive``."""
    return naive.astimezone() if _is_of_this_system(now) else naive.replace(tzinfo=now.tzinfo)


def _in_24_hours(text: str) -> str:
    """'9:00' and '9am' as '09:00', '5:30 pm' as '17:30', whatever stands around them."""

    def clock(found: re.Match[str]) -> str:
        hour = int(found["hour"]) % 12 + (12 if found["half"] in "pP" else 0)
        return f"{hour:02}:{found['minute'] or '00'}"

    return _ONE_DIGIT.sub(r"0\1", _TWELVE.sub(clock, text))


def _moment(text: str, now: datetime) -> datetime | None:
    try:
        return later(now, parse_duration(text))
    except (InputError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _day_and_clock(text, now)
    return moment if moment.tzinfo else _on_the_clock(moment, now)


def _day_and_clock(text: str, now: datetime) -> datetime | None:
    day, _, clock = text.lower().partition(" ")
    if not day:
        return None
    if not clock and ":" in day:
        day, clock = "", day
    try:
        at = time.fromisoformat(clock.strip() or "23:59")
    except ValueError:
        return None
    days = {"today": 0, "tomorrow": 1}.get(day)
    if not day:
        days = 0 if at > now.timetz().replace(tzinfo=None) else 1
    if days is None:
        weekday = _weekday(day.rstrip(".,"))
        if weekday is None:
            return None
        days = (weekday - now.weekday()) % 7
        if days == 0 and at <= now.timetz().replace(tzinfo=None):
            days = 7
    return _on_the_clock(datetime.combine(now.date() + timedelta(days=days), at), now)


def _weekday(word: str) -> int | None:
    """0 of 'mon', 'Monday' and what lies between, None of 'monkey'."""
    if len(word) < _SHORTEST_WEEKDAY:
        return None
    return next((number for number, name in enumerate(_WEEKDAYS) if name.startswith(word)), None)
