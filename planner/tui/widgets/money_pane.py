"""Money spent over the months: buying, buying less resale and each rent as lines, and where buying has paid."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from planner.plan.buy_or_rent import BuyOrRent
from planner.plan.buying_words import MARKS, RESALE, money_lines
from planner.plot import Line
from planner.tui.canvas import Braille, Cells
from planner.tui.drawing import even_axis
from planner.tui.theme import Palette
from planner.tui.widgets.painted import Painted

_LABELS = 8
"""Cells of the money labels left of the axis."""
_LEAST_WIDTH, _LEAST_HEIGHT = 40, 7
_SPARSE = 4
"""Of the dots of the line less resale, one in so many is drawn."""
_MONTH_TICKS = 6
_ROWS_A_LABEL = 2
"""Rows from one money label to the next at least; two labels at least have room in the lowest chart."""
_AIR = 1.1
"""Room over the end of the line of buying."""


class MoneyPane(Painted, Static):
    """Drawn anew when what it shows or its size changes."""

    def __init__(self) -> None:
        super().__init__(id="money", classes="pane")
        self.border_title = "Money spent over time"
        self.border_subtitle = "◆ break-even · dotted: buying less what it would sell for"
        self._shown: tuple[BuyOrRent, int, Palette] | None = None

    def show(self, found: BuyOrRent, card: int, palette: Palette) -> None:
        """``card`` is the index of the machine that is drawn."""
        self._shown = (found, card, palette)
        self.paint()

    def draw(self, width: int, height: int) -> None:
        if self._shown is not None:
            self.update(money_text(*self._shown, width, height), layout=False)


def money_text(found: BuyOrRent, card: int, palette: Palette, width: int, height: int) -> Text:
    """The chart in ``width`` x ``height`` cells; a sentence for a machine that cannot run it."""
    bought = found.bought[card]
    if bought.owning is None:
        return Text(f"{bought.purchase.name} cannot run it: {bought.problem}", style=palette.bad)
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return Text()
    chart = _MoneyChart(found, card, palette, width, height)
    chart.draw()
    return chart.text()


class _MoneyChart(Cells):
    """Months to the right, money upwards, both linear; the plot lies right of the labels and above the months."""

    def __init__(self, found: BuyOrRent, card: int, palette: Palette, width: int, height: int) -> None:
        super().__init__(width, height)
        self.palette = palette
        self.columns, self.rows = width - _LABELS - 1, height - 2
        self.months = found.terms.months
        self.lines, self.paid = money_lines(found, card)
        self.axis = even_axis(_AIR * self.lines[-1].at(self.months), self.rows, _ROWS_A_LABEL)
        self.top = self.axis.top

    def draw(self) -> None:
        self._draw_axes()
        rents = iter((self.palette.places["cloud"], self.palette.places["cluster"], self.palette.warn))
        colors = [next(rents) if line.mark in MARKS else self.palette.places["workstation"] for line in self.lines]
        for line, color in zip(self.lines, colors, strict=True):
            self._draw_line(line, color)
        for month, usd in self.paid:
            self.put(self._column(month), self._row(usd), "◆", f"bold {self.palette.warn}")
        for month, usd in self.paid:
            self._draw_label(f"{month:.1f} months", [(month, usd)], self.palette.warn)
        for line, color in zip(self.lines, colors, strict=True):
            self._draw_label(line.label, self._inside(line), color)

    def _draw_axes(self) -> None:
        dim, line = self.palette.dim, self.palette.border
        for row in range(self.rows):
            self.put(_LABELS, row, "│", line)
        self.put(_LABELS, self.rows, "└" + "─" * self.columns, line)
        for tick in range((self.rows - 1) // self.axis.rows + 1):
            row = self.rows - 1 - tick * self.axis.rows
            self.put(0, row, f"{_dollars(tick * self.axis.step):>{_LABELS}}", dim)
            self.put(_LABELS, row, "┤", line)
        every = max(round(self.months / _MONTH_TICKS), 1)
        for month in reversed(range(0, int(self.months) + 1, every)):
            last = month + every > self.months
            words = f"{month} months" if last else f"{month}"
            column = self._column(month)
            start = min(column - len(f"{month}") // 2, self.width - len(words))
            if self.is_free(start, self.rows + 1, min(len(words) + 1, self.width - start)):
                self.put(start, self.rows + 1, words, dim)
            self.put(column, self.rows, "┴", line)

    def _draw_line(self, line: Line, color: str) -> None:
        """In braille, two dots a column, with the dots between where it rises by more than one."""
        dots = Braille()
        before: int | None = None
        for x in range(2 * self.columns):
            usd = line.at(x / (2 * self.columns - 1) * self.months)
            if not 0 <= usd <= self.top:
                before = None
                continue
            y = self._dot(usd)
            if line.mark == RESALE:
                if x % _SPARSE == 0:
                    dots.dot(x, y)
                continue
            other = y if before is None else before
            for between in range(min(y, other), max(y, other) + 1):
                dots.dot(x, between)
            before = y
        for column, row, glyph in dots:
            self.put(_LABELS + 1 + column, row, glyph, color)

    def _draw_label(self, words: str, along: Sequence[tuple[float, float]], color: str) -> None:
        """Over the latest of the points of a line (months, USD) that has room for it, else under it; else nowhere."""
        for offset in (-1, 1, -2, 2):
            for month, usd in reversed(along):
                row, middle = self._row(usd) + offset, self._column(month) - len(words) // 2
                start = min(max(middle, _LABELS + 3), self.width - len(words) - 1)
                room = min(len(words) + 4, self.width - start + 2)  # two labels in a row keep apart
                if row < self.rows and self.is_free(start - 2, row, room):
                    self.put(start, row, words, color)
                    return

    def _inside(self, line: Line) -> list[tuple[float, float]]:
        """The points of the line, column by column, that lie within the chart."""
        months = [column / (self.columns - 1) * self.months for column in range(self.columns)]
        return [(month, usd) for month in months if 0 <= (usd := line.at(month)) <= self.top]

    def _column(self, month: float) -> int:
        return _LABELS + 1 + round(month / self.months * (self.columns - 1))

    def _dot(self, usd: float) -> int:
        """The row of dots, four a cell, from the top; nothing spent is in the middle of the last, as its label."""
        return 1 + round((1 - min(max(usd / self.top, 0.0), 1.0)) * (4 * self.rows - 4))

    def _row(self, usd: float) -> int:
        return self._dot(usd) // 4


def _dollars(usd: float) -> str:
    return f"${usd:,.0f}" if usd == round(usd) else f"${usd:,.2f}"
