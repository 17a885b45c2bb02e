"""An input that shows all of its text: in as many lines as that takes, broken behind blanks where there are any."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, get_character_cell_size
from rich.text import Text
from textual import events
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widgets import Input


class WrappedInput(Input):
    """Its height is its owner's to set, by :meth:`lines_at`; a text that has no room in it is seen from its start."""

    _clicked_line = 0

    def lines_at(self, width: int) -> int:
        """How many lines of ``width`` cells show the text and a cursor behind it."""
        return len(breaks(f"{self.value} ", width))

    @property
    def _breaks(self) -> list[int]:
        return breaks(f"{self.value} ", self.scrollable_content_region.width)

    @property
    def content_width(self) -> int:
        """The same whatever the text: it does not scroll, and another size would lay out the whole screen anew."""
        return 1

    def render_line(self, y: int) -> Strip:
        if not self.value:
            return super().render_line(y)
        width, lines = self.scrollable_content_region.width, self._breaks
        if y >= len(lines):
            return Strip.blank(self.size.width, self.rich_style)
        start, end = [*lines, len(self.value) + 1][y : y + 2]
        piece = self._styled()[start:end]
        piece.end = ""
        strip = Strip(self.app.console.render(piece))
        return strip.adjust_cell_length(width).apply_style(self.rich_style)

    def _styled(self) -> Text:
        """The text with its selection and its cursor, where it has the focus."""
        text = Text(self.value, no_wrap=True, overflow="ignore", end="")
        text.pad_right(1)
        if self.has_focus:
            if not self.selection.is_empty:
                text.stylize_before(self.get_component_rich_style("input--selection"), *sorted(self.selection))
            if self._cursor_visible:
                cursor = self.cursor_position
                text.stylize(self.get_component_rich_style("input--cursor"), cursor, cursor + 1)
        return text

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the cursor is on the screen."""
        x, y, _, _ = self.content_region
        line, column = place_of(self.cursor_position, self.value, self._breaks)
        return Offset(x + column, y + line)

    def scroll_to_region(self, region: Region, **_: Any) -> Offset:
        """Nothing of the text is out of sight."""
        return Offset()

    def _on_mouse_down(self, event: events.MouseDown) -> None:  # type: ignore[override]  # before the input's own
        self._clicked_line = event.get_content_offset_capture(self).y

    def _on_mouse_move(self, event: events.MouseMove) -> None:  # type: ignore[override]
        self._clicked_line = event.get_content_offset_capture(self).y

    def _cell_offset_to_index(self, offset: int) -> int:
        """The index of the character in that cell of the line under the mouse."""
        lines = self._breaks
        line = min(max(self._clicked_line, 0), len(lines) - 1)
        start, end = [*lines, len(self.value) + 1][line : line + 2]
        for index in range(start, end - 1):
            offset -= get_character_cell_size(self.value[index])
            if offset < 0:
                return index
        return end - 1


def breaks(text: str, width: int) -> list[int]:
    """The indices at which the lines of ``width`` cells begin, behind blanks where that is in the line."""
    found, blank, used = [0], 0, 0
    for index, character in enumerate(text):
        cells = get_character_cell_size(character)
        if used + cells > max(width, 2):
            start = blank if blank > found[-1] else index
            found.append(start)
            used = cell_len(text[start:index])
        used += cells
        if character == " ":
            blank = index + 1
    return found


def place_of(position: int, text: str, lines: Sequence[int]) -> tuple[int, int]:
    """(line, cell) of the character at that index."""
    line = bisect_right(lines, position) - 1
    return line, cell_len(text[lines[line] : position])
