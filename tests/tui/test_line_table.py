"""Tables that draw the lines that are seen: what DataTable promises of rows, cells, clicks and the last line holds."""

from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from planner.tui.widgets.line_table import LineTable
from planner.tui.widgets.plan_table import PlanTable
from tests.tui.conftest import Open, settled


class Numbers(LineTable):
    """Lines that are numbers; ``drawn`` are those that were asked for."""

    def __init__(self, count: int) -> None:
        super().__init__("numbers")
        self.count = count
        self.drawn: set[int] = set()

    @property
    def line_count(self) -> int:
        return self.count

    def line_cells(self, index: int) -> list[Text]:
        self.drawn.add(index)
        return [Text(" "), Text(f"{index:<7} ")]

    def cursor_style(self) -> str:
        return "red"


class OneTable(App[None]):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.table = Numbers(count)

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.columns_replaced([(Text(" "), 1), (Text("number"), 8)])
        self.table.lines_changed(0)
        self.table.focus()


async def test_only_what_is_seen_is_drawn() -> None:
    app = OneTable(1000)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert max(app.table.drawn) < 30
        assert app.table.row_count < 60
        assert [cell.plain.strip() for cell in app.table.get_row_at(7)] == ["", "7"]
        assert app.table.get_cell_at(Coordinate(3, 1)).plain.strip() == "3"


async def test_the_last_of_many_lines_is_reached_and_drawn() -> None:
    app = OneTable(1000)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("end")
        for _ in range(50):
            await pilot.pause()
            if app.table.cursor_row == 999:
                break
        await pilot.pause()
        assert app.table.cursor_row == 999
        assert 999 in app.table.drawn
        await pilot.press("home", "j", "j", "k")
        assert app.table.cursor_row == 1


async def test_fewer_lines_take_rows_away_and_the_cursor_with_them() -> None:
    app = OneTable(300)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("end")
        await pilot.pause(0.2)
        for count in (40, 3, 0, 5):
            app.table.count = count
            app.table.lines_changed(min(2, count))
            await pilot.pause()
            assert app.table.row_count == min(count, app.table.row_count)
            assert app.table.cursor_row <= max(count - 1, 0)


async def test_a_click_on_a_header_sorts_and_one_on_a_row_chooses_it(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        table = app.query_one(PlanTable)
        at = 0
        for column in table.ordered_columns:
            if "cost" in column.label.plain:
                break
            at += column.width
        await pilot.click(DataTable, offset=(at + 3, 0))
        await settled(app, pilot)
        assert app.order.sort == "cost"
        await pilot.click(DataTable, offset=(10, 4))
        await settled(app, pilot)
        assert table.cursor_row == 3
