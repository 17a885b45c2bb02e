"""The ranked table: one row a machine with its best offer."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.widgets import DataTable

from planner.plan.plan import Estimate
from planner.tui.arrange import Key, Order, Rule, key_of
from planner.tui.messages import RowChosen, SortAsked
from planner.tui.theme import Palette
from planner.tui.widgets.columns import Column, View, columns_for, missed_cells
from planner.tui.widgets.line_table import LineTable


class PlanTable(LineTable):
    """``DataTable#plan``; its lines are estimates and, between them, rules."""

    HELP = """\
The ranked plans: one row for each machine with its best offer.

up, down, page keys, home, end   move; Why and the chart follow
Enter   take the time of this row apart
s, S    sort by the next column, or turn the order round (or click on a header)
g       divide by GPU, provider or place
p       pin the row to the top, to compare it; again to let it go
/       show only rows that contain some words

▸ is the recommended row, a dimmed row misses a limit and the value that misses is red.
! is an old price, ‡ one not to be relied on, ? a cost that is not known in full, * a machine that nobody owns yet.
ev says what the estimate rests on: ● measured here ◕ same GPU ◑ other GPU ◔ architecture ○ specifications."""

    def __init__(self) -> None:
        super().__init__("plan")
        self.add_class("empty")
        self._lines: list[Estimate | Rule] = []
        self._view: View | None = None
        self._order = Order()
        self._columns: list[Column] = []
        self._before = 0

    def show(self, lines: Sequence[Estimate | Rule], view: View, order: Order, keep: Key | None) -> None:
        """Replace the rows; the cursor goes to the row ``keep`` where it is still there, else to the best one."""
        self._lines, self._view, self._order = list(lines), view, order
        self.remove_class("empty")
        with self.prevent(DataTable.RowHighlighted):
            self._columns = self._fitting(view)
            widths = [column.width + (1 if column.title else 0) for column in self._columns]
            self.columns_replaced(list(zip(map(self._header, self._columns), widths, strict=True)))
            self._before = self._index_of(keep)
            self.lines_changed(self._before)
        self.post_message(RowChosen(self.chosen))

    def _fitting(self, view: View) -> list[Column]:
        rows = (line for line in self._lines if not isinstance(line, Rule))
        return columns_for(self.size.width or 78, missed_cells=missed_cells(rows, view))

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def line_cells(self, index: int) -> Sequence[Text]:
        line, view = self._lines[index], self._view
        if view is None:
            return [Text() for _ in self._columns]
        return self._rule_cells(line) if isinstance(line, Rule) else [one.render(line, view) for one in self._columns]

    def cursor_style(self) -> str:
        return self._palette.accent

    @property
    def chosen(self) -> Estimate | None:
        """The estimate under the cursor."""
        if not 0 <= self.cursor_row < len(self._lines):
            return None
        line = self._lines[self.cursor_row]
        return None if isinstance(line, Rule) else line

    def on_resize(self, event: events.Resize) -> None:
        view = self._view
        if view is not None and self._fitting(view) != self._columns:
            chosen = self.chosen
            self.show(self._lines, view, self._order, key_of(chosen) if chosen else None)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        row = event.cursor_row
        if 0 <= row < len(self._lines) and isinstance(self._lines[row], Rule):
            self._step_over(row)
            return
        self._before = row
        self.post_message(RowChosen(self.chosen))

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        event.stop()
        sort = self._columns[event.column_index].sort
        if sort:
            self.post_message(SortAsked(sort))

    def _step_over(self, row: int) -> None:
        """A rule is no place for the cursor: go on in the direction it came from."""
        step = 1 if row > self._before else -1
        target = row + step
        if not 0 <= target < len(self._lines):
            target = row - step
        if 0 <= target < len(self._lines):
            self.move_cursor(row=target, animate=False)

    def _header(self, column: Column) -> Text:
        palette = self._palette
        title, style = column.title, palette.dim
        if column.sort and column.sort == self._order.sort:
            title, style = f"{title} {'▼' if self._order.backwards else '▲'}", f"bold {palette.strong}"
        if column.title == "interval" and self._view is not None:
            title = axis_label(self._view, column.width)
        if len(title) > column.width:
            title = title.replace(" ", "")
        blank = " " * (column.width - len(title))
        return Text(blank + title if column.align == "right" else title + blank, style=style)

    @property
    def _palette(self) -> Palette:
        if self._view is None:
            raise RuntimeError("a table is drawn after its rows were shown")
        return self._view.palette

    def _rule_cells(self, rule: Rule) -> list[Text]:
        """A title in a line across all columns, cut where the columns are."""
        palette = self._palette
        widths = [column.width + (1 if column.title else 0) for column in self._columns]
        text = Text("──── ", style=palette.border).append(rule.title, style=palette.dim)
        text.append(" " + "─" * max(sum(widths) - text.cell_len - 2, 0) + " ", style=palette.border)
        text.truncate(sum(widths))
        edges = [sum(widths[: index + 1]) for index in range(len(widths) - 1)]
        return list(text.divide(edges))

    def _index_of(self, key: Key | None) -> int:
        """The line of a row; without one, of the recommended row; else the first row."""
        estimates = [(index, line) for index, line in enumerate(self._lines) if not isinstance(line, Rule)]
        for index, line in estimates:
            if key is not None and key_of(line) == key:
                return index
        recommended = self._view.recommended if self._view is not None else None
        for index, line in estimates:
            if recommended is not None and line.rank == recommended:
                return index
        return estimates[0][0] if estimates else 0


def axis_label(view: View, width: int) -> str:
    """The ends of the time axis, '1h    4d'; nothing where they have no room beside each other."""
    low, high = (_short(value) for value in view.axis)
    return low + high.rjust(width - len(low)) if len(low) + len(high) < width else ""


def _short(seconds: float) -> str:
    """'4d', '1.6s', '100y': two digits below ten, none behind the point above."""
    units = ((365 * 86400.0, "y"), (86400.0, "d"), (3600.0, "h"), (60.0, "m"))
    size, unit = next(((size, unit) for size, unit in units if seconds >= size), (1.0, "s"))
    amount = seconds / size
    return f"{amount:.2g}{unit}" if amount < 10 else f"{amount:.0f}{unit}"
