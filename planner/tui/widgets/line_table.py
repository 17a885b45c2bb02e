"""A DataTable that draws only the lines that are seen, each from its row, and keeps nothing else of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import DataTable
from textual.widgets.data_table import RowKey

AHEAD = 8
"""Rows below those that are seen, for the cursor to move into."""

_AT_ONCE = 200
"""Rows added in one go on the way to the last of thousands: the interface stays awake meanwhile."""

_FEW = 60
"""More rows than these are taken away faster all together."""


class LineTable(DataTable[Text]):
    """Its cells are asked of ``line_cells`` when they are seen or read: DataTable itself renders and measures each of
    the cells of all its rows anew whenever one changes, which takes longer than ranking them did.

    Cells are padded to the widths of their columns. The first column is one cell wide: the cursor is a bar in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("home", "scroll_top", show=False),
        Binding("end", "scroll_bottom", show=False),
    ]

    def __init__(self, table_id: str) -> None:
        super().__init__(
            id=table_id,
            cursor_type="row",
            zebra_stripes=False,
            cell_padding=0,
            cursor_foreground_priority="renderable",
        )
        self._strips: dict[tuple[object, ...], Strip] = {}
        self._ground = Style()

    @property
    def line_count(self) -> int:
        """How many lines there are, also those that the table does not have yet."""
        raise NotImplementedError

    def line_cells(self, index: int) -> Sequence[Text]:
        """The cells of a line, as many as there are columns."""
        raise NotImplementedError

    def cursor_style(self) -> str:
        """The colour of the cursor's bar."""
        raise NotImplementedError

    def lines_changed(self, cursor: int) -> None:
        """Show other lines, with the cursor on one of them. The rows that are there stay, whatever they show."""
        self._strips.clear()
        count = self.line_count
        if self.row_count - count > _FEW:
            self.clear()
        for row in self.ordered_rows[count:]:
            self.remove_row(row.key)
        self.extend(cursor + self.size.height + AHEAD)
        if self.row_count:
            self.move_cursor(row=min(max(cursor, 0), self.row_count - 1), animate=False)
        self.refresh()

    def extend(self, count: int) -> None:
        """Have ``count`` rows in the table, where there are as many lines; none before it has its columns."""
        while self.columns and self.row_count < min(count, self.line_count):
            self.add_row()

    def columns_replaced(self, labels: Sequence[tuple[Text, int]]) -> None:
        """Other columns: (label, cells with the gap behind it). Where only labels change, rows stay."""
        self._strips.clear()
        if [width for _, width in labels] == [column.width for column in self.ordered_columns]:
            for (label, _), column in zip(labels, self.ordered_columns, strict=True):
                column.label = label
            return
        self.clear(columns=True)
        for label, width in labels:
            self.add_column(label, width=width)

    def _update_dimensions(self, new_rows: Iterable[RowKey]) -> None:
        """Without measuring the cells of new rows: the columns are as wide as they are."""
        super()._update_dimensions(())

    def get_row_at(self, row_index: int) -> list[Text]:
        nothing = super().get_row_at(row_index)
        if row_index >= self.line_count:  # it is about to be taken away
            return nothing
        return list(self.line_cells(row_index))

    def get_cell_at(self, coordinate: Coordinate) -> Text:
        return self.get_row_at(coordinate.row)[coordinate.column]

    def action_scroll_bottom(self) -> None:
        """To the last line, once the table has it."""
        if self.row_count < self.line_count:
            self.extend(self.row_count + _AT_ONCE)
            self.call_after_refresh(self.action_scroll_bottom)
        else:
            super().action_scroll_bottom()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.extend(int(new_value) + 2 * self.size.height + AHEAD)

    def watch_cursor_coordinate(self, old_coordinate: Coordinate, new_coordinate: Coordinate) -> None:
        super().watch_cursor_coordinate(old_coordinate, new_coordinate)
        self.extend(new_coordinate.row + self.size.height + AHEAD)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ground = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        row = y - 1 + int(self.scroll_offset.y) if y else -1
        ground = self._ground
        if row >= min(self.row_count, self.line_count):
            return Strip.blank(self.size.width, ground)
        on_cursor = row == self.cursor_row and self.show_cursor
        key = (row, on_cursor, self.has_focus, ground, self.size.width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._drawn(row, ground, on_cursor=on_cursor)
        return strip

    def _labels(self) -> list[Text]:
        labels = []
        for column in self.ordered_columns:
            label = column.label.copy()
            label.pad_right(max(column.width - label.cell_len, 0))
            labels.append(label)
        return labels

    def _drawn(self, row: int, ground: Style, *, on_cursor: bool) -> Strip:
        component = "datatable--header" if row < 0 else "datatable--cursor" if on_cursor else None
        style = ground if component is None else ground + self.get_component_rich_style(component)
        cells = self._labels() if row < 0 else list(self.line_cells(row))
        if on_cursor:
            cells[0] = Text("▌", style=self.cursor_style())
        segments = [
            segment
            for index, cell in enumerate(cells)
            for segment in _segments(self.app.console, cell, style, row, index)
        ]
        return Strip(segments).adjust_cell_length(self.size.width, style)


def _segments(console: Console, cell: Text, style: Style, row: int, column: int) -> Iterator[Segment]:
    """A cell in its own colours over the line's; the mouse learns from it which cell it is on."""
    where = style + Style.from_meta({"row": row, "column": column})
    if not cell.spans:
        yield Segment(cell.plain, where + console.get_style(cell.style))
        return
    for text, own, _ in cell.render(console):
        yield Segment(text, where if own is None else where + own)
