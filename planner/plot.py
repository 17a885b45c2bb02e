"""Lines over time, drawn in characters: the command line prints them as they are, the app colours them."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """``at`` gives the value at an x, NaN where there is nothing to draw; ``mark`` draws it."""

    label: str
    mark: str
    at: Callable[[float], float]


class Point(NamedTuple):
    """Something to mark on a line."""

    x: float
    y: float


def plot(
    lines: Sequence[Line],
    points: Sequence[Point],
    end: float,
    show: Callable[[float], str],
    unit: str,
    *,
    width: int = 64,
    height: int = 14,
) -> list[str]:
    """A chart of ``width`` x ``height`` cells from 0 to ``end``, later lines over earlier ones, then a legend."""
    xs = [column / (width * 2 - 1) * end for column in range(width * 2)]
    highest = max([y for line in lines for y in map(line.at, xs) if math.isfinite(y)] + [1e-9])
    cells = [[" "] * width for _ in range(height)]

    def put(x: float, y: float, mark: str) -> None:
        if math.isfinite(y) and 0 <= y <= highest:
            cells[height - 1 - round(y / highest * (height - 1))][round(x / end * (width - 1))] = mark

    for line in lines:
        for x in xs:
            put(x, line.at(x), line.mark)
    for point in points:
        put(point.x, point.y, "◆")
    middle_row = height // 2
    middle_value = highest * (height - 1 - middle_row) / (height - 1)
    ticks = {0: show(highest), middle_row: show(middle_value), height - 1: show(0.0)}
    margin = max(map(len, ticks.values()))
    drawn = [f"{ticks.get(number, ''):>{margin}} ┤{''.join(row).rstrip()}" for number, row in enumerate(cells)]
    axis = f"{'':>{margin}} └{'─' * width}"
    middle, last = f"{end / 2:g}", f"{end:g} {unit}"
    labels = "0" + middle.center(width - 1 - len(last)) + last
    entries = [f"{line.mark} {line.label}" for line in lines] + (["◆ break-even"] if points else [])
    return [*drawn, axis, *(f"{'':>{margin}}  {line}" for line in (labels, *_legend(entries, width)))]


def _legend(entries: Sequence[str], width: int) -> list[str]:
    """The entries beside each other, in as many lines as the chart's width asks for."""
    rows = [entries[0]]
    for entry in entries[1:]:
        longer = f"{rows[-1]}   {entry}"
        rows = [*rows[:-1], longer] if len(longer) <= width else [*rows, entry]
    return rows
