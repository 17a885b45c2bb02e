"""Cost over time on two log axes: the digits are the table's ranks, the dotted line is the Pareto front."""

import itertools
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rich.text import Text
from textual import events
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.tui.arrange import misses
from planner.tui.clock import moment
from planner.tui.drawing import MONEY_TICKS_USD, TIME_TICKS_S, LogAxis, close_axis
from planner.tui.theme import Palette
from planner.tui.widgets.columns import View
from planner.units import format_duration, format_money

_LABELS = 7
_POINTS = 40
"""Ranks beyond these are not drawn: the chart is about the rows one may choose."""

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


class Point(NamedTuple):
    """A row in the chart. Seconds and USD, at P50."""

    row: Estimate
    time_s: float
    cost_usd: float


class Chart(Static, can_focus=True):
    """Redrawn when its rows, its cursor or its size change."""

    HELP = """\
Cost over time, both on logarithmic axes.

A digit is the rank of a row in the table, coloured by its place; · is a rank above 9, ○ a row that misses a limit.
The dotted line is the Pareto front of the rows shown: nothing is both faster and cheaper.
Amber lines are the deadline and the budget. The row under the cursor is shown reversed."""

    def __init__(self) -> None:
        super().__init__(id="chart", classes="pane empty")
        self.border_title = "Cost over time"
        self.border_subtitle = "digits = rank · line = Pareto front"
        self._rows: Sequence[Estimate] = ()
        self._view: View | None = None
        self._chosen: Estimate | None = None

    def set_rows(self, rows: Sequence[Estimate], view: View) -> None:
        """What to draw at the next ``choose``."""
        self._rows, self._view = rows, view
        self.remove_class("empty")

    def choose(self, row: Estimate | None) -> None:
        """Draw, with the cursor on this row."""
        self._chosen = row
        self._paint()

    def on_resize(self, event: events.Resize) -> None:
        self._paint()

    def _paint(self) -> None:
        size = self.content_size
        if self._view is None or size.width < 20 or size.height < 5:
            return
        self.update(chart_text(self._rows, self._view, self._chosen, size.width, size.height), layout=False)


def chart_text(rows: Sequence[Estimate], view: View, chosen: Estimate | None, width: int, height: int) -> Text:
    """The chart as ``height`` lines of ``width`` cells; a sentence where there is nothing to draw."""
    points = _points(rows, chosen)
    if not points:
        return Text("No row has both a time and a cost.", style=view.palette.dim)
    canvas = _Canvas(width, height, points, view)
    canvas.draw_axes()
    canvas.draw_limits()
    canvas.draw_front(_front(points))
    canvas.draw_points(points, chosen)
    return canvas.text()


def _points(rows: Sequence[Estimate], chosen: Estimate | None) -> list[Point]:
    """The first rows and the cursor's; a row that costs nothing has no place on a log axis."""
    shown = list(rows[:_POINTS])
    if chosen is not None and chosen not in shown:
        shown.append(chosen)
    return [
        Point(row, row.time_s.p50, row.cost_usd.p50)
        for row in shown
        if row.time_s is not None and row.cost_usd is not None and row.time_s.p50 > 0 and row.cost_usd.p50 > 0
    ]


def _front(points: Sequence[Point]) -> list[Point]:
    """The points that none of the others beats in both time and cost, from fast to slow."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.time_s, point.cost_usd)):
        if not front or point.cost_usd < front[-1].cost_usd:
            front.append(point)
    return front


class _Canvas:
    """Cells addressed from the top left; the plot lies right of the money labels and above the time labels."""

    def __init__(self, width: int, height: int, points: Sequence[Point], view: View) -> None:
        self.width, self.height, self.view = width, height, view
        self.palette: Palette = view.palette
        self.columns, self.rows = width - _LABELS - 1, height - 2
        self.time = close_axis([point.time_s for point in points])
        self.money = close_axis([point.cost_usd for point in points])
        self.cells: list[list[tuple[str, str]]] = [[(" ", "")] * width for _ in range(height)]

    def column(self, seconds: float) -> int:
        return _LABELS + 1 + self.time.cell(seconds, self.columns)

    def row(self, usd: float) -> int:
        return self.rows - 1 - self.money.cell(usd, self.rows)

    def put(self, column: int, row: int, text: str, style: str) -> None:
        for offset, glyph in enumerate(text):
            if 0 <= row < self.height and 0 <= column + offset < self.width:
                self.cells[row][column + offset] = (glyph, style)

    def draw_axes(self) -> None:
        dim, line = self.palette.dim, self.palette.border
        for row in range(self.rows):
            self.put(_LABELS, row, "│", line)
        self.put(_LABELS, self.rows, "└" + "─" * self.columns, line)
        taken = -10
        for tick in _ticks(MONEY_TICKS_USD, self.money):
            row = self.row(tick)
            if abs(row - taken) >= 2:
                self.put(0, row, f"{_dollars(tick):>{_LABELS}}", dim)
                self.put(_LABELS, row, "┤", line)
                taken = row
        end = 0
        for tick in _ticks(TIME_TICKS_S, self.time):
            label, column = _duration_label(tick), self.column(tick)
            start = min(column - len(label) // 2, self.width - len(label))
            if start > end:
                self.put(start, self.rows + 1, label, dim)
                self.put(column, self.rows, "┴", line)
                end = start + len(label)

    def draw_limits(self) -> None:
        warn, limits = self.palette.warn, self.view.limits
        left = self.view.seconds_left
        if limits.budget_usd is not None and self.money.holds(limits.budget_usd):
            row = self.row(limits.budget_usd)
            self.put(_LABELS + 1, row, "╌" * self.columns, warn)
            self.put(_LABELS + 1, row, format_money(limits.budget_usd).removesuffix(".00"), warn)
        if left is not None and self.time.holds(left):
            column = self.column(left)
            for row in range(self.rows):
                self.put(column, row, "┊", warn)
            label = moment(limits.deadline, self.view.now)
            self.put(min(column + 1, self.width - len(label)), 0, label, warn)

    def draw_front(self, front: Sequence[Point]) -> None:
        """Steps in braille: nothing gets cheaper before the next point's time."""
        dots: dict[tuple[int, int], int] = {}

        def dot(x: int, y: int) -> None:
            cell = (y // 4, x // 2)
            dots[cell] = dots.get(cell, 0) | _DOTS[y % 4][x % 2]

        where = [(2 * (self.column(point.time_s)), 4 * self.row(point.cost_usd) + 1) for point in front]
        for (x, y), (next_x, next_y) in itertools.pairwise(where):
            for along in range(x, next_x + 1):
                dot(along, y)
            for down in range(min(y, next_y), max(y, next_y) + 1):
                dot(next_x, down)
        for (row, column), bits in dots.items():
            self.put(column, row, chr(0x2800 + bits), self.palette.dim)

    def draw_points(self, points: Sequence[Point], chosen: Estimate | None) -> None:
        """The last drawn owns the cell: misses first, then from the last rank to the first, then the cursor's."""
        palette = self.palette
        for point in sorted(points, key=lambda point: (point.row is chosen, -(point.row.rank or 0))):
            row = point.row
            missed = misses(row, self.view.limits)
            glyph = "○" if missed else str(row.rank) if row.rank is not None and row.rank <= 9 else "·"
            style = palette.faint if missed else f"bold {palette.places[row.place]}"
            if row is chosen:
                glyph = "●" if glyph in "·○" else glyph
                style = f"bold {palette.surface} on {palette.places[row.place]}"
            self.put(self.column(point.time_s), self.row(point.cost_usd), glyph, style)

    def text(self) -> Text:
        return Text("\n").join(_line(cells) for cells in self.cells)


def _line(cells: Sequence[tuple[str, str]]) -> Text:
    """Neighbours of one style in one piece: thousands of pieces would take longer to show than to draw."""
    text = Text()
    for style, run in groupby(cells, key=lambda cell: cell[1]):
        text.append("".join(glyph for glyph, _ in run), style=style)
    return text


def _ticks(ticks: Sequence[float], axis: LogAxis) -> list[float]:
    return [tick for tick in ticks if axis.low <= tick <= axis.high]


def _dollars(usd: float) -> str:
    if usd >= 1000:
        return f"${usd / 1000:,g}k"
    return f"${usd:g}"


def _duration_label(seconds: float) -> str:
    """'3h', '1d': ticks are round."""
    return f"{seconds / 86400:g}d" if seconds >= 86400 else format_duration(seconds).removesuffix("00")
