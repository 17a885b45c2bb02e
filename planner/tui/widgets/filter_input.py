"""The line under a table in which words are typed that its rows must contain."""

from __future__ import annotations

from textual.widget import Widget
from textual.widgets import Input


class FilterInput(Input):
    """Hidden until it is asked for; Enter keeps the words, Escape takes them away."""

    HELP = (
        "Only rows that contain every word: a machine, a GPU, a provider, a region, spot ...\n\nEnter keeps, Esc clears"
    )

    def __init__(self) -> None:
        super().__init__(placeholder="words", classes="filter", compact=True)

    def open(self) -> None:
        self.add_class("-open")
        self.screen.set_focus(self)

    def close(self, table: Widget) -> bool:
        """Take the words away and go back to the table; False where there was no filter."""
        if not self.has_class("-open"):
            return False
        self.value = ""
        self.remove_class("-open")
        table.focus()
        return True
