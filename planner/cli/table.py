"""Text tables: columns that align, cells that never overflow, styles only where a terminal shows them."""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

Align = Literal["left", "right"]
Style = Literal["plain", "bold", "dim", "warn"]

_CODES: dict[Style, str] = {"plain": "", "bold": "\x1b[1m", "dim": "\x1b[2m", "warn": "\x1b[33m"}
_RESET = "\x1b[0m"
_FALLBACK_SIZE = (100, 24)
_LEAST_WORDS = 8


class Column(NamedTuple):
    """``width`` is the most a cell may take; longer ones end in an ellipsis, or go on below where ``wraps``.

    Where the screen is narrow, a column with ``least`` may be narrowed so far, and those of the highest ``drop`` go
    first; a column without either always stays as it is.
    """

    title: str
    align: Align = "left"
    width: int = 60
    least: int | None = None
    drop: int = 0
    wraps: bool = False


def terminal_width() -> int:
    """Columns of the terminal, ``$COLUMNS`` first; at least 40."""
    return max(40, shutil.get_terminal_size(_FALLBACK_SIZE).columns)


def use_color() -> bool:
    """Styles are for terminals, and not where ``NO_COLOR`` is set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: Style, color: bool) -> str:
    return f"{_CODES[style]}{text}{_RESET}" if color and style != "plain" else text


def shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def wrapped(text: str, width: int, hanging: str = "") -> list[str]:
    """The text in lines, later ones indented by ``hanging``; a flag (``--hour-value``) or a path stays whole."""
    return textwrap.wrap(text, width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False)


def paragraph(title: str, texts: Sequence[str], width: int, color: bool, style: Style = "dim") -> list[str]:
    """All texts as one paragraph under a title, and a blank line; nothing where there are none."""
    if not texts:
        return []
    return [*(styled(line, style, color) for line in wrapped(f"{title}: {'; '.join(texts)}.", width)), ""]


def render(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], styles: Sequence[Style] = (), *, color: bool = False
) -> list[str]:
    """Lines of the table, as many columns as the terminal has room for: a dim header, then the styled rows."""
    columns, rows = with_room(columns, rows, terminal_width())
    cells = [[_cell(cell, column) for cell, column in zip(row, columns, strict=True)] for row in rows]
    widths = [
        max([len(column.title), *(len(line) for row in cells for line in row[i])]) for i, column in enumerate(columns)
    ]
    lines = [styled(_line([column.title for column in columns], columns, widths), "dim", color)]
    for number, row in enumerate(cells):
        style = styles[number] if number < len(styles) else "plain"
        lines += [styled(_line(line, columns, widths), style, color) for line in zip_longest(*row, fillvalue="")]
    return lines


def _cell(text: str, column: Column) -> list[str]:
    """The lines of a cell."""
    return wrapped(text, column.width) if column.wraps and text else [shorten(text, column.width)]


def fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[Column] | None:
    """The columns with those that may be narrowed as wide as the line allows; None where it has no room for all."""
    widths = [
        max([len(column.title), *(min(len(row[i]), column.width) for row in rows)]) for i, column in enumerate(columns)
    ]
    excess = sum(widths) + len(columns) - 1 - width
    fitting = []
    for column, needed in zip(columns, widths, strict=True):
        room = 0 if column.least is None else max(0, needed - max(column.least, len(column.title)))
        taken = min(room, max(0, excess))
        excess -= taken
        fitting.append(column._replace(width=needed - taken))
    return fitting if excess <= 0 else None


def with_room(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int
) -> tuple[Sequence[Column], Sequence[Sequence[str]]]:
    """The columns that a line has room for, narrowed to fit, and their cells; chosen, never clipped.

    Where that is not enough, words are shortened to ``_LEAST_WORDS`` at the least; figures stay whole.
    """
    while True:
        fitting = fitted(columns, rows, width)
        droppable = [place for place, column in enumerate(columns) if column.drop]
        if fitting is not None:
            return fitting, rows
        if not droppable:
            return fitted([_of_few_words(column) for column in columns], rows, width) or columns, rows
        gone = max(droppable, key=lambda place: columns[place].drop)
        columns = [*columns[:gone], *columns[gone + 1 :]]
        rows = [[*row[:gone], *row[gone + 1 :]] for row in rows]


def _of_few_words(column: Column) -> Column:
    return column._replace(least=min(column.least or _LEAST_WORDS, _LEAST_WORDS)) if column.align == "left" else column


def markdown(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The same table as GitHub-flavoured Markdown."""
    marks = ["---:" if column.align == "right" else "---" for column in columns]
    lines = [[column.title for column in columns], marks, *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if column.align == "right" else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    return " ".join(padded).rstrip()
