"""The questions asked last, to ask one of them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList

from planner.tui.asked import Values
from planner.tui.recent import called
from planner.tui.theme import Palette

OPENED_BY = "l"


class RecentScreen(ModalScreen[Values | None]):
    """A line a question, the newest first; the result is the chosen one, None for none."""

    DEFAULT_CSS = """
    RecentScreen OptionList { background: $surface; border: none; padding: 0; height: auto; max-height: 24; }
    RecentScreen OptionList > .option-list--option-highlighted { background: $cursor-row; text-style: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", show=False),
        Binding("q", "close", show=False),
        Binding(OPENED_BY, "close", show=False),
    ]

    def __init__(self, questions: Sequence[Values], palette: Palette) -> None:
        super().__init__()
        self._questions, self._palette = questions, palette

    def compose(self) -> ComposeResult:
        with Vertical(classes="pane dialog wide") as pane:
            pane.border_title, pane.border_subtitle = "Asked before", "1-9 or Enter asks it again · Esc closes"
            yield OptionList(*map(self._line, range(len(self._questions))), compact=True, id="questions")

    def _line(self, index: int) -> Text:
        number = (f" {index + 1}  ", f"bold {self._palette.strong}")
        return Text.assemble(number, (called(self._questions[index]), self._palette.text))

    def on_key(self, event: events.Key) -> None:
        # As in the other dialogs: a key that was pressed before an earlier one closed this one may come after it.
        if self.is_current and (event.character or "").isdigit():
            event.stop()
            index = int(event.character or 0) - 1
            if 0 <= index < len(self._questions):
                self.dismiss(self._questions[index])

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._questions[event.option_index])

    def action_close(self) -> None:
        if self.is_current:
            self.dismiss(None)
