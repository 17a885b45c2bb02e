"""A pane of text that scrolls where it is longer than the pane."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from planner.tui.widgets.painted import Painted


class FactsPane(Painted, VerticalScroll):
    """``show`` replaces the text, which is written for the pane's width; ``about`` is what F1 says of it."""

    def __init__(self, pane_id: str, title: str, about: str) -> None:
        super().__init__(id=pane_id, classes="pane")
        self.border_title = title
        self.help_text = f"{about}\n\nWhat is not known stands as –.\n\nup, down, page keys   scroll"
        self._write: Callable[[int], Text] = lambda width: Text()

    def compose(self) -> ComposeResult:
        yield Static()

    def show(self, write: Callable[[int], Text]) -> None:
        """``write`` gives the text in lines of so many cells."""
        self._write = write
        self.paint()

    def draw(self, width: int, height: int) -> None:
        self.query_one(Static).update(self._write(width))
