"""Deadlines as people say them: '12h', '2026-12-24 09:00', 'tomorrow 09:00', 'Tue 18:00'."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from planner.errors import InputError
from planner.units import parse_duration

FORMS = "12h, 2d12h, 17:00, '2026-12-24 09:00', 'tomorrow 09:00' or 'Tue 18:00'"
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def parse_deadline(text: str, now: datetime) -> datetime:
    """The moment ``text`` means, in the zone of ``now``; a bare clock time is the next one.

    Raises InputError where it cannot be read or is past.
    """
    moment = _moment(text.strip(), now)
    if moment is None:
        raise InputError(f"cannot read the deadline {text!r}; write {FORMS}")
    if moment <= now:
        raise InputError(f"the deadline {text!r} ({moment:%Y-%m-%d %H:%M}) is in the past")
    return moment


def _moment(text: str, now: datetime) -> datetime | None:
    try:
        return now + timedelta(seconds=parse_duration(text))
    except (InputError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _day_and_clock(text, now)
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


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
        if day[:3] not in _WEEKDAYS:
            return None
        days = (_WEEKDAYS.index(day[:3]) - now.weekday()) % 7
        if days == 0 and at <= now.timetz().replace(tzinfo=None):
            days = 7
    return datetime.combine(now.date() + timedelta(days=days), at, tzinfo=now.tzinfo)
