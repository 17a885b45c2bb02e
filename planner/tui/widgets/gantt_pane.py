"""The Gantt chart of a sweep: a row a machine with its bar, and under it how it is bought and what it costs."""

from __future__ import annotations

from datetime import timedelta

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from planner.plan import gantt
from planner.plan.sentence import machine_words
from planner.plan.sweep import SweepPlan, Track
from planner.plan.swept import Swept
from planner.plan.words import bound_mark, had_word
from planner.tui.clock import moment
from planner.tui.drawing import fitted
from planner.tui.theme import Palette
from planner.tui.widgets.painted import Painted

_NAME, _GPUS, _MORE_GPUS = 16, 14, 18
_NARROW, _WIDE = 90, 110
_LEAST_BAR = 16


class GanttPane(Painted, VerticalScroll):
    """Drawn anew when the sweep or the width changes."""

    HELP = """\
Who runs what when, at P50.

Blocks are experiments with their numbers; ░ is setting up, · goes on to the P90, ┊ is the deadline.
Under a machine's name stands how it is bought and what it costs.

up, down   scroll where there are more machines than rows"""

    def __init__(self) -> None:
        super().__init__(id="gantt", classes="pane")
        self.border_title = "Gantt"
        self.border_subtitle = "numbers = experiments · ░ set-up · tail to P90"
        self._swept: Swept | None = None
        self._palette: Palette | None = None

    def compose(self) -> ComposeResult:
        yield Static()

    def show(self, swept: Swept | None, palette: Palette) -> None:
        self._swept, self._palette = swept, palette
        self.paint()

    def draw(self, width: int, height: int) -> None:
        if self._palette is None:
            return
        text = Text() if self._swept is None else gantt_text(self._swept, self._palette, width, height)
        self.query_one(Static).update(text)


def gantt_text(swept: Swept, palette: Palette, width: int, height: int) -> Text:
    """The axis, the machines and the sum, in lines of ``width`` cells; one line a machine where two have no room."""
    plan = swept.plan
    roomy = height >= 2 * len(plan.tracks) + 2
    deadline = swept.limits.deadline
    deadline_s = None if deadline is None else (deadline - swept.started_at).total_seconds()
    span_s = gantt.span_of(plan, deadline_s)
    middle = _MORE_GPUS if width >= _WIDE and roomy else _GPUS if width >= _NARROW or not roomy else 0
    left = _NAME + 1 + (middle + 1 if middle else 0)
    cells = max(_LEAST_BAR, width - left - 1)
    lines = [Text(" " * left + gantt.axis_line(span_s, cells, swept.started_at), style=palette.dim)]
    for track in plan.tracks:
        head = Text(f"{gantt.short_name(track.machine.name, _NAME):<{_NAME}} ", style=palette.text)
        if middle and roomy:
            words = machine_words(track.machine.candidate)
            head.append(f"{fitted(words, middle):<{middle}} ", style=palette.dim)
        elif middle:
            bought = _purchase(track, palette)
            head.append_text(bought).append(" " * (middle + 1 - bought.cell_len))
        lines.append(head.append_text(_bar(track, span_s, cells, deadline_s, palette)))
        if roomy:
            lines.append(_purchase(track, palette))
    return Text("\n").join([*lines, _sum(plan, swept, palette)])


def _purchase(track: Track, palette: Palette) -> Text:
    candidate = track.machine.candidate
    bought = candidate.purchase(track.machine.offer)
    line = Text(f"{had_word(bought, hypothetical=candidate.hypothetical):<5}", style=palette.faint)
    if not track.used:
        return line.append("not used", style=palette.faint)
    unknown = "" if track.cost_known else "?"
    return line.append(f"{bound_mark(track)}{_exact(track.cost_usd)}{unknown}", style=palette.dim)


def _exact(usd: float) -> str:
    """To the cent whatever the size: the lines must add up to the sum."""
    return f"${usd:,.2f}"


def _sum(plan: SweepPlan, swept: Swept, palette: Palette) -> Text:
    paid = sum(part.usd or 0.0 for part in plan.credits)
    line = Text("sum  ", style=palette.faint).append(
        bound_mark(plan) + _exact(plan.cost_usd.p50), style=f"bold {palette.strong}"
    )
    if paid:
        line.append(f" after {_exact(-paid)} of credits", style=palette.dim)
    ends = moment(swept.started_at + timedelta(seconds=plan.makespan_s.p50), swept.started_at)
    return line.append(f"   ends {ends}", style=palette.dim)


def _bar(track: Track, span_s: float, cells: int, deadline_s: float | None, palette: Palette) -> Text:
    """The characters in colours: a place's colour and a darker one take turns; words never rest on colour alone."""
    ground = palette.places[track.machine.candidate.place]
    text, style = Text(), ""
    for character in gantt.bar(track, span_s, cells, deadline_s):
        if character == gantt.BLOCKS[0]:
            style = f"{palette.background} on {ground}"
            text.append(" ", style=style)
        elif character == gantt.BLOCKS[1]:
            style = f"{palette.strong} on {palette.border}"
            text.append(" ", style=style)
        elif character.isdigit():
            text.append(character, style=f"bold {style}")
        else:
            text.append(character, style=palette.warn if character == gantt.LIMIT else palette.faint)
    return text
