"""SI units inside; parse and format them where text is read or shown. Also the interval every estimate carries."""

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from planner.errors import InputError

GIB = float(1 << 30)
SECONDS_PER_HOUR = 3600.0
UNKNOWN = "–"

MoneyFormat = Callable[[float | None], str]
"""Writes USD for people, in whatever currency they read."""

_DURATION_UNITS = {
    unit: seconds
    for seconds, spellings in (
        (1.0, "s sec secs second seconds"),
        (60.0, "m min mins minute minutes"),
        (3600.0, "h hr hrs hour hours"),
        (86400.0, "d day days"),
        (604800.0, "w week weeks"),
        (365.25 * 86400.0, "y year years"),
    )
    for unit in spellings.split()
}
_DURATION_PART = re.compile(
    r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)\s*(?P<unit>[a-z]+)(?P<minutes>(?<=\dh)[0-5]\d(?=\s*$))?"
)
_COUNT_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_COUNT = re.compile(r"(\d+(?:[_,]\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmbgt]?)", re.IGNORECASE)


class Interval(NamedTuple):
    """P10, P50 and P90 of one quantity, each the quantity's own percentile."""

    p10: float
    p50: float
    p90: float

    def scaled(self, factor: float) -> "Interval":
        return Interval(self.p10 * factor, self.p50 * factor, self.p90 * factor)

    def shifted(self, offset: float) -> "Interval":
        return Interval(self.p10 + offset, self.p50 + offset, self.p90 + offset)

    def inverse(self, numerator: float) -> "Interval":
        """The interval of ``numerator / x``: a slow time is a low rate, so the ends swap."""
        return Interval(numerator / self.p90, numerator / self.p50, numerator / self.p10)


def parse_duration(text: str) -> float:
    """Seconds in '90s', '45m', '2h15', '2d12h', '1 day', and all that ``format_duration`` writes. Raises InputError."""
    compact = text.strip().lower()
    parts = list(_DURATION_PART.finditer(compact))
    if not parts or _DURATION_PART.sub("", compact).strip() or any(one["unit"] not in _DURATION_UNITS for one in parts):
        raise InputError(f"cannot read the duration {text!r}; write it as 90s, 45m, 2h15, 12h or 2d12h")
    seconds = math.fsum(
        float(one["number"].replace(",", "")) * _DURATION_UNITS[one["unit"]] + 60 * int(one["minutes"] or 0)
        for one in parts
    )
    if not 0 < seconds < math.inf:
        raise InputError(f"the duration {text!r} must be greater than zero")
    return seconds


def parse_count(text: str, what: str = "number") -> float:
    """A positive count such as '1281167', '1_000_000', '300M', '1.3B', '15T'. Raises InputError."""
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        raise InputError(f"cannot read {what} {text!r}; write a positive number such as 1000, 50k, 300M or 1.3B")
    value = float(match[1].replace("_", "").replace(",", "")) * _COUNT_SUFFIXES[match[2].lower()]
    if not 0 < value < 1e18:
        raise InputError(f"{what} must be greater than 0 and below 1e18, not {text!r}")
    return value


def format_duration(seconds: float | None) -> str:
    """'45s', '52m', '22h00', from 48 h on '2d03h', from 100 days on '120d'; unknown is '–'."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 99.5:
        return f"{seconds:.0f}s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes}m"
    if minutes < 48 * 60:
        return f"{minutes // 60}h{minutes % 60:02d}"
    hours = round(seconds / 3600)
    if hours < 100 * 24:
        return f"{hours // 24}d{hours % 24:02d}h"
    days = seconds / 86400
    return f"{days:,.0f}d" if days < 1000 else f"{days / 365.25:,.0f}y"


def format_span(interval: Interval, show: Callable[[float], str]) -> str:
    """'9h13–12h39', P10 to P90 as ``show`` writes them; 'from 9h13' where nobody can say how high it goes."""
    if not math.isfinite(interval.p90):
        return f"from {show(interval.p10)}"
    return f"{show(interval.p10)}–{show(interval.p90)}"


def format_money(usd: float | None) -> str:
    """'$6.82', from $1,000 on without cents; unknown is '–'."""
    if usd is None or not math.isfinite(usd):
        return UNKNOWN
    return f"${usd:,.2f}" if abs(usd) < 1000 else f"${usd:,.0f}"


def format_rate(per_second: float | None) -> str:
    """'1,480', '12.3', '0.042' without unit; unknown is '–'."""
    if per_second is None or not math.isfinite(per_second):
        return UNKNOWN
    if per_second >= 100:
        return f"{per_second:,.0f}"
    return f"{per_second:.1f}" if per_second >= 1 else f"{per_second:.2g}"


def format_bytes(count: float | None) -> str:
    """GiB with one decimal, TiB above 1,024; MiB and KiB below 1, two digits at least; unknown is '–'."""
    if count is None:
        return UNKNOWN
    gib = count / GIB
    if gib >= 1024:
        return f"{gib / 1024:.1f} TiB"
    for unit in ("GiB", "MiB"):
        if round(gib, 1) >= 1:
            return f"{gib:.1f} {unit}" if unit == "GiB" or gib < 9.95 else f"{gib:.0f} {unit}"
        gib *= 1024
    return f"{gib:.0f} KiB" if gib else "0 GiB"


def format_count(count: float | None) -> str:
    """'25.6M', '8.03B'; unknown is '–'."""
    if count is None:
        return UNKNOWN
    for size, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{suffix}"
    return f"{count:.0f}"


def counted(number: int, noun: str) -> str:
    """'1 row', '6,436 rows': a number before a noun that takes an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
