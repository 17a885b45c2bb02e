"""Clock times and ages as a person says them, seen from now."""

from __future__ import annotations

from datetime import date, datetime

from planner.units import UNKNOWN

_CLOSE_DAYS = 6
"""Days within which a weekday says which day is meant."""


def typed_moment(when: datetime, now: datetime) -> str:
    """The deadline as it stands in the form: 'Tue 08:00', later '2026-12-24 08:00'."""
    return f"{when:%a %H:%M}" if (when - now).days < _CLOSE_DAYS else f"{when:%Y-%m-%d %H:%M}"


def moment(when: datetime | None, now: datetime) -> str:
    """'Tue 08:00' within six days, '12 Dec', from next year on 'Dec 2027'; unknown is '–'."""
    if when is None:
        return UNKNOWN
    days = (when - now).total_seconds() / 86400
    if days < _CLOSE_DAYS:
        return f"{when:%a %H:%M}"
    return f"{when.day} {when:%b}" if days < 300 else f"{when:%b %Y}"


def day(text: str | None) -> str:
    """'2026-11-28' as '28 Nov'; unknown is '–'."""
    if not text:
        return UNKNOWN
    when = date.fromisoformat(text)
    return f"{when.day} {when:%b}"


def age(days: int) -> str:
    """'today', '1 day', '312 days'."""
    return "today" if days <= 0 else "1 day" if days == 1 else f"{days:,} days"
