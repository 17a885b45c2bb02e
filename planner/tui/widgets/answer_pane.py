"""What to do, in two lines: the recommendation, and the one alternative worth knowing. Or why there is none."""

from __future__ import annotations

import textwrap

from rich.text import Text
from textual import events
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.plan.search import Limits
from planner.plan.sentence import PURCHASE_WORDS
from planner.plan.words import gpus_words, machine_name
from planner.tui.arrange import misses
from planner.tui.clock import moment
from planner.tui.core import Ranked
from planner.tui.drawing import both_ends, fitted
from planner.tui.theme import Palette
from planner.units import format_duration, format_money

_WIDE = 90
"""From this width on, machines are named with their place."""


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
        width = self.content_size.width
        if self._palette is not None and width > 0:
            text = answer_text(self._shown, self._problem, self._palette, width, in_form=self._in_form)
            self.update(text, layout=False)


def answer_text(ranked: Ranked | None, problem: str, palette: Palette, width: int, *, in_form: bool = True) -> Text:
    """Two lines of ``width`` cells; ``in_form`` says that the problem can be mended in the form."""
    if problem:
        return _problem_text(problem, _way_out(ranked, in_form), palette, width)
    if ranked is None:
        return _hatched("Reading prices and ranking every machine …", "", palette, width)
    if ranked.recommended is None:
        return _nothing(ranked, palette, width)
    row, wide = ranked.recommended, width >= _WIDE
    first = _recommended(ranked, row, palette, wide=wide)
    sure = next((text for text in _sure(ranked, row, palette) if first.cell_len + text.cell_len < width), Text())
    return Text("\n").join([both_ends(first, sure, width), _alternative(ranked, palette, width)])


def _recommended(ranked: Ranked, row: Estimate, palette: Palette, *, wide: bool) -> Text:
    strong = f"bold {palette.strong}"
    text = Text.assemble(("Run it on ", strong if wide else palette.text))
    text.append(called(row, wide=wide), style=strong)
    if wide:
        text.append(f" ({gpus_words(row)}, {PURCHASE_WORDS.get(row.purchase, row.purchase)})", style=palette.text)
    text.append(": ready " if wide else ": ", style=palette.text)
    text.append(moment(row.finish_at, ranked.plan.generated_at), style=strong).append(" for ", style=palette.text)
    return text.append(format_money(row.cost_usd.p50 if row.cost_usd else None), style=strong)


def called(row: Estimate, *, wide: bool) -> str:
    """'aws p5.48xlarge in us-east-1', 'this machine'."""
    if row.provider is None:
        return machine_name(row)
    return f"{row.provider} {machine_name(row)} in {row.zone or row.region}" if wide else machine_name(row)


def _sure(ranked: Ranked, row: Estimate, palette: Palette) -> list[Text]:
    """How sure it is, the longer wording first."""
    limits = ranked.question.limits
    if row.p_meets is None:
        hours = format_duration(row.time_s.p50 if row.time_s else None)
        return [Text(f"takes {hours}", style=palette.dim), Text(hours, style=palette.dim)]
    both = limits.deadline is not None and limits.budget_usd is not None
    met = "both limits" if both else "the deadline" if limits.deadline is not None else "the budget"
    chance = percent(row.p_meets)
    return [Text.assemble((chance, palette.good), (f" sure{more}", palette.dim)) for more in (f" to meet {met}", "")]


def _alternative(ranked: Ranked, palette: Palette, width: int) -> Text:
    other = ranked.alternative
    if other is None:
        return Text("No other row is both recommendable and better at any value of your time.", style=palette.dim)
    row, now = other.estimate, ranked.plan.generated_at
    ready, cost = moment(row.finish_at, now), format_money(row.cost_usd.p50 if row.cost_usd else None)
    worth = f"If an hour is worth {'more' if other.sooner else 'less'} than {format_money(other.hour_value_usd)} to you"
    wordings = (
        f"{worth}: {called(row, wide=True)}, ready {ready} for {cost}.",
        f"{worth}: {called(row, wide=False)}, ready {ready} for {cost}.",
        f"{'Sooner' if other.sooner else 'Cheaper'}: {called(row, wide=False)}, {ready} for {cost}",
    )
    return Text(next((text for text in wordings if len(text) <= width), fitted(wordings[-1], width)), style=palette.dim)


def _nothing(ranked: Ranked, palette: Palette, width: int) -> Text:
    limits = ranked.question.limits
    rows = [row for row in ranked.plan.estimates if row.time_s is not None and row.cost_usd is not None]
    meeting = sum(not misses(row, limits) for row in rows)
    if not limits.given or not rows or meeting:
        first, *rest = textwrap.wrap(ranked.plan.no_recommendation, max(width - 8, 20)) or ["Nothing fits."]
        second = " ".join(rest)
        if limits.given and meeting:
            first = f"Nothing that may be recommended is ready {limit_words(limits, ranked)}"
            second = f"{meeting} rows are, but need other code, have a cost not known in full, or are nobody's yet."
        return _hatched(first, second, palette, width)
    fastest = min(row.time_s.p50 for row in rows if row.time_s)
    cheapest = min(row.cost_usd.p50 for row in rows if row.cost_usd)
    second = f"The fastest machine needs {format_duration(fastest)}; the cheapest costs {format_money(cheapest)}."
    return _hatched(f"Nothing is ready {limit_words(limits, ranked)}", second, palette, width)


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


def round_money(usd: float) -> str:
    """'$60' and '$6.82': cents only where there are any."""
    return format_money(usd).removesuffix(".00")


def percent(probability: float) -> str:
    """'93 %'; nothing is certain: '> 99 %' and '< 1 %'."""
    if probability > 0.995:
        return "> 99 %"
    return f"{probability * 100:.0f} %" if probability >= 0.005 else "< 1 %"


def _hatched(first: str, second: str, palette: Palette, width: int) -> Text:
    """Sentences in the middle of a hatched ground."""
    lines = []
    for sentence, style in ((first, f"bold {palette.strong}"), (second, palette.dim)):
        words = f"  {fitted(sentence, max(width - 8, 4))}  " if sentence else ""
        left = (width - len(words)) // 2
        line = Text("/" * left, style=palette.border).append(words, style=style)
        lines.append(line.append("/" * (width - left - len(words)), style=palette.border))
    return Text("\n").join(lines)


def _way_out(ranked: Ranked | None, in_form: bool) -> str:
    way = "f changes it in the form" if in_form else "ctrl+r tries again"
    return f"{way}; the table still shows the last answer." if ranked is not None else f"{way}."


def _problem_text(problem: str, way_out: str, palette: Palette, width: int) -> Text:
    """The sentence over two lines where one is too short for it; else what to do about it."""
    first = Text.assemble(("✗ ", f"bold {palette.bad}"))
    room = width - 2
    if len(problem) <= room:
        first.append(problem, style=palette.strong)
        return first.append(f"\n  {way_out}", style=palette.dim)
    cut = problem.rfind(" ", 0, room)
    cut = cut if cut > 0 else room
    first.append(problem[:cut], style=palette.strong)
    return first.append(f"\n  {fitted(problem[cut:].strip(), room)}", style=palette.strong)
