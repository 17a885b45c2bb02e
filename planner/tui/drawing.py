"""Small pictures made of text cells: bars, interval bars on a log axis, numbers with dim units."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.text import Text

from planner.tui.theme import Palette
from planner.units import Interval

_HOUR, _DAY, _YEAR = 3600.0, 86400.0, 365 * 86400.0
TIME_TICKS_S = (
    *(1.0, 3.0, 10.0, 30.0),
    *(minutes * 60.0 for minutes in (1, 3, 10, 30)),
    *(hours * _HOUR for hours in (1, 2, 4, 10)),
    *(days * _DAY for days in (1, 2, 4, 10, 20, 40, 100)),
    *(years * _YEAR for years in (1, 3, 10, 30, 100, 300, 1000)),
)
MONEY_TICKS_USD = tuple(digit * 10.0**power for power in range(-2, 7) for digit in (1, 2, 5))


class LogAxis(NamedTuple):
    """A logarithmic axis from ``low`` to ``high`` (both > 0)."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """0 at the low end, 1 at the high one; clamped."""
        if value <= 0:
            return 0.0
        position = math.log(value / self.low) / math.log(self.high / self.low)
        return min(max(position, 0.0), 1.0)

    def cell(self, value: float, cells: int) -> int:
        return round(self.at(value) * (cells - 1))

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def close_axis(values: Sequence[float]) -> LogAxis:
    """An axis that holds all finite ``values`` with a little air at both ends, and spans a factor of three at least."""
    known = [value for value in values if value < math.inf] or [1.0]
    low, high = min(known) / 1.15, max(known) * 1.15
    spread = max(3.0 / (high / low), 1.0) ** 0.5
    return LogAxis(low / spread, high * spread)


def axis_around(values: Iterable[float], ticks: Sequence[float]) -> LogAxis:
    """The least axis from tick to tick that holds all finite ``values`` (a run may never end); two ticks at least."""
    known = [value for value in values if 0 < value < math.inf]
    smallest, largest = min(known, default=ticks[len(ticks) // 3]), max(known, default=ticks[len(ticks) // 2])
    low = max((tick for tick in ticks if tick <= smallest), default=smallest)
    high = min((tick for tick in ticks if tick >= largest), default=largest)
    if high <= low:
        high = low * 10
    return LogAxis(low, high)


class EvenAxis(NamedTuple):
    """A linear axis from 0: labels, ``step`` apart, stand on whole rows, ``rows`` apart; ``top`` is the last row."""

    step: float
    rows: int
    top: float


def even_axis(highest: float, rows: int, least: int = 2) -> EvenAxis:
    """The axis over ``rows`` rows (2 ``least`` or more) that holds ``highest`` (> 0) with the least air over it.

    Steps are 1, 2, 2.5 and 5 times powers of ten, ``least`` rows apart or more; four labels, or as many as have room.
    """
    power = 10.0 ** math.floor(math.log10(highest))
    found = []
    labels = min(4, (rows - 1) // least + 1)
    for step in (digit * power * scale for scale in (0.1, 1, 10) for digit in (1, 2, 2.5, 5)):
        between = math.floor((rows - 1) * step / highest * (1 + 1e-9))
        if least <= between <= rows - 1:
            found.append(EvenAxis(step, between, (rows - 1) * step / between))
    return min(found, key=lambda axis: ((rows - 1) // axis.rows + 1 < labels, axis.top))


def bar(share: float, cells: int, color: str, track: str) -> Text:
    """A thin bar over its track, in half-cell steps; ``share`` is clamped to 0..1."""
    halves = round(min(max(share, 0.0), 1.0) * cells * 2)
    full, half = divmod(halves, 2)
    text = Text("━" * full + "╸" * half, style=color)
    return text.append("─" * (cells - full - half), style=track)


def interval_bar(
    interval: Interval, axis: LogAxis, cells: int, color: str, track: str, mark: float | None, mark_color: str
) -> Text:
    """``━`` from P10 to P90, ``●`` at P50, ``┊`` at ``mark``; an end beyond the axis shows an arrow."""
    left, middle, right = (axis.cell(value, cells) for value in interval)
    glyphs = [("─", track)] * cells
    if mark is not None and axis.holds(mark):
        glyphs[axis.cell(mark, cells)] = ("┊", mark_color)
    for index in range(left, right + 1):
        glyphs[index] = ("━", color)
    glyphs[middle] = ("●", color)
    if interval.p50 > axis.high:
        glyphs[-1] = ("›", color)
    elif interval.p50 < axis.low:
        glyphs[0] = ("‹", color)
    return Text.assemble(*glyphs)


def stacked_bar(parts: Sequence[tuple[float, str]], cells: int) -> Text:
    """One row of full blocks, shared out by the parts' amounts; a part that is more than nothing has a cell."""
    total = sum(amount for amount, _ in parts)
    text = Text()
    if total <= 0:
        return text
    edges, covered = 0, 0.0
    for amount, color in parts:
        covered += amount
        edge = round(covered / total * cells)
        if amount > 0 and edge == edges and edge < cells and amount / total > 0.002:
            edge += 1
        text.append("█" * max(edge - edges, 0), style=color)
        edges = max(edges, edge)
    return text


def fitted(text: str, width: int) -> str:
    """``text`` in ``width`` cells, with an ellipsis where it was longer."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def fact(label: str, value: str, note: str, cells: int, width: int, palette: Palette) -> Text:
    """'CPU    AMD EPYC   taken as AMD Zen 4': the label in ``cells``; what has no room goes on under the value."""
    first, *more = textwrap.wrap(value, max(width - cells, 8)) or [""]
    text = Text(f"{label:<{cells}}", style=palette.dim).append(first, style=palette.text)
    for line in more:
        text.append(f"\n{'':<{cells}}{line}", style=palette.text)
    if note and not more and cells + len(first) + 3 + len(note) <= width:
        return text.append(f"   {note}", style=palette.faint)
    for line in textwrap.wrap(note, max(width - cells, 8)):
        text.append(f"\n{'':<{cells}}{line}", style=palette.faint)
    return text


def both_ends(left: Text, right: Text, width: int) -> Text:
    """One line with ``right`` at its right edge; ``right`` goes where both have no room."""
    gap = width - left.cell_len - right.cell_len
    if gap < 1:
        left = left.copy()
        left.truncate(width, overflow="ellipsis")
        return left
    return left.copy().append(" " * gap).append_text(right)


_STEPS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], cells: int) -> str:
    """The last ``cells`` values as columns from the least to the greatest of them, wider where they are few."""
    shown = [value for value in values[-cells:] for _ in range(max(cells // max(len(values), 1), 1))]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    if low == high:
        return _STEPS[3] * len(shown)
    return "".join(_STEPS[round((value - low) / (high - low) * (len(_STEPS) - 1))] for value in shown)
