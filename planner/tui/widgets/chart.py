"""Cost over time on two log axes: the digits are the table's ranks, the dotted line is the Pareto front."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.tui.amounts import round_money
from planner.tui.arrange import misses
from planner.tui.canvas import Braille, Cells
from planner.tui.clock import moment
from planner.tui.drawing import MONEY_TICKS_USD, TIME_TICKS_S, LogAxis, close_axis
from planner.tui.theme import Palette
from planner.tui.widgets.columns import View
from planner.tui.widgets.painted import Painted
from planner.units import format_duration

_LABELS = 7
_POINTS = 40
"""Ranks beyond these are not drawn: the chart is about the rows one may choose."""


class Point(NamedTuple):
    """A row in the chart. Seconds and USD, at P50."""

    row: Estimate
    time_s: float
    cost_usd: float


class Chart(Painted, Static, can_focus=True):
    """Redrawn when its rows, its cursor or its size change."""

    HELP = """\
Cost over time, both on logarithmic axes.

A digit is the rank of a row in the table, coloured by its place; · is a rank above 9 or one right beside a better
one's digit, ○ a row that misses a limit.
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
        self.paint()

    def draw(self, width: int, height: int) -> None:
        if self._view is not None and width >= 20 and height >= 5:
            self.update(chart_text(self._rows, self._view, self._chosen, width, height), layout=False)


def chart_text(rows: Sequence[Estimate], view: View, chosen: Estimate | None, width: int, height: int) -> Text:
    """The chart as ``height`` lines of ``width`` cells; a sentence where there is nothing to draw."""
    points = _points(rows, chosen)
    if not points:
        return Text("No row has both a time and a cost." if rows else "No row is shown.", style=view.palette.dim)
    canvas = _Canvas(width, height, points, view)
    canvas.draw_axes()
    canvas.draw_limits()
    canvas.draw_front(_front(points))
    canvas.draw_points(points, chosen)
    canvas.label_limits()
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


class _Canvas(Cells):
    """The plot lies right of the money labels and above the time labels."""

    def __init__(self, width: int, height: int, points: Sequence[Point], view: View) -> None:
        super().__init__(width, height)
        self.view = view
        self.palette: Palette = view.palette
        self.columns, self.rows = width - _LABELS - 1, height - 2
        self.time = close_axis([point.time_s for point in points])
        self.money = close_axis([point.cost_usd for point in points])

    def column(self, seconds: float) -> int:
        return _LABELS + 1 + self.time.cell(seconds, self.columns)

    def row(self, usd: float) -> int:
        return self.rows - 1 - self.money.cell(usd, self.rows)

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
            self.put(_LABELS + 1, self.row(limits.budget_usd), "╌" * self.columns, warn)
        if left is not None and self.time.holds(left):
            column = self.column(left)
            for row in range(self.rows):
                self.put(column, row, "┊", warn)

    def label_limits(self) -> None:
        """What the limits are, beside their lines and where nothing else is."""
        limits, left = self.view.limits, self.view.seconds_left
        if limits.budget_usd is not None and self.money.holds(limits.budget_usd):
            label, row = round_money(limits.budget_usd), self.row(limits.budget_usd)
            ends = (self.width - len(label), _LABELS + 1)
            self._label(label, [(column, row + side) for column in ends for side in (-1, 1)])
        if left is not None and self.time.holds(left):
            label, column = moment(limits.deadline, self.view.now), self.column(left)
            sides = (column + 1, column - len(label))
            self._label(label, [(side, row) for row in range(self.rows) for side in sides])

    def _label(self, label: str, places: Sequence[tuple[int, int]]) -> None:
        """At the first of the places (column, row) that is free."""
        for column, row in places:
            if row < self.rows and self.is_free(column, row, len(label)):
                self.put(column, row, label, self.palette.warn)
                return

    def draw_front(self, front: Sequence[Point]) -> None:
        """Steps in braille: nothing gets cheaper before the next point's time."""
        dots = Braille()
        where = [(2 * (self.column(point.time_s)), 4 * self.row(point.cost_usd) + 1) for point in front]
        for (x, y), (next_x, next_y) in itertools.pairwise(where):
            for along in range(x, next_x + 1):
                dots.dot(along, y)
            for down in range(min(y, next_y), max(y, next_y) + 1):
                dots.dot(next_x, down)
        for column, row, glyph in dots:
            self.put(column, row, glyph, self.palette.dim)

    def draw_points(self, points: Sequence[Point], chosen: Estimate | None) -> None:
        """The last drawn owns the cell: misses first, then from the last rank to the first, then the cursor's."""
        palette = self.palette
        digits = self._digits(points, chosen)
        for point in sorted(points, key=lambda point: (point.row is chosen, -(point.row.rank or 0))):
            row = point.row
            missed, cell = misses(row, self.view.limits), self.cell(point)
            glyph = "○" if missed else str(row.rank) if digits.get(cell) is row else "·"
            style = palette.faint if missed else f"bold {palette.places[row.place]}"
            if row is chosen:
                glyph = "●" if glyph in "·○" else glyph
                style = f"bold {palette.surface} on {palette.places[row.place]}"
            self.put(*cell, glyph, style)

    def _digits(self, points: Sequence[Point], chosen: Estimate | None) -> dict[tuple[int, int], Estimate]:
        """The rows shown by their ranks, by cell: the cursor's, then from the first on those that touch none of them,
        as two digits side by side would read as another rank."""
        found: dict[tuple[int, int], Estimate] = {}
        for point in sorted(points, key=lambda point: (point.row is not chosen, point.row.rank or 0)):
            column, row = cell = self.cell(point)
            rank = point.row.rank
            if rank is None or rank > 9 or misses(point.row, self.view.limits):
                continue
            if not any((column + beside, row) in found for beside in (-1, 0, 1)):
                found[cell] = point.row
        return found

    def cell(self, point: Point) -> tuple[int, int]:
        return self.column(point.time_s), self.row(point.cost_usd)


def _ticks(ticks: Sequence[float], axis: LogAxis) -> list[float]:
    return [tick for tick in ticks if axis.low <= tick <= axis.high]


def _dollars(usd: float) -> str:
    if usd >= 1000:
        return f"${usd / 1000:,g}k"
    return f"${usd:g}"


def _duration_label(seconds: float) -> str:
    """'3h', '1d': ticks are round."""
    return f"{seconds / 86400:g}d" if seconds >= 86400 else format_duration(seconds).removesuffix("00")
