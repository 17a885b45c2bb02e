"""The table of offers."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import DataTable

from planner.plan.words import BUY_WORDS
from planner.tui.drawing import fitted
from planner.tui.messages import SortAsked
from planner.tui.offers import Line
from planner.tui.theme import Palette
from planner.tui.widgets.columns import GAP
from planner.tui.widgets.line_table import LineTable
from planner.units import UNKNOWN

_FIRST = 100


class _Column(NamedTuple):
    title: str
    width: int
    align: Literal["left", "right"]
    sort: str


_COLUMNS = (
    _Column("provider", 9, "left", "provider"),
    _Column("instance type", 19, "left", "machine"),
    _Column("region", 15, "left", "region"),
    _Column("GPUs", 11, "left", "gpus"),
    _Column("GiB", 4, "right", ""),
    _Column("buy", 4, "left", ""),
    _Column("$/h", 7, "right", "price"),
    _Column("age", 7, "right", "age"),
)
_NAMES_GIVE = 10
"""Cells that instance type and region together can do without."""
_FEWER = (((), 0), (("GiB", "age"), _NAMES_GIVE), (("GiB", "age", "provider"), _NAMES_GIVE))
"""The columns to leave out from wide to narrow, and how many cells the names may then give."""


class OffersTable(LineTable):
    """Offers with their ages; ``!`` marks a flagged one."""

    HELP = """\
Every hourly price known: on demand and spot.

/    show only offers that contain some words: a provider, a machine, a region, a GPU, spot
s    sort by the next column (or click on a header)

An age in amber is older than prices of its kind stay true: 3 days for spot, 30 for others.
! is an offer with a flag, which the pane below the table spells out."""

    class Chosen(Message):
        """The cursor stands on this offer."""

        def __init__(self, line: Line | None) -> None:
            super().__init__()
            self.line = line

    def __init__(self) -> None:
        super().__init__("offers")
        self._lines: Sequence[Line] = ()
        self._columns: list[_Column] = []
        self._sort = ""
        self._palette: Palette | None = None

    def show(self, lines: Sequence[Line], sort: str, palette: Palette) -> None:
        """Replace the lines; the cursor stays on its offer where that is still among the first."""
        chosen = self.chosen.offer[:5] if self.chosen is not None else None
        self._lines, self._sort, self._palette, self._columns = lines, sort, palette, fitting(self.size.width or 78)
        cursor = next((index for index, line in enumerate(lines[:_FIRST]) if line.offer[:5] == chosen), 0)
        with self.prevent(DataTable.RowHighlighted):
            labels = [(_header(column, sort, palette), column.width + GAP) for column in self._columns]
            self.columns_replaced([(Text(" "), 1), *labels])
            self.lines_changed(cursor)
        self.post_message(self.Chosen(self.chosen))

    def on_resize(self, event: events.Resize) -> None:
        if self._palette is not None and fitting(self.size.width or 78) != self._columns:
            self.show(self._lines, self._sort, self._palette)

    @property
    def chosen(self) -> Line | None:
        """The offer under the cursor."""
        return self._lines[self.cursor_row] if 0 <= self.cursor_row < len(self._lines) else None

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def line_cells(self, index: int) -> Sequence[Text]:
        return [Text(" "), *(self._cell(column, self._lines[index]) for column in self._columns)]

    def cursor_style(self) -> str:
        return self._palette.accent if self._palette is not None else ""

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(self.Chosen(self.chosen))

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        event.stop()
        if event.column_index and self._columns[event.column_index - 1].sort:
            self.post_message(SortAsked(self._columns[event.column_index - 1].sort))

    def _cell(self, column: _Column, line: Line) -> Text:
        if self._palette is None:
            return Text()
        text, style = _content(column.title, line, self._palette)
        text = fitted(text, column.width)
        padded = f"{text:>{column.width}}" if column.align == "right" else f"{text:<{column.width}}"
        mark = "!" if column.title == "$/h" and line.offer.flags else " "
        return Text(padded, style=style).append(mark, style=self._palette.warn)


def fitting(width: int) -> list[_Column]:
    """The columns that ``width`` cells have room for, the names as wide as that allows; a price is never cut."""
    columns, room = list(_COLUMNS), 0
    for left_out, gives in _FEWER:
        columns = [column for column in _COLUMNS if column.title not in left_out]
        room = width - 1 - sum(column.width + GAP for column in columns)
        if room >= -gives:
            break
    share = max(room, -_NAMES_GIVE) // 2
    return [
        column._replace(width=column.width + share) if column.title in ("instance type", "region") else column
        for column in columns
    ]


def _header(column: _Column, sort: str, palette: Palette) -> Text:
    title = f"{column.title} ▲" if column.sort == sort else column.title
    style = f"bold {palette.strong}" if column.sort == sort else palette.dim
    width = column.width
    return Text(f"{title:>{width}} " if column.align == "right" else f"{title:<{width}} ", style=style)


def _content(title: str, line: Line, palette: Palette) -> tuple[str, str]:
    offer, kind = line.offer, line.kind
    if title == "provider":
        return offer.provider, palette.dim
    if title == "instance type":
        return offer.instance_type.removeprefix("Standard_"), palette.text
    if title == "region":
        return offer.zone or offer.region, palette.dim
    if title == "GPUs":
        return (f"{kind.num_gpus:.3g}×{kind.accelerator}" if kind.num_gpus else "CPU only"), palette.text
    if title == "GiB":
        memory = kind.memory_gib_per_gpu
        return (UNKNOWN if memory is None else f"{memory:.0f}"), palette.dim
    if title == "buy":
        return BUY_WORDS.get(offer.purchase, offer.purchase), palette.dim
    if title == "$/h":
        return (
            f"{offer.usd_per_hour:,.2f}" if offer.usd_per_hour >= 0.1 else f"{offer.usd_per_hour:.3f}"
        ), palette.text
    return f"{line.days} d", palette.warn if line.stale else palette.good
