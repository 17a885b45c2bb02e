"""Sweep: many experiments over a pool of machines, as a Gantt chart with its bill and the other pools there are."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from planner.errors import InputError, PlannerError
from planner.experiment.resolve import describe
from planner.plan.sweep import ORDERS
from planner.plan.sweep_options import Sooner
from planner.plan.swept import Swept
from planner.plan.words import machine_name
from planner.tui.asked import command_line
from planner.tui.clock import moment
from planner.tui.commands import Command, bindings, footer
from planner.tui.drawing import both_ends, fitted
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import TextDialog
from planner.tui.sweep_form import SweepForm
from planner.tui.texts import command_text
from planner.tui.theme import Palette
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.gantt_pane import GanttPane
from planner.units import format_duration, format_money

SWEEP = (
    Command("Sweep", "back to the plan", "escape", "app.go('plan')", "Plan"),
    Command("Sweep", "one more of the plan's machine under the cursor", "a", "screen.add", "Add machine"),
    Command("Sweep", "one less of the last machine", "d", "screen.drop", "Drop"),
    Command("Sweep", "what a machine runs first", "o", "screen.order", "Order"),
    Command("Sweep", "edit the grid", "f", "screen.form", "Grid"),
    Command("Sweep", "this sweep as a command line", "Y", "screen.sweep_command"),
)
_WAIT_S = 0.3
"""Typing must rest that long before the sweep is planned anew."""


@dataclass
class SweepPlanned(Message):
    """The sweep of this form is planned."""

    form: SweepForm
    swept: Swept


@dataclass
class SweepImpossible(Message):
    """It cannot be planned as it stands, for this reason."""

    form: SweepForm
    sentence: str


class SweepScreen(PlannerScreen):
    MODE = "sweep"
    PANE_COMMANDS = SWEEP
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(SWEEP)]
    DEFAULT_CSS = """
    SweepScreen #sweep-answer { height: 4; }
    SweepScreen #sweep-form { height: 4; }
    SweepScreen #sweep-form Input { border: none; height: 1; padding: 0 1; background: $panel; }
    SweepScreen #sweep-form Horizontal { height: 1; }
    SweepScreen #sweep-form Static { width: 7; color: $dim; }
    SweepScreen #gantt { height: 1fr; }
    SweepScreen #sweep-below { height: 13; }
    SweepScreen #pools { width: 74; height: 1fr; }
    SweepScreen #runs { width: 1fr; height: 1fr; }
    SweepScreen.-w100 #runs, SweepScreen.-w80 #runs, SweepScreen.-narrow #runs { display: none; }
    SweepScreen.-w100 #pools, SweepScreen.-w80 #pools, SweepScreen.-narrow #pools { width: 1fr; }
    SweepScreen.-short #sweep-below { height: 7; }
    SweepScreen.-tiny #sweep-below { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._swept: Swept | None = None
        self._problem = ""

    @property
    def form(self) -> SweepForm:
        if self.planner.sweep_form is None:
            self.planner.sweep_form = SweepForm()
        return self.planner.sweep_form

    def compose_body(self) -> Iterator[Widget]:
        with Vertical(id="body"):
            yield Static(id="sweep-answer", classes="pane")
            with Vertical(id="sweep-form", classes="pane"):
                for label, name in (("grid", "sweep-grid"), ("pool", "sweep-pool")):
                    with Horizontal():
                        yield Static(label)
                        yield Input(id=name, compact=True)
            yield GanttPane()
            with Horizontal(id="sweep-below"):
                yield FactsPane("pools", "Pools")
                yield FactsPane("runs", "Experiments")

    def on_mount(self) -> None:
        self.query_one("#sweep-answer").border_title = "Answer"
        self.query_one("#sweep-form").border_title = "Sweep"
        self.query_one("#pools").border_subtitle = "◆ nothing is both sooner and cheaper"
        self.query_one("#sweep-pool", Input).placeholder = "yours, and four of the recommended machine"
        self._fill(self.form)
        self.query_one(GanttPane).focus()
        super().on_mount()
        self._ask()

    def _fill(self, form: SweepForm) -> None:
        """Show the form's texts, without taking that for typing."""
        with self.prevent(Input.Changed):
            self.query_one("#sweep-grid", Input).value = form.grid
            self.query_one("#sweep-pool", Input).value = form.pool

    @on(Input.Changed)
    def _typed(self) -> None:
        grid, pool = (self.query_one(f"#{name}", Input).value for name in ("sweep-grid", "sweep-pool"))
        self._change(self.form._replace(grid=grid, pool=pool))

    @on(Input.Submitted)
    def _typed_enough(self) -> None:
        self.query_one(GanttPane).focus()

    def _change(self, form: SweepForm) -> None:
        self.planner.sweep_form = form
        self.set_timer(_WAIT_S, lambda: self._ask() if form == self.form else None)

    def _ask(self) -> None:
        form, values = self.form, dict(self.planner.values)

        def work() -> None:
            try:
                swept = self.planner.core.sweep(values, form)
            except PlannerError as error:
                self.post_message(SweepImpossible(form, str(error)))
                return
            self.post_message(SweepPlanned(form, swept))

        self.planner.in_thread(work, "sweep")

    def on_sweep_planned(self, message: SweepPlanned) -> None:
        if message.form == self.form:
            self._swept, self._problem = message.swept, ""
            self.refresh_content()

    def on_sweep_impossible(self, message: SweepImpossible) -> None:
        if message.form == self.form:
            self._problem = message.sentence
            self.refresh_content()

    def prices_changed(self) -> None:
        self._ask()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(SWEEP, ("Command",))

    def question_words(self) -> tuple[Text, Text]:
        palette = self.planner.palette
        if self._swept is None:
            return Text("planning the sweep …", style=palette.dim), Text()
        count = len(self._swept.plan.labels)
        left = Text(f"{count:,} experiments", style=f"bold {palette.strong}")
        left.append(f" · {describe(self._swept.experiment)}", style=palette.text)
        return left, _limits_text(self._swept, palette)

    def refresh_content(self) -> None:
        self.paint_bars()
        palette, swept = self.planner.palette, self._swept
        answer = self.query_one("#sweep-answer", Static)
        width = max(answer.content_size.width, 40)
        if self._problem:
            answer.update(Text(self._problem, style=palette.bad))
        elif swept is None:
            answer.update(Text("Planning the sweep …", style=palette.dim))
        else:
            answer.update(_answer_text(swept, palette, width))
        self.query_one(GanttPane).show(swept, palette)
        if swept is not None:
            self.query_one("#pools", FactsPane).show(_pools_text(swept, palette))
            self.query_one("#runs", FactsPane).show(_runs_text(swept, self.form.order, palette))

    def action_form(self) -> None:
        self.query_one("#sweep-grid", Input).focus()

    def action_add(self) -> None:
        row = self.planner.chosen or (self.planner.ranked.recommended if self.planner.ranked else None)
        if row is None:
            return
        what: str = "this machine" if row.is_this_machine else row.place
        if row.provider is not None:
            region = f"@{row.region}" if row.region else ""
            what = f"{row.provider}:{row.instance_type}{region}:{row.purchase}"
        elif not row.is_this_machine and not row.hypothetical:
            self.notify(f"{machine_name(row)} is taken as the best {row.place}", timeout=3)
        self._edit(self.form.with_machine(what))

    def action_drop(self) -> None:
        self._edit(self.form.without_last())

    def action_order(self) -> None:
        self._edit(self.form._replace(order=ORDERS[(ORDERS.index(self.form.order) + 1) % len(ORDERS)]))

    def _edit(self, form: SweepForm) -> None:
        self._fill(form)
        self._change(form)

    def action_sweep_command(self) -> None:
        try:
            words = shlex.split(command_line(self.planner.values))
        except InputError as error:
            self._problem = str(error)
            self.refresh_content()
            return
        line = shlex.join(["gpuplanner", "sweep", *words[2:], *self.form.flags()])
        self.app.copy_to_clipboard(line)
        text = command_text(line, True, self.planner.palette)
        self.app.push_screen(TextDialog("This sweep as a command line", text, "Y"))


def _limits_text(swept: Swept, palette: Palette) -> Text:
    limits, text = swept.limits, Text()
    if limits.deadline is not None:
        text.append("by ", style=palette.dim).append(moment(limits.deadline, swept.started_at), style=palette.text)
    if limits.budget_usd is not None:
        text.append("  at most ", style=palette.dim).append(format_money(limits.budget_usd), style=palette.text)
    return text


def _answer_text(swept: Swept, palette: Palette, width: int) -> Text:
    """What it comes to, and what a day sooner costs: two lines."""
    plan, strong = swept.plan, f"bold {palette.strong}"
    line = Text(f"{len(plan.labels):,} experiments on {plan.used} machines: ready ", style=palette.text)
    line.append(moment(plan.finish_at, swept.started_at), style=strong).append(" for ", style=palette.text)
    line.append(format_money(plan.cost_usd.p50), style=strong)
    if not plan.complete:
        line.append(" and what nobody knows the price of", style=palette.dim)
    right = _verdict(swept, palette, brief=False)
    if line.cell_len + right.cell_len >= width:
        right = _verdict(swept, palette, brief=True)
    return Text("\n").join([both_ends(line, right, width), _sooner_text(swept, palette, width)])


def _verdict(swept: Swept, palette: Palette, *, brief: bool) -> Text:
    """Whether the limits are met and how sure that is; without limits, how near this is to the bound."""
    plan = swept.plan
    if plan.p_meets is None:
        above = f"{plan.makespan_s.p50 / plan.bound_s - 1:.1%}"
        return Text(above if brief else f"{above} above what is possible", style=palette.dim)
    style = palette.good if swept.meets else palette.bad
    verdict = "meets" if swept.meets else "misses"
    return Text(
        f"{verdict} {plan.p_meets:.0%}" if brief else f"{verdict} the limits, {plan.p_meets:.0%} sure", style=style
    )


def _sooner_text(swept: Swept, palette: Palette, width: int) -> Text:
    day, step = swept.day_sooner, swept.next_sooner
    if day is not None:
        words = f"A day sooner: {_more(day)} with {day.pool}."
    elif step is not None:
        words = f"{format_duration(step.seconds)} sooner: {_more(step)} with {step.pool}."
    else:
        words = "None of the pools below ends sooner."
    first = format_duration(swept.plan.feedback.first_s)
    return both_ends(Text(fitted(words, width - 26), style=palette.dim), Text(f"first result after {first}"), width)


def _more(sooner: Sooner) -> str:
    return f"{format_money(abs(sooner.usd))} {'more' if sooner.usd >= 0 else 'less'}"


def _pools_text(swept: Swept, palette: Palette) -> Text:
    limits = swept.limits
    lines = [Text(f"{'pool':<32}{'n':>3}{'makespan':>10}  {'done by':<10}{'cost':>10}", style=palette.dim)]
    for option in swept.options:
        ends_at = swept.started_at + timedelta(seconds=option.makespan_s)
        late = limits.deadline is not None and ends_at > limits.deadline
        dear = limits.budget_usd is not None and option.cost_usd > limits.budget_usd
        name = ("▸ " if option.this else "") + option.name
        line = Text(f"{fitted(name, 31):<32}", style=f"bold {palette.strong}" if option.this else palette.text)
        line.append(f"{option.machines:>3}{format_duration(option.makespan_s):>10}  ", style=palette.text)
        line.append(f"{moment(ends_at, swept.started_at):<10}", style=palette.bad if late else palette.text)
        line.append(f"{format_money(option.cost_usd):>10}", style=palette.bad if dear else palette.text)
        lines.append(line.append(" ◆" if option.on_front else "", style=palette.dim))
    return Text("\n").join(lines)


def _runs_text(swept: Swept, order: str, palette: Palette) -> Text:
    plan, times = swept.plan, swept.plan.feedback
    facts = (
        ("order", f"{order} first" if order != "grid" else "as in the grid"),
        ("results", f"a quarter after {format_duration(times.quarter_s)}, half after {format_duration(times.half_s)}"),
        ("makespan", f"{format_duration(plan.makespan_s.p10)} to {format_duration(plan.makespan_s.p90)}, P10 to P90"),
        ("bound", f"{format_duration(plan.bound_s)}: no schedule ends before"),
        ("idle", f"{plan.idle_s / 3600:,.1f} machine hours"),
    )
    lines = [Text(f"{name:<10}", style=palette.dim).append(words, style=palette.text) for name, words in facts]
    lines.append(Text())
    lines += [
        Text(f"{number:>4} ", style=palette.dim).append(label, style=palette.text)
        for number, label in enumerate(plan.labels, start=1)
    ]
    return Text("\n").join(lines)
