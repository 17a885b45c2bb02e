"""A grid of text cells to draw charts in, and braille dots, eight to a cell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille cell by row and column (Unicode 16.0, section 21.1)."""

_BRAILLE = 0x2800


class Cells:
    """``height`` rows of ``width`` cells, addressed from the top left; what falls outside is left out."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._cells: list[list[tuple[str, str]]] = [[(" ", "")] * width for _ in range(height)]

    def put(self, column: int, row: int, text: str, style: str) -> None:
        """Over what is there already."""
        for offset, glyph in enumerate(text):
            if 0 <= row < self.height and 0 <= column + offset < self.width:
                self._cells[row][column + offset] = (glyph, style)

    def is_free(self, column: int, row: int, cells: int) -> bool:
        """Whether that many cells are within the grid and blank."""
        inside = 0 <= row < self.height and column >= 0 and column + cells <= self.width
        return inside and all(glyph == " " for glyph, _ in self._cells[row][column : column + cells])

    def text(self) -> Text:
        return Text("\n").join(_line(cells) for cells in self._cells)


def _line(cells: list[tuple[str, str]]) -> Text:
    """Neighbours of one style in one piece: thousands of pieces would take longer to show than to draw."""
    text = Text()
    for style, run in groupby(cells, key=lambda cell: cell[1]):
        text.append("".join(glyph for glyph, _ in run), style=style)
    return text


class Braille:
    """Dots, two a column and four a row; iterated, (column, row, glyph) of each cell that has any."""

    def __init__(self) -> None:
        self._bits: dict[tuple[int, int], int] = {}

    def dot(self, x: int, y: int) -> None:
        cell = (x // 2, y // 4)
        self._bits[cell] = self._bits.get(cell, 0) | _DOTS[y % 4][x % 2]

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        for (column, row), bits in self._bits.items():
            yield column, row, chr(_BRAILLE + bits)
