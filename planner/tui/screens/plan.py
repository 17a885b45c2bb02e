"""Plan: the form, the answer, the ranked table, the chart, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from planner.experiment.resolve import describe
from planner.plan.plan import PLACES, Estimate
from planner.tui.amounts import round_money
from planner.tui.arrange import GROUPS, SORTS, Rule, arrange, key_of, misses
from planner.tui.asked import Values
from planner.tui.clock import moment, typed_moment
from planner.tui.commands import PLAN, bindings, footer
from planner.tui.core import Ranked
from planner.tui.drawing import TIME_TICKS_S, axis_around
from planner.tui.messages import FormChanged, RowChosen, SortAsked
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import ChartScreen, TextDialog
from planner.tui.texts import unranked_text
from planner.tui.ways import FIT_KEYS, way_keys
from planner.tui.widgets.answer_pane import AnswerPane, missed_words
from planner.tui.widgets.chart import Chart
from planner.tui.widgets.columns import View
from planner.tui.widgets.comparison import comparison_text
from planner.tui.widgets.completions import Completions
from planner.tui.widgets.field import FieldInput
from planner.tui.widgets.filter_input import FilterInput
from planner.tui.widgets.form import ExperimentForm
from planner.tui.widgets.plan_table import PlanTable
from planner.tui.widgets.why_pane import WhyPane
from planner.units import GIB, UNKNOWN, format_count

_AXIS_ROWS = 60
_FORM_BESIDE = 120
_DIALOG, _DIALOG_EDGES = 118, 8
"""Cells of a wide dialog, and those that its border, air and scroll bar take."""
_BARS = 3
"""Lines of the title, the question and the keys."""
_UNUSED = "not in use"
"""What stands for the worth of an hour where a limit bounds the waiting: the cheapest row within it is the answer."""
_WAYS = {"deadline": "Deadline", "budget": "Budget"}
"""The footer's words for moving a limit."""
_LEGENDS = (
    "ev ● here ◕ same GPU ◑ other GPU ◔ architecture ○ specs",
    "ev ● here ◕ same GPU ◑ other ◔ arch. ○ specs",
)
_LEGEND_EDGES = 10
"""Cells between the counts and the legend, and of the border beside them."""


class PlanScreen(PlannerScreen):
    MODE = "plan"
    AUTO_FOCUS = "#plan"
    PANE_COMMANDS = PLAN
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(PLAN)]

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Ranked, tuple[object, ...]] | None = None
        self._form_place: tuple[int | None, int] = (None, 0)

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            yield ExperimentForm(self.planner.values, self._leave_form)
            with Vertical():
                yield AnswerPane()
                with Vertical(id="plans", classes="pane table-pane"):
                    yield PlanTable()
                    yield FilterInput()
                with Horizontal(id="below"):
                    yield Chart()
                    yield WhyPane()
        yield Completions()

    def on_mount(self) -> None:
        self.query_one("#plans").border_title = "Plans · best offer of each machine"
        super().on_mount()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if isinstance(self.focused, FieldInput):  # whoever types goes on typing, however narrow it gets
            self.query_one(ExperimentForm).add_class("-open")

    def resized(self) -> None:
        super().resized()
        if isinstance(self.focused, FieldInput):
            self.focused.scroll_visible(animate=False)

    def _place_form(self) -> None:
        """Where it slides over the table, it lies under the answer, which tells what is wrong with it."""
        form, size = self.query_one(ExperimentForm), self.app.size
        answer_lines = 6 if self.query_one(AnswerPane).has_class("tall") else 4
        over = size.width < _FORM_BESIDE
        place = (max(size.height - _BARS - answer_lines, 5), answer_lines) if over else (None, 0)
        if place != self._form_place:  # it lays out the whole screen anew
            self._form_place = place
            form.styles.max_height = place[0]
            form.styles.margin = (place[1], 0, 0, 0)

    def keys(self) -> Sequence[tuple[str, str, str]]:
        width = self.app.size.width
        hidden: tuple[str, ...] = (
            ("Form", "Chart") if width >= 120 else ("Chart", "Export") if width >= 100 else ("Filter", "Export")
        )
        ranked = self.planner.ranked
        ways = {_WAYS[one.limit] for one in ranked.relaxations} if ranked is not None else set()
        if ranked is not None and ranked.ways_to_fit and ranked.plan.recommendation is None:
            ways.add("Make it fit")
        if ways:
            hidden = (*hidden, "Sort", "Chart", "Export")
        back = () if self.planner.changes and (ways or width >= 120) else ("Take back",)
        return footer(PLAN, (*hidden, *back, *({"Make it fit", *_WAYS.values()} - ways)))

    def question_words(self) -> tuple[Text, Text]:
        palette, ranked = self.planner.palette, self.planner.ranked
        if ranked is None:
            return Text(self.planner.values.get("model", ""), style=f"bold {palette.strong}"), Text()
        experiment = ranked.plan.experiment
        name, *rest = describe(experiment).split(" · ")
        left = Text.assemble((name, f"bold {palette.strong}")).append(f" · {' · '.join(rest)}", style=palette.text)
        if self.app.size.width >= 100:
            left.append(f"    {format_count(experiment.total_samples)} samples", style=palette.dim)
        return left, self._limit_words(ranked)

    def _limit_words(self, ranked: Ranked) -> Text:
        palette, limits, now = self.planner.palette, ranked.question.limits, ranked.plan.generated_at
        wide = self.app.size.width >= 100
        word = "as of" if self.planner.answer_is_old else "now"
        text = Text(f"{word} {now:%a %H:%M}", style=palette.dim) if wide else Text()
        if limits.deadline is not None:
            text.append("   by ", style=palette.dim).append(moment(limits.deadline, now), style=palette.text)
        if limits.budget_usd is not None:
            text.append("   at most " if wide else "  ≤ ", style=palette.dim)
            text.append(round_money(limits.budget_usd), style=palette.text)
        return text

    def refresh_content(self) -> None:
        palette, ranked = self.planner.palette, self.planner.ranked
        form = self.query_one(ExperimentForm)
        form.paint(palette)
        form.mark_invalid(self.planner.problem_fields)
        self.query_one(AnswerPane).show(ranked, self.planner.problem, palette, in_form=self.planner.problem_in_form)
        self._place_form()
        if ranked is not None and not self._shows(ranked):
            self._show_rows(ranked)
        self.paint_bars()

    def _shows(self, ranked: Ranked) -> bool:
        """Whether the rows are there as they are wanted: most often it is a dialog that has closed."""
        how = (self.planner.order, self.planner.palette, self.app.size)
        before, self._shown = self._shown, (ranked, how)
        return before is not None and before[0] is ranked and before[1] == how

    def _show_rows(self, ranked: Ranked) -> None:
        plan, limits, order = ranked.plan, ranked.question.limits, self.planner.order
        lines = arrange(plan.estimates, limits, order, missed_words(limits, ranked))
        shown = _rows_of(lines)
        if not shown:
            lines = [Rule(f"no row has all of {order.words!r}" if plan.estimates else "nothing is ranked: u tells why")]
        view = self._view(ranked, shown)
        pane = self.query_one("#plans")
        pane.border_title = "Nearest misses" if view.all_miss else "Plans · best offer of each machine"
        refused = f" · {plan.unranked_count:,} offers not ranked (u)" if plan.unranked_count else ""
        counts = f"{len(shown):,} of {ranked.machines}{refused}"
        room = pane.size.width - len(counts) - _LEGEND_EDGES
        pane.border_subtitle = "    ".join([counts, *[words for words in _LEGENDS if len(words) <= room][:1]])
        self.query_one(Chart).set_rows(shown, view)
        chosen = self.planner.chosen
        keep = key_of(chosen) if chosen is not None and self.planner.cursor_moved else None
        self.query_one(PlanTable).show(lines, view, order, keep)

    def _view(self, ranked: Ranked, shown: Sequence[Estimate]) -> View:
        """The time axis holds the recommended row and most of the first: without a tenth of them at either end they
        differ visibly."""
        ends = sorted(row.time_s.p90 for row in shown[:_AXIS_ROWS] if row.time_s is not None)
        starts = sorted(row.time_s.p10 for row in shown[:_AXIS_ROWS] if row.time_s is not None)
        limits, now = ranked.question.limits, ranked.plan.generated_at
        values = [*starts[len(starts) // 10 :][:1], *ends[: max(1, len(ends) * 9 // 10)][-1:]]
        chosen = ranked.plan.recommendation
        if chosen is not None and chosen.estimate.time_s is not None:
            values += [chosen.estimate.time_s.p10, chosen.estimate.time_s.p90]
        return View(
            palette=self.planner.palette,
            now=now,
            limits=limits,
            axis=axis_around(values, TIME_TICKS_S),
            recommended=chosen.rank if chosen is not None else None,
            all_miss=limits.given and all(misses(row, limits) for row in ranked.plan.estimates),
        )

    # What the panes say

    @on(FormChanged)
    def _ask(self, event: FormChanged) -> None:
        if event.values.get("batch", "").strip().lower() == "max":
            self.action_largest_batch()
            return
        self.planner.cursor_moved = False
        self.planner.ask(event.values)

    def _leave_form(self) -> None:
        self.query_one(ExperimentForm).remove_class("-open")
        self.set_focus(self.query_one(PlanTable))
        self.planner.remember()

    @on(RowChosen)
    def _follow(self, event: RowChosen) -> None:
        row = event.estimate
        before = self.planner.chosen
        self.planner.chosen = row
        table = self.query_one(PlanTable)
        if table.has_focus and before is not None and row is not None and key_of(before) != key_of(row):
            self.planner.cursor_moved = True
        ranked = self.planner.ranked
        met = row is not None and ranked is not None and not misses(row, ranked.question.limits)
        self.query_one(WhyPane).show(row, self.planner.palette, with_rank=met)
        self.query_one(Chart).choose(row)
        self._show_resolved(row)
        if row is not None:
            self.planner.find_levers(row)
        self.planner.row_changed()

    def fill(self, values: Values) -> None:
        """Show a question that was not typed here."""
        self.query_one(ExperimentForm).fill(values)

    def step(self, by: int) -> None:
        """Move the cursor without the table having the focus."""
        table = self.query_one(PlanTable)
        self.planner.cursor_moved = True
        if by > 0:
            table.action_cursor_down()
        else:
            table.action_cursor_up()

    def show_levers(self) -> None:
        self.query_one(WhyPane).show_levers(self.planner.levers)

    @on(SortAsked)
    def _sort_clicked(self, event: SortAsked) -> None:
        order = self.planner.order
        self._reorder(sort=event.sort, backwards=event.sort == order.sort and not order.backwards)

    def _show_resolved(self, row: Estimate | None) -> None:
        ranked = self.planner.ranked
        if ranked is None:
            return
        experiment = ranked.plan.experiment
        empties = {
            "dataset": experiment.dataset.name if experiment.dataset else "usual",
            "epochs": f"{experiment.epochs:g}",
            "batch": str(experiment.workload.recipe_batch_size_per_gpu),
            "optimizer": experiment.optimizer,
            "hour_value": _UNUSED if ranked.question.limits.given else "2",
        }
        self.query_one(ExperimentForm).show_resolved(empties, _resolved_facts(ranked, row), self.planner.palette)

    # Commands

    def action_why(self) -> None:
        if self.planner.chosen is not None:
            self.planner.action_go("why")

    def on_data_table_row_selected(self) -> None:
        self.action_why()

    def action_form(self) -> None:
        form = self.query_one(ExperimentForm)
        if not form.display:  # a class that nothing looks at would cost as much as one that opens it
            form.add_class("-open")
        form.focus_first()

    def action_filter(self) -> None:
        self.query_one(FilterInput).open()

    @on(Input.Changed, ".filter")
    def _filtered(self, event: Input.Changed) -> None:
        self._reorder(words=event.value)

    @on(Input.Submitted, ".filter")
    def _filter_kept(self) -> None:
        self.query_one(PlanTable).focus()

    def key_escape(self) -> None:
        if not self.query_one(FilterInput).close(self.query_one(PlanTable)):
            self._leave_form()

    def action_sort(self) -> None:
        order = self.planner.order
        self._reorder(sort=SORTS[(SORTS.index(order.sort) + 1) % len(SORTS)], backwards=False)

    def action_sort_by(self, sort: str) -> None:
        self._reorder(sort=sort, backwards=False)

    def action_backwards(self) -> None:
        self._reorder(backwards=not self.planner.order.backwards)

    def action_group(self) -> None:
        order = self.planner.order
        self._reorder(group=GROUPS[(GROUPS.index(order.group) + 1) % len(GROUPS)])

    def action_pin(self) -> None:
        row, pinned = self.planner.chosen, self.planner.order.pinned
        if row is None:
            return
        key = key_of(row)
        self._reorder(pinned=tuple(one for one in pinned if one != key) if key in pinned else (*pinned, key))

    def action_compare(self) -> None:
        """The pinned rows beside each other; the cursor's row and the recommended one join them."""
        ranked = self.planner.ranked
        if ranked is None:
            return
        by_key = {key_of(row): row for row in ranked.plan.estimates}
        wanted = [
            *self.planner.order.pinned,
            *(key_of(row) for row in (self.planner.chosen, ranked.recommended) if row),
        ]
        rows = [by_key[key] for key in dict.fromkeys(wanted) if key in by_key]
        width = min(self.app.size.width * 24 // 25, _DIALOG) - _DIALOG_EDGES
        text = comparison_text(rows, ranked.plan.generated_at, self.planner.palette, width)
        self.app.push_screen(TextDialog("Side by side · p pins more", text, "v", wide=True))

    def action_recommended(self) -> None:
        self.planner.cursor_moved = False
        self._shown = None
        self.refresh_content()

    def action_only(self, place: str) -> None:
        self._ask_with("where", place)

    def action_next_place(self) -> None:
        """Only laptops, only workstations ... and all again."""
        where = self.planner.values.get("where", "")
        ring = ("", *PLACES)
        self.action_only(ring[(ring.index(where) + 1) % len(ring)] if where in ring else "")

    def action_toggle_place(self, place: str) -> None:
        words = [word.strip() for word in self.planner.values.get("where", "").split(",") if word.strip()] or [*PLACES]
        kept = [word for word in words if word != place] if place in words else [*words, place]
        self.action_only("" if set(kept) >= set(PLACES) else ", ".join(kept))

    def action_relax(self, limit: str) -> None:
        """Move a limit to where something meets it; say so where there is none to move."""
        ranked = self.planner.ranked
        if ranked is None:
            return
        moved = next((one.limits for one in ranked.relaxations if one.limit == limit), None)
        if moved is None:
            given = self.planner.values.get(limit, "")
            why = f"The {limit} is not in the way." if given else f"No {limit} is set, so there is none to relax."
            self.notify(why)
        elif limit == "deadline" and moved.deadline is not None:
            self._ask_with(limit, typed_moment(moved.deadline, ranked.plan.generated_at))
        elif moved.budget_usd is not None:
            self._ask_with(limit, f"{moved.budget_usd:.0f}")

    def action_make_fit(self, way: int) -> None:
        """Change the experiment in one of the ways that let it run."""
        ranked = self.planner.ranked
        ways = () if ranked is None else ranked.ways_to_fit
        if not ways:
            self.notify("The experiment is not too large: there is nothing to make fit.")
        elif way >= len(ways):
            self.notify(f"There is no other way than {'that' if len(ways) == 1 else 'those'} named.")
        elif not self.planner.outdated:
            self.planner.change_question(ways[way].values)

    def ways(self) -> dict[str, Callable[[], object]]:
        """By their keys, what changes the form so that there is another answer, and what takes that back."""
        ranked = self.planner.ranked
        there = way_keys(ranked) if ranked is not None else []
        does: dict[str, Callable[[], object]] = {
            **{key: partial(self.action_make_fit, index) for index, key in enumerate(FIT_KEYS)},
            "d": partial(self.action_relax, "deadline"),
            "b": partial(self.action_relax, "budget"),
            "z": self.action_take_back,
        }
        return {key: do for key, do in does.items() if key in there or (key == "z" and self.planner.changes)}

    def action_take_back(self) -> None:
        self.planner.take_back()

    def action_largest_batch(self) -> None:
        row = self.planner.chosen
        if row is not None:
            self.planner.find_largest_batch(row)

    def take_batch(self, largest: int) -> None:
        """The largest batch is known: it goes into the form."""
        self._ask_with("batch", str(largest))

    def _ask_with(self, key: str, text: str) -> None:
        self.planner.change_question({**self.planner.values, key: text}, same_row=True)

    def action_chart(self) -> None:
        ranked = self.planner.ranked
        if ranked is None:
            return
        lines = arrange(ranked.plan.estimates, ranked.question.limits, self.planner.order, "")
        shown = _rows_of(lines)
        self.app.push_screen(ChartScreen(shown, self._view(ranked, shown), self.planner.chosen))

    def action_unranked(self) -> None:
        ranked = self.planner.ranked
        if ranked is not None:
            self.app.push_screen(TextDialog("Not ranked", unranked_text(ranked.plan, self.planner.palette), "u"))

    def _reorder(self, **changes: object) -> None:
        self.planner.reorder(self.planner.order._replace(**changes))  # type: ignore[arg-type]


def _rows_of(lines: Iterable[Estimate | Rule]) -> list[Estimate]:
    """The rows among the lines of the table, each once: a pinned one stands there twice."""
    return list({key_of(line): line for line in lines if isinstance(line, Estimate)}.values())


def _resolved_facts(ranked: Ranked, row: Estimate | None) -> list[tuple[str, str]]:
    """What the question came to on the row under the cursor."""
    if row is None:
        return []
    needed = row.memory_required_bytes
    limited = ranked.question.limits.given and ranked.question.hour_value_usd is not None
    passes = f" × {row.grad_accum_steps}" if row.grad_accum_steps and row.grad_accum_steps > 1 else ""
    return [
        *([("my hour", _UNUSED)] if limited else []),
        ("GPU batch", f"{row.batch_size_per_gpu or UNKNOWN}{passes}"),
        ("global", UNKNOWN if row.global_batch_size is None else f"{row.global_batch_size:,}"),
        (ranked.plan.experiment.precision, row.precision or UNKNOWN),
        ("memory", UNKNOWN if needed is None else f"{needed / GIB:.1f} GiB"),
    ]
