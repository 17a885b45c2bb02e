"""What to do, in two lines: the recommendation, and the one alternative worth knowing. Or why there is none."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.plan.search import Limits
from planner.plan.words import bound_mark, buy_word, gpus_words, machine_name, place_of_offer
from planner.tui.amounts import bought_words, percent, round_money
from planner.tui.arrange import misses
from planner.tui.asked import changed_words
from planner.tui.clock import moment
from planner.tui.core import Alternative, Ranked
from planner.tui.drawing import both_ends, fitted
from planner.tui.theme import Palette
from planner.units import format_duration, format_money

if TYPE_CHECKING:
    from planner.plan.relax import Relaxation


_SURE = " sure"
_USUAL_LINES, _MOST_LINES = 2, 4
"""Lines of an answer; of one that says what else there is to do, or of a long problem."""


class AnswerPane(Static):
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
        self._paint()

    def on_resize(self, event: events.Resize) -> None:
        self._paint()

    def _paint(self) -> None:
        passed_over = bool(self._shown is not None and not self._problem and passes_over(self._shown))
        within = self._shown is not None and not self._problem and self._shown.question.limits.given
        self.border_title = "Answer · the cheapest within the limits, whatever an hour is worth" if within else "Answer"
        self.border_subtitle = "a tells why the ranks before it are passed over" if passed_over else ""
        width = self.content_size.width
        if self._palette is not None and width > 0:
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


def called(row: Estimate, *, short: bool) -> str:
    """'aws p5.48xlarge in us-east-1', 'this machine'; short: 'aws p5.48xlarge us-east-1 spot', 'this machine own'."""
    where = place_of_offer(row.region, row.zone)
    if short:
        parts = (row.provider, machine_name(row), where, buy_word(row))
        return " ".join(part for part in parts if part)
    name = machine_name(row) if row.provider is None else f"{row.provider} {machine_name(row)}"
    return f"{name} in {where}" if where else name


def _sure(ranked: Ranked, row: Estimate, palette: Palette) -> tuple[Text, Text, Text]:
    """'takes 22h00, 99 % sure to meet both limits', without the limits, and '22h00, 99 % sure'."""
    limits = ranked.question.limits
    hours = format_duration(row.time_s.p50 if row.time_s else None)
    sure = Text(", ", style=palette.dim).append_text(_chance(row, palette)) if row.p_meets is not None else Text()
    plain = Text(f"takes {hours}", style=palette.dim).append_text(sure)
    both = limits.deadline is not None and limits.budget_usd is not None
    met = "both limits" if both else "the deadline" if limits.deadline is not None else "the budget"
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
    return Text("\n").join([text, *(_way_to(one, ranked, palette, width) for one in ranked.relaxations)])


def _why_none(ranked: Ranked, palette: Palette, width: int) -> Text:
    """The planner's own reasons, and ways out, in as many lines as they take."""
    out = [_way_to(one, ranked, palette, width) for one in ranked.relaxations]
    ways = [f"{way[0].upper()}{way[1:]}." for way in ranked.plan.nearest]
    said = " ".join((ranked.plan.no_recommendation, *ways)) or "Nothing fits."
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
    """Why there is no answer, and the changes of the form that give one; ``t`` makes the first of them."""
    said = _wrapped(ranked.plan.no_recommendation, width, _MOST_LINES // 2)
    ways = ranked.ways_to_fit[: _MOST_LINES - len(said)]
    lines = [_hatched(said, palette, width, least=1)]
    for key, way in zip(("t", *" " * len(ways)), ways, strict=False):
        row = way.estimate
        line = Text.assemble((f" {key}  ", f"bold {palette.strong}"))
        line.append(changed_words(ranked.values, way.values), style=f"bold {palette.strong}")
        cost = bound_mark(row) + format_money(row.cost_usd.p50 if row.cost_usd else None)
        line.append(f"   then {format_duration(row.time_s.p50 if row.time_s else None)} for {cost}", style=palette.text)
        line.append(f" ({way.note})" if way.note else "", style=palette.warn)
        line.append(f" on {called(row, short=True)}", style=palette.dim)
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    return Text("\n").join(lines)


def _way_to(relaxed: Relaxation, ranked: Ranked, palette: Palette, width: int) -> Text:
    """'d  deadline to Mon 12:15   lab-a100 is ready by then; the budget is still missed'."""
    limits = ranked.question.limits
    if relaxed.limit == "deadline":
        key, other, to = "d", "budget", moment(relaxed.limits.deadline, ranked.plan.generated_at)
    else:
        key, other, to = "b", "deadline", round_money(relaxed.limits.budget_usd or 0.0)
    text = Text.assemble((f" {key}  ", f"bold {palette.strong}"), (f"{relaxed.limit} to ", palette.text))
    text.append(to, style=f"bold {palette.strong}")
    name, both = machine_name(relaxed.estimate), limits.deadline is not None and limits.budget_usd is not None
    met = "meets both" if both else "meets it"
    then = f"then {name} {met}" if relaxed.meets_all else f"then {name} meets it, but not the {other}"
    text.append(" " * max(28 - text.cell_len, 2)).append(then, style=palette.dim)
    text.truncate(width, overflow="ellipsis")
    return text


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
