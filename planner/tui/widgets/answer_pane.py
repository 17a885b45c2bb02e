"""What to do, in two lines: the recommendation, and the one alternative worth knowing. Or why there is none."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.plan.search import Limits
from planner.plan.words import bound_mark, gpus_words, machine_name
from planner.tui.amounts import bought_words, percent, round_money
from planner.tui.arrange import misses
from planner.tui.clock import moment
from planner.tui.core import Alternative, Ranked
from planner.tui.drawing import both_ends, fitted
from planner.tui.form_words import in_form
from planner.tui.theme import Palette
from planner.tui.ways import both_given, called, way_lines
from planner.tui.widgets.painted import Painted
from planner.units import format_duration, format_money

_SURE = " sure"
_USUAL_LINES, _MOST_LINES = 2, 4
"""Lines of an answer; of one that says what else there is to do, or of a long problem."""


class AnswerPane(Painted, Static):
    """Lines are laid out for the pane's width whenever that changes."""

    def __init__(self) -> None:
        super().__init__(id="answer", classes="pane")
        self.border_title = "Answer"
        self._shown: Ranked | None = None
        self._problem = ""
        self._in_form = True
        self._palette: Palette | None = None

    def show(self, ranked: Ranked | None, problem: str, palette: Palette, *, in_form: bool = True) -> None:
        """``problem`` is a sentence that stays until the question can be answered; without an answer: loading."""
        self._shown, self._problem, self._palette, self._in_form = ranked, problem, palette, in_form
        self.paint()

    def draw(self, width: int, height: int) -> None:
        passed_over = bool(self._shown is not None and not self._problem and passes_over(self._shown))
        ranked = self._shown if not self._problem else None
        within = ranked is not None and ranked.question.limits.given and ranked.recommended is not None
        self.border_title = "Answer · the cheapest within the limits, whatever an hour is worth" if within else "Answer"
        self.border_subtitle = "a tells why the ranks before it are passed over" if passed_over else ""
        if self._palette is not None:
            text = answer_text(self._shown, self._problem, self._palette, width, in_form=self._in_form)
            self.set_class(text.plain.count("\n") >= _USUAL_LINES, "tall")
            self.update(text, layout=False)


def passes_over(ranked: Ranked) -> bool:
    """Whether rows rank before the recommended one."""
    return ranked.plan.recommendation is not None and bool(ranked.plan.recommendation.passed_over)


def answer_text(ranked: Ranked | None, problem: str, palette: Palette, width: int, *, in_form: bool = True) -> Text:
    """Two lines of ``width`` cells, four at most; ``in_form`` says that the problem can be mended in the form."""
    if problem:
        return _problem_text(problem, _way_out(ranked, in_form), palette, width)
    if ranked is None:
        return _hatched(["Reading prices and ranking every machine …"], palette, width)
    if ranked.recommended is None:
        return _nothing(ranked, palette, width)
    first = _recommended(ranked, ranked.recommended, palette, width)
    return Text("\n").join([first, _alternative(ranked, palette, width)])


def _recommended(ranked: Ranked, row: Estimate, palette: Palette, width: int) -> Text:
    """The first line in the richest wording that has room: which machine and where, when, for how much, how sure."""
    strong = f"bold {palette.strong}"
    name, gpus, bought = called(row, short=False), gpus_words(row), bought_words(row)
    ready = moment(row.finish_at, ranked.plan.generated_at)
    cost = bound_mark(row) + format_money(row.cost_usd.p50 if row.cost_usd else None)
    full, plain, brief = _sure(ranked, row, palette)
    briefest = brief[: len(brief) - len(_SURE)] if row.p_meets is not None else brief
    line = Text()
    for before, machine, behind, sure in (
        ("Run it on ", name, f" ({gpus}, {bought}): ready ", full),
        ("Run it on ", name, f" ({gpus}, {bought}): ready ", plain),
        ("Run it on ", name, f" ({bought}): ready ", plain),
        ("Run it on ", name, f" ({bought}): ready ", brief),
        ("", called(row, short=True), ": ", brief),
        ("", called(row, short=True), ": ", briefest),
        ("", called(row, short=True), ": ", _chance(row, palette)),
        ("", machine_name(row), ": ", _chance(row, palette)),
    ):
        line = Text.assemble((before, strong), (machine, strong), (behind, palette.text), (ready, strong))
        line.append(" for ", style=palette.text).append(cost, style=strong)
        if line.cell_len + sure.cell_len < width:
            return both_ends(line, sure, width)
    return both_ends(line, Text(), width)


def _sure(ranked: Ranked, row: Estimate, palette: Palette) -> tuple[Text, Text, Text]:
    """'takes 22h00, 99 % sure to meet both limits', without the limits, and '22h00, 99 % sure'."""
    limits = ranked.question.limits
    hours = format_duration(row.time_s.p50 if row.time_s else None)
    sure = Text(", ", style=palette.dim).append_text(_chance(row, palette)) if row.p_meets is not None else Text()
    plain = Text(f"takes {hours}", style=palette.dim).append_text(sure)
    met = "both limits" if both_given(limits) else "the deadline" if limits.deadline is not None else "the budget"
    full = plain.copy().append(f" to meet {met}", style=palette.dim) if sure else plain
    return full, plain, Text(hours, style=palette.dim).append_text(sure)


def _chance(row: Estimate, palette: Palette) -> Text:
    if row.p_meets is None:
        return Text()
    return Text.assemble((percent(row.p_meets), palette.good), (_SURE, palette.dim))


def _alternative(ranked: Ranked, palette: Palette, width: int) -> Text:
    other = ranked.alternative
    if other is None:
        return Text("No other row is both recommendable and better at any value of your time.", style=palette.dim)
    row, now = other.estimate, ranked.plan.generated_at
    ready = moment(row.finish_at, now)
    cost = bound_mark(row) + format_money(row.cost_usd.p50 if row.cost_usd else None)
    worth = _worth(other)
    than = "Sooner" if other.sooner else "Cheaper"
    bought = bought_words(row)
    wordings = (
        f"{worth}: {called(row, short=False)} ({bought}), ready {ready} for {cost}.",
        f"{worth}: {called(row, short=True)}, {ready} for {cost}.",
        f"{than}: {called(row, short=False)} ({bought}), ready {ready} for {cost}.",
        f"{than}: {called(row, short=True)}, {ready} for {cost}",
        f"{than}: {machine_name(row)}, {ready} for {cost}",
    )
    return Text(next((text for text in wordings if len(text) <= width), fitted(wordings[-1], width)), style=palette.dim)


def _nothing(ranked: Ranked, palette: Palette, width: int) -> Text:
    if ranked.ways_to_fit:
        return _too_large(ranked, palette, width)
    limits = ranked.question.limits
    rows = [row for row in ranked.plan.estimates if row.time_s is not None and row.cost_usd is not None]
    meeting = sum(not misses(row, limits) for row in rows)
    if not limits.given or not rows or meeting:
        return _why_none(ranked, palette, width)
    fastest = min(row.time_s.p50 for row in rows if row.time_s)
    cheapest = min(row.cost_usd.p50 for row in rows if row.cost_usd)
    second = f"The fastest machine needs {format_duration(fastest)}; the cheapest costs {format_money(cheapest)}."
    text = _hatched([f"Nothing is ready {limit_words(limits, ranked)}", second], palette, width)
    return Text("\n").join([text, *_ways(ranked, palette, width)])


def _why_none(ranked: Ranked, palette: Palette, width: int) -> Text:
    """The planner's own reasons, and ways out, in as many lines as they take."""
    out = _ways(ranked, palette, width)
    said = in_form(ranked.plan.no_recommendation) or "Nothing fits."
    return Text("\n").join([_hatched(_wrapped(said, width, _MOST_LINES - len(out)), palette, width), *out])


def _worth(other: Alternative) -> str:
    """For whom the other row is the better; what rounds to no cent is no price of an hour."""
    usd = format_money(other.hour_value_usd)
    if usd == format_money(0.0):
        return "If waiting costs you anything" if other.sooner else "If waiting costs you nothing"
    return f"If an hour is worth {'more' if other.sooner else 'less'} than {usd} to you"


def _wrapped(sentence: str, width: int, most: int) -> list[str]:
    """At most so many lines that have room on a hatched ground; names and flags are not divided."""
    return textwrap.wrap(sentence, max(width - 8, 20), max_lines=most, placeholder=" …", break_on_hyphens=False)


def _too_large(ranked: Ranked, palette: Palette, width: int) -> Text:
    """Why there is no answer, and the changes of the form that give one, with their keys."""
    said = _wrapped(in_form(ranked.plan.no_recommendation), width, _MOST_LINES // 2)
    ways = _ways(ranked, palette, width)[: _MOST_LINES - len(said)]
    return Text("\n").join([_hatched(said, palette, width, least=1), *ways])


def _ways(ranked: Ranked, palette: Palette, width: int) -> list[Text]:
    lines = way_lines(ranked, palette)
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def limit_words(limits: Limits, ranked: Ranked) -> str:
    """'by Tue 18:00 for $60, 90 % sure'."""
    words = []
    if limits.deadline is not None:
        words.append(f"by {moment(limits.deadline, ranked.plan.generated_at)}")
    if limits.budget_usd is not None:
        words.append(f"for {round_money(limits.budget_usd)}")
    return f"{' '.join(words)}, {percent(limits.confidence)} sure"


def missed_words(limits: Limits, ranked: Ranked) -> str:
    """'misses Tue 18:00 or $60 at 90 %'; '' without limits."""
    words = []
    if limits.deadline is not None:
        words.append(moment(limits.deadline, ranked.plan.generated_at))
    if limits.budget_usd is not None:
        words.append(round_money(limits.budget_usd))
    return f"misses {' or '.join(words)} at {percent(limits.confidence)}" if words else ""


def _hatched(sentences: Sequence[str], palette: Palette, width: int, least: int = _USUAL_LINES) -> Text:
    """Sentences, the first of them strong, in the middle of a hatched ground of ``least`` lines or more."""
    lines = []
    for number, sentence in enumerate((*sentences, *[""] * (least - len(sentences)))):
        style = palette.dim if number else f"bold {palette.strong}"
        words = f"  {fitted(sentence, max(width - 8, 4))}  " if sentence else ""
        left = (width - len(words)) // 2
        line = Text("/" * left, style=palette.border).append(words, style=style)
        lines.append(line.append("/" * (width - left - len(words)), style=palette.border))
    return Text("\n").join(lines)


def _way_out(ranked: Ranked | None, in_form: bool) -> str:
    way = "f changes it in the form" if in_form else "ctrl+r tries again"
    return f"{way}; the table still shows the last answer." if ranked is not None else f"{way}."


def _problem_text(problem: str, way_out: str, palette: Palette, width: int) -> Text:
    """The sentence in as many lines as it takes; in one line, and under it what to do about it."""
    first, *others = textwrap.wrap(problem, max(width - 2, 20), max_lines=_MOST_LINES, placeholder=" …")
    text = Text.assemble(("✗ ", f"bold {palette.bad}"), (first, palette.strong))
    if not others:
        return text.append(f"\n  {way_out}", style=palette.dim)
    return text.append("".join(f"\n  {line}" for line in others), style=palette.strong)
