"""A sweep's Gantt chart in characters, which command line and app draw: a row a machine, numbered blocks."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from planner.plan.sweep import SweepPlan, Track

SETUP, TAIL, IDLE, LIMIT = "░", "·", " ", "┊"
BLOCKS = ("█", "▓")
"""Neighbours on a machine take turns, so that their border shows."""

LEGEND = f"{SETUP} set-up, {BLOCKS[0]}{BLOCKS[1]} experiments by number, {TAIL} until the P90, {LIMIT} deadline"
_TICKS_S = (300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000)
_LEAST_APART = len("Tue 06:00") + 2
"""Cells from one label's beginning to the next one's: with rounding, a space between them at least."""

_DAY_S = 86400.0
_SEASON_S = _TICKS_S[-1]
"""From this step on a label has its year, and steps are multiples of it."""


def axis_line(span_s: float, width: int, now: datetime) -> str:
    """Clock times over the bars, days or months where the sweep is long: as many as have room in ``width`` cells."""
    least_s = _LEAST_APART * span_s / width
    step = next((tick for tick in _TICKS_S if tick >= least_s), _SEASON_S * math.ceil(least_s / _SEASON_S))
    form = "%a %H:%M" if step < _DAY_S else "%d %b" if step < _SEASON_S else "%b %Y"
    line = [" "] * width
    for index in range(int(span_s / step) + 1):
        at = round(index * step / span_s * width)
        try:
            text = f"{now + timedelta(seconds=index * step):{form}}"
        except OverflowError:  # later than a calendar has years
            break
        if at + len(text) <= width:
            line[at : at + len(text)] = text
    return "".join(line).rstrip()


def bar(track: Track, span_s: float, width: int, deadline_s: float | None = None) -> str:
    """A machine's row: ``span_s`` seconds in ``width`` cells. Numbers count experiments from 1."""
    cells = [IDLE] * width
    if not track.used:
        return "".join(_marked(cells, deadline_s, span_s)).rstrip()

    def cell(seconds: float) -> int:
        return min(width, round(seconds / span_s * width))

    _fill(cells, 0, cell(track.head_s), SETUP)
    for index, placed in enumerate(track.placed):
        first, last = cell(placed.start_s), cell(placed.end_s)
        _fill(cells, first, last, BLOCKS[index % len(BLOCKS)])
        number = str(placed.experiment + 1)
        if last - first >= len(number) + 2:
            cells[first + 1 : first + 1 + len(number)] = number
    _fill(cells, cell(track.end_s.p50), cell(track.end_s.p90), TAIL)
    return "".join(_marked(cells, deadline_s, span_s)).rstrip()


def span_of(plan: SweepPlan, deadline_s: float | None) -> float:
    """Seconds that the chart covers: the slow end, and the deadline where that is not far off."""
    end = plan.makespan_s.p90
    return max(end, deadline_s) if deadline_s is not None and deadline_s <= 2 * end else end


def _fill(cells: list[str], first: int, last: int, character: str) -> None:
    cells[first:last] = character * (last - first)


def _marked(cells: list[str], deadline_s: float | None, span_s: float) -> Sequence[str]:
    if deadline_s is not None and 0 < deadline_s <= span_s:
        at = min(len(cells) - 1, round(deadline_s / span_s * len(cells)))
        if cells[at] in (IDLE, TAIL):
            cells[at] = LIMIT
    return cells


def short_name(name: str, width: int) -> str:
    """A machine's name in ``width`` cells; of one too long the number of the copy stays."""
    base, mark, copy = name.rpartition(" #")
    if len(name) <= width or not mark:
        return name if len(name) <= width else name[: width - 1] + "…"
    kept = width - len(copy) - 3
    return f"{base[:kept]}…{mark}{copy}"
