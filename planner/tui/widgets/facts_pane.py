"""A pane of text that scrolls where it is longer than the pane."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static


class FactsPane(VerticalScroll):
    """``show`` replaces the text; ``about`` is what F1 says of it."""

    def __init__(self, pane_id: str, title: str, about: str) -> None:
        super().__init__(id=pane_id, classes="pane")
        self.border_title = title
        self.help_text = f"{about}\n\nWhat is not known stands as –.\n\nup, down, page keys   scroll"

    def compose(self) -> ComposeResult:
        yield Static()

    def show(self, text: Text) -> None:
        self.query_one(Static).update(text)
