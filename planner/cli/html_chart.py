"""Cost over time as inline SVG on log axes: the digits are the table's ranks, the line is the Pareto front."""

import math
import statistics
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from planner.cli.marks import cost_words
from planner.cli.money import Currency
from planner.plan.plan import Estimate
from planner.plan.words import machine_name
from planner.units import format_duration

TIME_TICKS_S = (
    60,
    300,
    900,
    3600,
    3 * 3600,
    8 * 3600,
    86400,
    3 * 86400,
    7 * 86400,
    30 * 86400,
    120 * 86400,
    365 * 86400,
)
_MARGIN = 1.25
"""The axes go that factor beyond the outermost points."""

_FAR = 60
"""Rows that take that many times the median row's time are named instead of drawn."""


class Box(NamedTuple):
    """The drawing's size and the room around its plot, in SVG units; ``radius`` is a point's."""

    width: int
    height: int
    left: int = 62
    right: int = 14
    top: int = 12
    bottom: int = 40
    radius: int = 10


WIDE = Box(900, 380)
NARROW = Box(360, 340, left=58, radius=11)


class _Axis(NamedTuple):
    """A log axis from ``low`` to ``high`` on SVG units ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def chart_svg(rows: Sequence[Estimate], currency: Currency, box: Box, name: str) -> str:
    """The chart of the rows that have a time and a cost above zero; "" where there are none. ``name`` is its class."""
    points = [row for row in rows if time_of(row) > 0 and _usd(row) > 0]
    if not points:
        return ""
    across = _axis([time_of(row) for row in points], box.left, box.width - box.right)
    up = _axis([_usd(row) for row in points], box.height - box.bottom, box.top)
    parts = [
        f'<svg class="chart {name}" viewBox="0 0 {box.width} {box.height}" role="img" aria-label="Cost over time">',
        *_grid(across, up, currency, box),
        *_front(points, across, up),
        *(_point(row, across, up, currency, box.radius) for row in reversed(points)),
        "</svg>",
    ]
    return "\n".join(parts)


def time_of(row: Estimate) -> float:
    return row.time_s.p50 if row.time_s else 0.0


def near_and_far(rows: Sequence[Estimate]) -> tuple[list[Estimate], list[Estimate]]:
    """The rows to draw, and those so slow that the others would shrink to one spot beside them."""
    times = [time_of(row) for row in rows if time_of(row) > 0]
    limit = _FAR * statistics.median(times) if times else 0.0
    return [row for row in rows if time_of(row) <= limit], [row for row in rows if time_of(row) > limit]


def _usd(row: Estimate) -> float:
    return row.cost_usd.p50 if row.cost_usd else 0.0


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    return _Axis(min(values) / _MARGIN, max(values) * _MARGIN, start, end)


def _grid(across: _Axis, up: _Axis, currency: Currency, box: Box) -> list[str]:
    least = 64 if box.width > 500 else 52
    lines = []
    for tick in _apart(TIME_TICKS_S, across, least):
        x = across.at(tick)
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{box.top}" y2="{box.height - box.bottom}"/>')
        lines.append(_label(x, box.height - box.bottom + 18, "middle", _duration_words(tick)))
    for usd in _apart(_money_ticks(up), up, 26):
        y = up.at(usd)
        lines.append(f'<line class="grid" y1="{y:.1f}" y2="{y:.1f}" x1="{box.left}" x2="{box.width - box.right}"/>')
        lines.append(_label(box.left - 8, y + 4, "end", currency.show(usd).replace(".00", "")))
    lines.append(_label(box.width - box.right, box.height - 4, "end", "time, log scale"))
    return lines


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _duration_words(seconds: float) -> str:
    """'15 min', '8 h', '3 days': round numbers need no clock form."""
    for size, word in ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:g} {word}"
    return f"{seconds:g} s"


def _money_ticks(axis: _Axis) -> list[float]:
    first = math.floor(math.log10(axis.low))
    decades = range(first, math.ceil(math.log10(axis.high)) + 1)
    return [digit * 10.0**power for power in decades for digit in (1, 2, 5)]


def _apart(ticks: Sequence[float], axis: _Axis, least: float) -> list[float]:
    """The ticks within the axis, at least that many units from each other."""
    kept: list[float] = []
    for tick in ticks:
        inside = axis.low <= tick <= axis.high
        if inside and (not kept or abs(axis.at(tick) - axis.at(kept[-1])) >= least):
            kept.append(tick)
    return kept


def _front(points: Sequence[Estimate], across: _Axis, up: _Axis) -> list[str]:
    """The steps of the front of the points drawn: what no other of them beats in both time and cost."""
    corners: list[tuple[float, float]] = []
    for row in sorted(points, key=lambda row: (time_of(row), _usd(row))):
        if not corners or _usd(row) < corners[-1][1]:
            corners.append((time_of(row), _usd(row)))
    if len(corners) < 2:
        return []
    xy: Callable[[float, float], str] = lambda time_s, usd: f"{across.at(time_s):.1f},{up.at(usd):.1f}"  # noqa: E731
    steps = [xy(*corners[0])]
    for (_, usd), (time_s, next_usd) in pairwise(corners):
        steps += [xy(time_s, usd), xy(time_s, next_usd)]
    return [f'<polyline class="front" points="{" ".join(steps)}"/>']


def _point(row: Estimate, across: _Axis, up: _Axis, currency: Currency, radius: int) -> str:
    x, y = across.at(time_of(row)), up.at(_usd(row))
    words = f"{row.rank}: {machine_name(row)}, {format_duration(time_of(row))}, {cost_words(row, currency)}"
    size = 12 if len(str(row.rank)) < 3 else 9
    return (
        f'<g class="{row.place}"><title>{escape(words)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
        f'<text class="rank" x="{x:.1f}" y="{y + size / 3:.1f}" font-size="{size}">{row.rank}</text></g>'
    )
