"""Why: one row taken apart, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import DataTable, Static

from planner.experiment.resolve import describe
from planner.plan.explain import Explanation
from planner.plan.lever_runs import LeverRun
from planner.plan.plan import Estimate
from planner.plan.words import gpus_words, machine_name
from planner.throughput.levers import Lever
from planner.tui.arrange import key_of
from planner.tui.clock import moment
from planner.tui.commands import WHY, bindings, footer
from planner.tui.core import Ranked
from planner.tui.drawing import fitted
from planner.tui.form_words import in_form
from planner.tui.screens.base import PlannerScreen
from planner.tui.widgets.why_panes import (
    BesidePane,
    OperationsPane,
    ReactionPane,
    StagesPane,
    StepPane,
    WhyTable,
    lever_cells,
)
from planner.units import format_money

_ONE_PANE = 100
"""Below this width the panes lie below each other, and reading starts at the top."""


@dataclass
class Explained(Message):
    """The core has taken the row apart; None where it can say nothing about it. ``levers`` with their whole runs."""

    ranked: Ranked
    row: Estimate
    explanation: Explanation | None
    levers: Sequence[LeverRun] = ()


class LeverTable(DataTable[Text]):
    """Levers, those that fit first, the soonest done of them first."""

    HELP = """\
What would change the row, one lever at a time: the whole run's time and cost, and memory, against the run as it is.

Space   puts the lever into the form; everything is ranked again
z       takes back what a key changed last
n, N    the next row of the plan, the one before"""


class WhyScreen(PlannerScreen):
    MODE = "why"
    PANE_COMMANDS = WHY
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(WHY)]

    def __init__(self) -> None:
        super().__init__()
        self._explained: Explained | None = None
        self._wanted: tuple[Ranked, Estimate] | None = None

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            with Vertical(classes="column"):
                yield StepPane()
                yield OperationsPane()
                yield StagesPane()
            with Vertical(classes="column"):
                yield BesidePane()
                yield ReactionPane()
                with Vertical(id="levers", classes="pane table-pane"):
                    yield LeverTable(cursor_type="row", cell_padding=0, cursor_foreground_priority="renderable")
                    yield Static(id="lever")

    def on_mount(self) -> None:
        pane = self.query_one("#levers")
        pane.border_title = "Levers"
        pane.border_subtitle = "Space tries · z takes back"
        self.query_one(StepPane if self.app.size.width < _ONE_PANE else LeverTable).focus()
        super().on_mount()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(WHY, () if self.planner.changes else ("Take back",))

    @property
    def row(self) -> Estimate | None:
        """The row under the plan's cursor, as the newest plan has it."""
        ranked, chosen = self.planner.ranked, self.planner.chosen
        if ranked is None or chosen is None:
            return None
        key = key_of(chosen)
        return next((row for row in ranked.plan.estimates if key_of(row) == key), None)

    def question_words(self) -> tuple[Text, Text]:
        palette, ranked, row = self.planner.palette, self.planner.ranked, self.row
        if ranked is None or row is None:
            return Text("No row is chosen.", style=palette.dim), Text()
        left = Text.assemble((machine_name(row), f"bold {palette.strong}"))
        wide, tried = self.app.size.width >= _ONE_PANE, self.planner.tried
        if tried:
            left.append(f" · {tried} is on, z takes it back", style=palette.accent)
        if wide or not tried:
            left.append(f" · {gpus_words(row)} · rank {row.rank} of {ranked.machines}", style=palette.text)
        if wide:
            left.append(f"    {describe(ranked.plan.experiment)} → {row.precision}", style=palette.dim)
        right = Text("ready ", style=palette.dim)
        right.append(moment(row.finish_at, ranked.plan.generated_at), style=f"bold {palette.strong}")
        right.append("  for ", style=palette.dim)
        return left, right.append(
            format_money(row.cost_usd.p50 if row.cost_usd else None), style=f"bold {palette.strong}"
        )

    def refresh_content(self) -> None:
        ranked, row = self.planner.ranked, self.row
        self.paint_bars()
        if ranked is None or row is None:
            return
        known = self._explained
        fresh = known is not None and known.ranked.number == ranked.number and key_of(known.row) == key_of(row)
        explanation = known.explanation if known is not None and fresh else None
        for pane in self.query(WhyTable):
            pane.show(row, explanation, self.planner.palette)
        if known is not None and fresh:
            self._show_levers(known.levers)
        elif self._wanted is None or self._wanted[0].number != ranked.number or key_of(self._wanted[1]) != key_of(row):
            self._wanted = (ranked, row)
            self.planner.in_thread(partial(self._explain, ranked, row), "explain")

    def _explain(self, ranked: Ranked, row: Estimate) -> None:
        core = self.planner.core
        explanation = core.explain(ranked, row)
        runs = core.lever_runs(ranked, row, explanation) if explanation is not None else ()
        self.post_message(Explained(ranked, row, explanation, runs))

    def on_explained(self, message: Explained) -> None:
        self._explained = message
        self.refresh_content()

    def _show_levers(self, levers: Sequence[LeverRun]) -> None:
        palette = self.planner.palette
        table = self.query_one(LeverTable)
        cursor = table.cursor_row
        width = max(table.size.width, 50)
        table.clear(columns=True)
        for title, cells in ((" lever", 24), ("  time ", 7), ("  cost ", 7), ("memory ", 7), (" note", width - 45)):
            table.add_column(Text(title, style=palette.dim), width=cells)
        for lever, _, time_factor, cost_factor in levers:
            name = Text(f" {fitted(lever.name, 22)}", style=palette.text if lever.fits else palette.faint)
            note = _note(lever)
            factors = lever_cells((time_factor, cost_factor, lever.memory_factor), palette)
            table.add_row(name, *factors, Text(f" {fitted(note, width - 47)}", style=palette.dim))
        if levers:
            table.move_cursor(row=min(cursor, len(levers) - 1), animate=False)

    @on(DataTable.RowHighlighted)
    def _tell_lever(self, event: DataTable.RowHighlighted) -> None:
        """All of what is to be known of the lever under the cursor, which its line cuts."""
        lever = self._lever_at(event.cursor_row)
        note = "" if lever is None else f"{lever.name}: {_note(lever)}"
        self.query_one("#lever", Static).update(Text(note, style=self.planner.palette.text))

    def _lever_at(self, index: int) -> Lever | None:
        levers = self._explained.levers if self._explained is not None else ()
        return levers[index].lever if 0 <= index < len(levers) else None

    def action_step(self, by: int) -> None:
        self.planner.step(by)

    def row_changed(self) -> None:
        self.refresh_content()

    def action_try_lever(self) -> None:
        """The lever under the cursor; where the levers are out of sight, show them first."""
        table = self.query_one(LeverTable)
        if not table.has_focus and not self.query_one("#body").can_view_entire(table):
            table.focus()
            return
        lever = self._lever_at(table.cursor_row)
        if lever is not None:
            self.planner.try_lever(lever)

    def action_take_back(self) -> None:
        self.planner.take_back()


def _note(lever: Lever) -> str:
    return lever.note if lever.fits else f"does not fit: {in_form(lever.estimate.reason)}"
