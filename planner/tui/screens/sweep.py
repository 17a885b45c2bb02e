"""Sweep: many experiments over a pool of machines, as a Gantt chart with its bill and the other pools there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from planner.errors import InputError
from planner.experiment.resolve import describe
from planner.plan.sweep import ORDERS, SweepPlan
from planner.plan.sweep_options import Sooner
from planner.plan.swept import Swept
from planner.plan.words import bound_mark, machine_name
from planner.tui.amounts import percent, round_money
from planner.tui.asked import Values
from planner.tui.clock import moment
from planner.tui.commands import Command, bindings, footer
from planner.tui.drawing import both_ends, fact, fitted
from planner.tui.screens.asking import AskingScreen
from planner.tui.sweep_form import SweepForm, pool_words
from planner.tui.theme import Palette
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.gantt_pane import GanttPane
from planner.units import counted, format_duration, format_money

SWEEP = (
    Command("Sweep", "back to the plan", "escape", "app.go('plan')"),
    Command("Sweep", "one more of the plan's machine under the cursor", "a", "screen.add", "Add machine"),
    Command("Sweep", "one less of the last machine", "d", "screen.drop", "Drop"),
    Command("Sweep", "what a machine runs first", "o", "screen.order", "Order"),
    Command("Sweep", "edit the grid", "f", "screen.form", "Grid"),
    Command("Sweep", "this sweep as a command line, and copy it", "y", "screen.own_command", "Command"),
)

_ABOUT_POOLS = """\
What other pools would come to, at P50: machines, makespan, end and cost. Red misses a limit.
◆ is a pool that none of the others beats in both time and cost."""
_ABOUT_RUNS = """\
When results come, how far the end may move, and the experiments with the numbers they have in the chart.
Idle are the hours from the end of a machine in use to the end of the sweep."""
_POOL_FIGURES, _LEAST_NAME = 37, 20
"""Cells of a pool's line beside its name, and the fewest of the name."""


class SweepScreen(AskingScreen[SweepForm, Swept]):
    MODE = COMMAND = "sweep"
    PANE_COMMANDS = SWEEP
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(SWEEP)]
    DEFAULT_CSS = """
    SweepScreen #sweep-form { height: 4; }
    SweepScreen #sweep-form Horizontal { height: 1; }
    SweepScreen #sweep-form Static { width: 7; color: $dim; }
    SweepScreen #gantt { height: 1fr; }
    SweepScreen #sweep-below { height: 11; }
    SweepScreen #pools { width: 78; height: 1fr; }
    SweepScreen #runs { width: 1fr; height: 1fr; }
    SweepScreen.-w100 #runs, SweepScreen.-w80 #runs, SweepScreen.-narrow #runs { display: none; }
    SweepScreen.-w100 #pools, SweepScreen.-w80 #pools, SweepScreen.-narrow #pools { width: 1fr; }
    SweepScreen.-short #sweep-below { height: 7; }
    SweepScreen.-tiny #sweep-below { display: none; }
    """

    @property
    def question(self) -> SweepForm:
        if self.planner.sweep_form is None:
            self.planner.sweep_form = SweepForm()
        return self.planner.sweep_form

    def keep(self, question: SweepForm) -> None:
        self.planner.sweep_form = question

    def work_out(self, values: Values, question: SweepForm) -> Swept:
        return self.planner.core.sweep(values, question)

    def flags(self) -> Sequence[str]:
        return self.question.flags()

    def compose_body(self) -> Iterator[Widget]:
        with Vertical(id="body"):
            yield self.answer_pane()
            with Vertical(id="sweep-form", classes="pane own-form"):
                for label, name in (("grid", "sweep-grid"), ("pool", "sweep-pool")):
                    with Horizontal():
                        yield Static(label)
                        yield Input(id=name, compact=True)
            yield GanttPane()
            with Horizontal(id="sweep-below"):
                yield FactsPane("pools", "Pools", _ABOUT_POOLS)
                yield FactsPane("runs", "Experiments", _ABOUT_RUNS)

    def on_mount(self) -> None:
        self.query_one("#sweep-form").border_title = "Sweep"
        self.query_one("#pools").border_subtitle = "◆ nothing is both sooner and cheaper"
        self.query_one("#sweep-pool", Input).placeholder = "yours, and four of the recommended machine"
        self._fill(self.question)
        self.query_one(GanttPane).focus()
        super().on_mount()

    def _fill(self, form: SweepForm) -> None:
        """Show the form's texts, without taking that for typing."""
        with self.prevent(Input.Changed):
            self.query_one("#sweep-grid", Input).value = form.grid
            self.query_one("#sweep-pool", Input).value = form.pool

    @on(Input.Changed)
    def _typed(self) -> None:
        grid, pool = (self.query_one(f"#{name}", Input).value for name in ("sweep-grid", "sweep-pool"))
        self.change(self.question._replace(grid=grid, pool=pool))

    @on(Input.Submitted)
    def _typed_enough(self) -> None:
        self.query_one("#sweep-form").remove_class("-open")
        self.query_one(GanttPane).focus()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(SWEEP)

    def question_words(self) -> tuple[Text, Text]:
        palette = self.planner.palette
        if self.found is None:
            return Text("" if self.problem else "planning the sweep …", style=palette.dim), Text()
        count = len(self.found.plan.labels)
        left = Text.assemble((counted(count, "experiment"), f"bold {palette.strong}"))
        first = "" if self.found.alike else "the first: "
        left.append(f" · {first}{describe(self.found.experiment)}", style=palette.text)
        return left, _limits_text(self.found, palette)

    def refresh_content(self) -> None:
        self.paint_bars()
        palette, swept = self.planner.palette, self.found
        width = max(self.query_one("#told").content_size.width, 40)
        self.show_answer(None if swept is None else _answer_text(swept, palette, width))
        self.query_one(GanttPane).show(swept, palette)
        if swept is not None:
            order = self.question.order
            self.query_one("#pools", FactsPane).show(lambda width: _pools_text(swept, palette, width))
            self.query_one("#runs", FactsPane).show(lambda width: _runs_text(swept, order, palette, width))

    def action_form(self) -> None:
        self.query_one("#sweep-form").add_class("-open")
        self.query_one("#sweep-grid", Input).focus()

    def action_add(self) -> None:
        row = self.planner.chosen or (self.planner.ranked.recommended if self.planner.ranked else None)
        form = self._with_pool()
        if row is None or form is None:
            return
        what = pool_words(row)
        if row.provider is None and not row.hypothetical and form.has(what):
            self.notify(f"{machine_name(row)} is in the pool already", timeout=3)
        else:
            self._edit(form.with_machine(what))

    def action_drop(self) -> None:
        form = self._with_pool()
        if form is None:
            return
        less = form.without_last()
        if less == form:
            self.notify("A sweep needs a machine; with nothing in its pool line it takes the usual ones.", timeout=3)
        else:
            self._edit(less)

    def _with_pool(self) -> SweepForm | None:
        """The form with its pool in words, to add to and to take from; None where those are not known."""
        usual = self.answered is not None and not self.answered.pool.strip()
        form = self.question.spelt_out(self.found.plan if usual and self.found is not None else None)
        try:
            form.has("")
        except InputError as error:
            self.notify(str(error), timeout=3)
            return None
        if not form.pool.strip():
            self.notify("the usual pool is not known yet", timeout=3)
            return None
        return form

    def action_order(self) -> None:
        self._edit(self.question._replace(order=ORDERS[(ORDERS.index(self.question.order) + 1) % len(ORDERS)]))

    def _edit(self, form: SweepForm) -> None:
        self._fill(form)
        self.change(form)


def _limits_text(swept: Swept, palette: Palette) -> Text:
    limits, text = swept.limits, Text()
    if limits.deadline is not None:
        text.append("by ", style=palette.dim).append(moment(limits.deadline, swept.started_at), style=palette.text)
    if limits.budget_usd is not None:
        text.append("  at most ", style=palette.dim).append(round_money(limits.budget_usd), style=palette.text)
    return text


def _answer_text(swept: Swept, palette: Palette, width: int) -> Text:
    """What it comes to, and what a day sooner costs: two lines."""
    line = right = Text()
    for short, brief in ((False, False), (False, True), (True, True)):
        line, right = _planned(swept, palette, short=short), _verdict(swept, palette, brief=brief)
        if line.cell_len + right.cell_len < width:
            break
    return Text("\n").join([both_ends(line, right, width), _sooner_text(swept, palette, width)])


def _planned(swept: Swept, palette: Palette, *, short: bool) -> Text:
    """'8 experiments on 4 machines: ready Mon 13:44 for $107.44', short: '8 on 4 machines: Mon 13:44 for $107.44'."""
    plan, strong = swept.plan, f"bold {palette.strong}"
    count, ready = (f"{len(plan.labels):,}", "") if short else (counted(len(plan.labels), "experiment"), "ready ")
    line = Text(f"{count} on {counted(plan.used, 'machine')}: {ready}", style=palette.text)
    line.append(moment(plan.finish_at, swept.started_at), style=strong).append(" for ", style=palette.text)
    line.append(bound_mark(plan) + format_money(plan.cost_usd.p50), style=strong)
    if not plan.complete:
        line.append("?" if short else " and what nobody knows the price of", style=palette.warn)
    return line


def _verdict(swept: Swept, palette: Palette, *, brief: bool) -> Text:
    """Whether the limits are met and how sure that is; without limits, how near this is to the bound."""
    plan = swept.plan
    if plan.p_meets is None:
        above = f"{(plan.makespan_s.p50 / plan.bound_s - 1) * 100:.1f} %"
        return Text(f"{above} above {'the bound' if brief else 'what is possible'}", style=palette.dim)
    style = palette.good if swept.meets else palette.bad
    verdict = "meets" if swept.meets else "misses"
    sure = f"{percent(plan.p_meets)} sure"
    return Text(f"{verdict}, {sure}" if brief else f"{verdict} the limits, {sure}", style=style)


def _sooner_text(swept: Swept, palette: Palette, width: int) -> Text:
    day, step = swept.day_sooner, swept.next_sooner
    if day is not None:
        words = f"A day sooner: {_more(day)} with {day.pool}."
    elif step is not None:
        words = f"{format_duration(step.seconds)} sooner: {_more(step)} with {step.pool}."
    else:
        words = "None of the pools below ends sooner." if len(swept.options) > 1 else ""
    first = format_duration(swept.plan.feedback.first_s)
    right = Text(f"first result after {first}", style=palette.dim)
    return both_ends(Text(fitted(words, width - 26), style=palette.dim), right, width)


def _more(sooner: Sooner) -> str:
    return f"{format_money(abs(sooner.usd))} {'more' if sooner.usd >= 0 else 'less'}"


def _pools_text(swept: Swept, palette: Palette, width: int) -> Text:
    """A line a pool in ``width`` cells; what the figures leave is the name's."""
    limits, name_cells = swept.limits, max(width - _POOL_FIGURES, _LEAST_NAME)
    head = f"{'pool':<{name_cells}}{'n':>3}{'makespan':>10}  {'done by':<10}{'cost':>10}"
    lines = [Text(head, style=palette.dim)]
    for option in swept.options:
        ends_at = swept.started_at + timedelta(seconds=option.makespan_s)
        late = limits.deadline is not None and ends_at > limits.deadline
        dear = limits.budget_usd is not None and option.cost_usd > limits.budget_usd
        name = ("▸ " if option.this else "") + option.name
        style = f"bold {palette.strong}" if option.this else palette.text
        line = Text.assemble((f"{fitted(name, name_cells - 1):<{name_cells}}", style))
        line.append(f"{option.machines:>3}{format_duration(option.makespan_s):>10}  ", style=palette.text)
        line.append(f"{moment(ends_at, swept.started_at):<10}", style=palette.bad if late else palette.text)
        cost = bound_mark(option) + format_money(option.cost_usd)
        line.append(f"{cost:>10}", style=palette.bad if dear else palette.text)
        lines.append(line.append(" ◆" if option.on_front else "", style=palette.dim))
    return Text("\n").join(lines)


def _idle_words(plan: SweepPlan) -> str:
    """'1.5 hours of the 3 machines in use, 1 not used'."""
    unused = len(plan.tracks) - plan.used
    words = f"{plan.idle_s / 3600:,.1f} hours of the {counted(plan.used, 'machine')} in use"
    return f"{words}, {unused} not used" if unused else words


def _runs_text(swept: Swept, order: str, palette: Palette, width: int) -> Text:
    plan, times = swept.plan, swept.plan.feedback
    facts = (
        ("order", f"{order} first" if order != "grid" else "as in the grid"),
        ("results", f"quarter after {format_duration(times.quarter_s)}, half after {format_duration(times.half_s)}"),
        ("makespan", f"{format_duration(plan.makespan_s.p10)} to {format_duration(plan.makespan_s.p90)}, P10 to P90"),
        ("bound", f"{format_duration(plan.bound_s)}: no schedule ends before"),
        ("idle", _idle_words(plan)),
    )
    lines = [fact(name, words, "", 10, width, palette) for name, words in facts]
    lines.append(Text())
    lines += [
        Text(f"{number:>4} ", style=palette.dim).append(label, style=palette.text)
        for number, label in enumerate(plan.labels, start=1)
    ]
    return Text("\n").join(lines)
