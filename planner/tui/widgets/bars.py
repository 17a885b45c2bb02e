"""The lines around every screen: name and tabs at the top, the question under it, keys at the bottom."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.widgets import Static

from planner.tui.drawing import both_ends
from planner.tui.panes import PANES
from planner.tui.theme import Palette

MAX_KEYS = 6
_NARROW = 100


class TitleBar(Static):
    """Name, tabs and the state of the prices."""

    auto_links = False

    def paint(self, palette: Palette, active: str, state: Text, short_state: Text) -> None:
        """The fullest of some wordings that the width has room for: names go last, what the prices are never."""
        width = self.app.size.width - 1
        name = Text.assemble((" gpuplanner   ", f"bold {palette.strong}"))
        line = Text()
        for left, right in (
            (name + _tabs(palette, active, "  "), state),
            (name + _tabs(palette, active, " "), short_state),
            (_tabs(palette, active, " "), short_state),
            (_tabs(palette, active, " ", only_active=True), short_state),
        ):
            line = both_ends(left, right, width)
            if left.cell_len + right.cell_len < width:
                break
        self.update(line, layout=False)


def _tabs(palette: Palette, active: str, gap: str, *, only_active: bool = False) -> Text:
    """' 1 Plan   2 Why ...', each a place to click on; the number is the key."""
    text = Text()
    for number, (mode, name, *_) in enumerate(PANES, start=1):
        on = mode == active
        ground = f" on {palette.surface}" if on else ""
        label = Text.assemble((f" {number} ", f"bold {palette.strong}{ground}" if on else palette.faint))
        if on or not only_active:
            label.append(f"{name}{' ' if on else ''}", style=f"bold {palette.strong}{ground}" if on else palette.dim)
        label.stylize(Style(meta={"@click": f"app.go('{mode}')"}))
        text.append_text(label).append("" if on else gap[1:])
    return text


class QuestionLine(Static):
    """The question in words at the left, limits at the right."""

    def paint(self, left: Text, right: Text) -> None:
        line = Text(" ").append_text(left)
        self.update(both_ends(line, right.copy().append(" "), self.app.size.width), layout=False)


class KeyBar(Static):
    """At most six keys with what they do, each clickable."""

    auto_links = False

    def paint(self, palette: Palette, keys: Sequence[tuple[str, str, str]]) -> None:
        """``keys`` are (key as shown, word, action); those that have no room are left out."""
        text = Text(" ")
        width = self.app.size.width
        wide = width >= _NARROW
        for key, word, action in keys[:MAX_KEYS]:
            entry = Text.assemble((key, f"bold {palette.strong}")).append(f" {word}", style=palette.dim)
            entry.stylize(Style(meta={"@click": action}))
            if text.cell_len + entry.cell_len <= width:
                text.append_text(entry).append("    " if wide else "  ")
        text.rstrip()
        right = Text.assemble((f"1-{len(PANES)}", f"bold {palette.strong}")).append(" screens ", style=palette.dim)
        if width < 80:
            right = Text("needs 80 columns for more ", style=palette.dim)
        self.update(both_ends(text, right, width), layout=False)
