"""What lies over a screen until Escape: a text to read, the chart in full, letters to jump by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.tui.widgets.chart import Chart
from planner.tui.widgets.columns import View

_LETTERS = "asdfghjkl"


class TextDialog(ModalScreen[None]):
    """A titled text; Escape, Enter, q or the key that opened it closes it, a key of ``does`` too, and does that."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(key, "dismiss", show=False) for key in ("escape", "enter", "q")]

    def __init__(
        self,
        title: str,
        text: Text,
        opened_by: str,
        *,
        wide: bool = False,
        does: Mapping[str, Callable[[], object]] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._text, self._opened_by, self._wide = title, text, opened_by, wide
        self._does = does or {}

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="pane dialog wide" if self._wide else "pane dialog") as pane:
            pane.border_title, pane.border_subtitle = self._title, "up, down scroll · Esc closes"
            yield Static(self._text)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def on_key(self, event: events.Key) -> None:
        # A key that was pressed before an earlier one closed this dialog may come after it.
        if self.is_current and (event.key == self._opened_by or event.key in self._does):
            event.stop()
            self.dismiss(None)
            self._does.get(event.key, lambda: None)()


class ChartScreen(ModalScreen[None]):
    """The chart on the whole screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, "dismiss", show=False) for key in ("escape", "enter", "q", "c")
    ]

    def __init__(self, rows: Sequence[Estimate], view: View, chosen: Estimate | None) -> None:
        super().__init__()
        self._rows, self._view, self._chosen = rows, view, chosen

    def compose(self) -> ComposeResult:
        yield Chart()

    def on_mount(self) -> None:
        chart = self.query_one(Chart)
        chart.border_subtitle = "digits = rank · line = Pareto front · Esc closes"
        chart.set_rows(self._rows, self._view)
        chart.choose(self._chosen)


class JumpScreen(ModalScreen[int | None]):
    """A letter over each pane; typing one goes there. The result is the target's index."""

    def __init__(self, targets: Sequence[Widget]) -> None:
        super().__init__()
        self._regions = [target.region for target in targets[: len(_LETTERS)]]

    def compose(self) -> ComposeResult:
        for letter, region in zip(_LETTERS, self._regions, strict=False):
            key = Static(letter, classes="key")
            key.styles.offset = (region.x + 1, region.y)
            yield key

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if not self.is_current:
            return
        index = _LETTERS.find(event.character or "?")
        self.dismiss(index if 0 <= index < len(self._regions) else None)

    def on_click(self) -> None:
        if self.is_current:
            self.dismiss(None)
