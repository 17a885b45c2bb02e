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
        narrow = self.app.size.width < _NARROW
        text = Text.assemble((" gpuplanner   ", f"bold {palette.strong}"))
        for number, (mode, name, *_) in enumerate(PANES, start=1):
            on = mode == active
            click = Style(meta={"@click": f"app.go('{mode}')"})
            ground = f" on {palette.surface}" if on else ""
            label = Text.assemble((f" {number} ", f"bold {palette.strong}{ground}" if on else palette.faint))
            if on or not narrow:
                label.append(f"{name} ", style=f"bold {palette.strong}{ground}" if on else palette.dim)
            label.stylize(click)
            text.append_text(label)
            text.append("" if narrow else " ")
        self.update(both_ends(text, (short_state if narrow else state).append(" "), self.app.size.width), layout=False)


class QuestionLine(Static):
    """The question in words at the left, limits at the right."""

    def paint(self, left: Text, right: Text) -> None:
        line = Text(" ").append_text(left)
        self.update(both_ends(line, right.copy().append(" "), self.app.size.width), layout=False)


class KeyBar(Static):
    """At most six keys with what they do, each clickable."""

    auto_links = False

    def paint(self, palette: Palette, keys: Sequence[tuple[str, str, str]]) -> None:
        """``keys`` are (key as shown, word, action)."""
        text = Text(" ")
        wide = self.app.size.width >= _NARROW
        for key, word, action in keys[:MAX_KEYS]:
            entry = Text.assemble((key, f"bold {palette.strong}")).append(f" {word}", style=palette.dim)
            entry.stylize(Style(meta={"@click": action}))
            text.append_text(entry).append("    " if wide else "  ")
        text.rstrip()
        width = self.app.size.width
        right = Text.assemble((f"1-{len(PANES)}", f"bold {palette.strong}")).append(" screens ", style=palette.dim)
        if width < 80:
            right = Text("needs 80 columns for more ", style=palette.dim)
        self.update(both_ends(text, right, width), layout=False)
