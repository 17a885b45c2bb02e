"""The columns of the plans table: what each shows of a row, and which of them a width has room for."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from rich.text import Text

from planner.plan.plan import Estimate
from planner.plan.search import Limits
from planner.plan.words import (
    BINDS_WORDS,
    EVIDENCE_MARKS,
    bound_mark,
    buy_word,
    gpus_words,
    machine_name,
    price_mark,
    where_words,
)
from planner.tui.amounts import percent
from planner.tui.arrange import missed_by, misses
from planner.tui.clock import moment
from planner.tui.drawing import LogAxis, fitted, interval_bar
from planner.tui.theme import Palette
from planner.units import UNKNOWN, Interval, format_duration, format_money

GAP = 1
_LONGER_BUY_WORDS = {"on_demand": "on-demand", "owned": "own"}


class View(NamedTuple):
    """What the cells of all rows depend on beside the row itself; ``all_miss``: none meets the limits."""

    palette: Palette
    now: datetime
    limits: Limits
    axis: LogAxis
    recommended: int | None
    all_miss: bool = False

    @property
    def seconds_left(self) -> float | None:
        deadline = self.limits.deadline
        return None if deadline is None else (deadline - self.now).total_seconds()

    def ink(self, row: Estimate, color: str) -> str:
        """The colour, or the dim one for a row that misses a limit."""
        return self.palette.dim if misses(row, self.limits) else color


class Column(NamedTuple):
    """``sort`` is the order a click on the header asks for ('' none)."""

    title: str
    width: int
    align: Literal["left", "right"]
    sort: str
    cell: Callable[[Estimate, View, int], Text]

    def render(self, row: Estimate, view: View) -> Text:
        """The cell padded to the column's width and the gap behind it."""
        text = self.cell(row, view, self.width)
        text.truncate(self.width, overflow="ellipsis")
        blank = self.width - text.cell_len
        if blank > 0 and self.align == "right":
            text = Text(" " * blank).append_text(text)
        text.pad_right(max(blank, 0) if self.align == "left" else 0)
        text.pad_right(GAP if self.title else 0)
        return text


def _cursor(row: Estimate, view: View, width: int) -> Text:
    return Text("▸" if row.rank == view.recommended else " ", style=view.palette.good)


def _rank(row: Estimate, view: View, width: int) -> Text:
    if row.rank is None or misses(row, view.limits):
        return Text("·", style=view.palette.faint)
    chosen = row.rank == view.recommended
    return Text(str(row.rank), style=f"bold {view.palette.strong}" if chosen else view.palette.dim)


def _machine(row: Estimate, view: View, width: int) -> Text:
    style = view.ink(row, view.palette.text)
    if row.rank == view.recommended and row.rank is not None:
        style = f"bold {view.palette.strong}"
    return Text(fitted(machine_name(row), width), style=style)


def _where(row: Estimate, view: View, width: int) -> Text:
    return Text(fitted(where_words(row), width), style=view.ink(row, view.palette.dim))


def _gpus(row: Estimate, view: View, width: int) -> Text:
    return Text(fitted(gpus_words(row), width), style=view.ink(row, view.palette.text))


def _against(value: Interval | None, limit: float | None, row: Estimate, view: View) -> str:
    """The ink of a value beside its limit: bad and bold beyond it, warn where only its P90 is."""
    if value is not None and limit is not None:
        if value.p50 > limit:
            return f"bold {view.palette.bad}"
        if value.p90 > limit and misses(row, view.limits):
            return view.palette.warn
    return view.ink(row, view.palette.text)


def _time(row: Estimate, view: View, width: int) -> Text:
    text = format_duration(row.time_s.p50 if row.time_s else None)
    return Text(text, style=_against(row.time_s, view.seconds_left, row, view))


def _interval(row: Estimate, view: View, width: int) -> Text:
    if row.time_s is None:
        return Text(UNKNOWN, style=view.palette.faint)
    palette = view.palette
    color = view.ink(row, palette.places[row.place])
    return interval_bar(row.time_s, view.axis, width, color, palette.border, view.seconds_left, palette.warn)


def _done(row: Estimate, view: View, width: int) -> Text:
    return Text(moment(row.finish_at, view.now), style=_against(row.time_s, view.seconds_left, row, view))


def _cost(row: Estimate, view: View, width: int) -> Text:
    palette = view.palette
    if row.cost_usd is None:
        return Text(UNKNOWN, style=palette.faint)
    style = _against(row.cost_usd, view.limits.budget_usd, row, view)
    unknown = "?" if "cost_incomplete" in row.flags else ""
    dollars = format_money(row.cost_usd.p50).removeprefix("$")
    if len(f"{bound_mark(row)}${dollars}{unknown}") > width:
        dollars = f"{row.cost_usd.p50:,.0f}"
    return Text.assemble((f"{bound_mark(row)}$", palette.faint), (dollars, style), (unknown, palette.warn))


def _hourly(row: Estimate, view: View, width: int) -> Text:
    if row.usd_per_hour is None:
        return Text(UNKNOWN, style=view.palette.faint)
    hourly = row.usd_per_hour
    text = Text(f"{hourly:.2f}" if hourly < 1000 else f"{hourly:,.0f}", style=view.ink(row, view.palette.text))
    return text.append(price_mark(row) or " ", style=view.palette.warn)


def _buy(row: Estimate, view: View, width: int) -> Text:
    word = buy_word(row)
    if width > 4:
        word = "to buy" if row.hypothetical else _LONGER_BUY_WORDS.get(row.purchase, row.purchase)
    return Text(fitted(word, width), style=view.ink(row, view.palette.dim))


def _binds(row: Estimate, view: View, width: int) -> Text:
    word = BINDS_WORDS.get(row.bound_by or "", row.bound_by or UNKNOWN)
    return Text(word, style=view.ink(row, view.palette.dim))


def _evidence(row: Estimate, view: View, width: int) -> Text:
    return Text(EVIDENCE_MARKS.get(row.evidence or "", UNKNOWN), style=view.ink(row, view.palette.text))


def _missed(row: Estimate, view: View, width: int) -> Text:
    """'21h00 late  $5.63 over'; of a row that only is not sure enough, '59 % sure'."""
    late, over = missed_by(row, view.limits)
    if late is None and over is None:
        return Text("" if row.p_meets is None else f"{percent(row.p_meets)} sure", style=view.palette.warn)
    hours = "" if late is None else f"{format_duration(late)} late"
    money = "" if over is None else f"{format_money(over)} over"
    text = f"{hours:<{_LATE}}{money}".rstrip() if width > _LATE else hours or money
    return Text(text, style=view.palette.bad)


CURSOR = Column("", 1, "left", "", _cursor)
RANK = Column("#", 3, "right", "value", _rank)


_LATE = 12
"""Cells for the hours of a miss, and as many for its dollars."""
_ROOMY = 100
"""From this width on the columns of misses stand beside all others."""


def missed_cells(rows: Iterable[Estimate], view: View) -> int:
    """How wide the column of misses is: as the rows need, 0 where there is none."""
    if not view.all_miss:
        return 0
    missed = [missed_by(row, view.limits) for row in rows]
    both = any(one.seconds is not None for one in missed) and any(one.usd is not None for one in missed)
    return 2 * _LATE if both else _LATE


def columns_for(width: int, *, missed_cells: int = 0) -> list[Column]:
    """The columns that ``width`` cells hold: chosen, never clipped (storyboard, "What adapts by width").

    Where all rows miss the limits, by how much matters more than what the table else says: it has ``missed_cells``.
    """
    if missed_cells and width >= 74:
        return _columns_of_misses(width, missed_cells)
    if width < 74:
        spare = width - (1 + 4 + 7 + 8)
        return [
            CURSOR,
            RANK,
            Column("machine", max(spare - GAP, 8), "left", "machine", _machine),
            Column("time", 6, "right", "time", _time),
            Column("cost", 7, "right", "cost", _cost),
        ]
    for machine, where, gpus, interval, buy in _WIDTHS:
        columns = _columns(machine=machine, where=where, gpus=gpus, interval=interval, buy=buy)
        spare = width - total_width(columns) + GAP
        if spare >= 0:
            break
    return _grown(columns, spare)


_WIDTHS = (
    (18, 18, 12, 20, 9),
    (14, 13, 11, 8, 4),
    (14, 13, 11, 7, 4),
    (14, 10, 10, 8, 4),
    (14, 10, 10, 0, 4),
    (12, 0, 11, 0, 4),
    (12, 0, 8, 0, 4),
)
"""(machine, where, GPUs, interval, buy) from rich to poor; 0 leaves the column away."""


def total_width(columns: Sequence[Column]) -> int:
    return sum(column.width + (GAP if column.title else 0) for column in columns)


def _columns(*, machine: int, where: int, gpus: int, interval: int, buy: int) -> list[Column]:
    """All columns but those of width 0."""
    found = [
        CURSOR,
        RANK,
        Column("machine", machine, "left", "machine", _machine),
        Column("where", where, "left", "where", _where),
        Column("GPUs", gpus, "left", "gpus", _gpus),
        Column("time", 6, "right", "time", _time),
        Column("interval", interval, "left", "spread", _interval),
        Column("done by", 9, "left", "time", _done),
        Column("cost", 7, "right", "cost", _cost),
        Column("$/h", 6, "right", "hourly", _hourly),
        Column("buy", buy, "left", "buy", _buy),
        Column("binds", 7, "left", "binds", _binds),
        Column("ev", 2, "left", "evidence", _evidence),
    ]
    return [column for column in found if column.width]


def _columns_of_misses(width: int, missed_cells: int) -> list[Column]:
    less = ("interval", "done by", "$/h", "binds") if width < _ROOMY else ()
    for machine, where, gpus, interval, buy in _WIDTHS:
        found = _columns(machine=machine, where=where, gpus=gpus, interval=interval, buy=buy)
        columns = [column for column in found if column.title not in less]
        at = next(index for index, column in enumerate(columns) if column.title == "cost") + 1
        columns.insert(at, Column("misses by", missed_cells, "left", "", _missed))
        spare = width - total_width(columns) + GAP
        if spare >= 0:
            break
    return _grown(columns, spare)


def _grown(columns: list[Column], spare: int) -> list[Column]:
    """What is left over goes to the names, cell by cell."""
    growing = [index for index, column in enumerate(columns) if column.title in ("machine", "where", "GPUs")]
    for number in range(spare):
        index = growing[number % len(growing)]
        columns[index] = columns[index]._replace(width=columns[index].width + 1)
    return columns
