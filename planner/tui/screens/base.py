"""What every screen has: the title bar, a line for the question, a body, and the bar of keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from planner.tui.commands import Command
from planner.tui.widgets.bars import KeyBar, QuestionLine, TitleBar

if TYPE_CHECKING:
    from planner.tui.planner import Planner


class PlannerScreen(Screen[None]):
    """One tab. ``MODE`` is its name in :data:`planner.tui.panes.PANES`, ``PANE_COMMANDS`` what palette and help show
    of it; ``keys`` is what the bar at the bottom shows (key, word, action)."""

    MODE: ClassVar[str] = ""
    PANE_COMMANDS: ClassVar[Sequence[Command]] = ()
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        *((0, "-narrow"), (80, "-w80"), (100, "-w100"), (120, "-w120"), (150, "-w150"))
    ]
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (22, "-short"), (30, "-tall")]  # noqa: RUF012

    @property
    def planner(self) -> Planner:
        return cast("Planner", self.app)

    def compose(self) -> ComposeResult:
        yield TitleBar()
        yield QuestionLine()
        yield from self.compose_body()
        yield KeyBar()

    def compose_body(self) -> Iterator[Widget]:
        raise NotImplementedError

    def keys(self) -> Sequence[tuple[str, str, str]]:
        raise NotImplementedError

    def question_words(self) -> tuple[Text, Text]:
        """The second line: at the left what is asked, at the right its limits."""
        raise NotImplementedError

    def refresh_content(self) -> None:
        """Show what the app knows now; called when the screen comes up and when anything changes."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Write everything anew: the colours are others."""
        self.refresh_content()

    def show_refresh(self) -> None:
        """A refresh of the prices has got on."""

    def show_profile(self) -> None:
        """A profile of this machine has got on."""

    def profile_changed(self) -> None:
        """A profile of this machine has ended, and more may be known of it."""

    def prices_changed(self) -> None:
        """A refresh has ended, and prices may be others."""

    def row_changed(self) -> None:
        """The plan's cursor stands on another row."""

    def paint_bars(self) -> None:
        palette = self.planner.palette
        state, short = self.planner.price_state()
        self.query_one(TitleBar).paint(palette, self.MODE, state, short)
        self.query_one(QuestionLine).paint(*self.question_words())
        self.query_one(KeyBar).paint(palette, self.keys())

    def on_mount(self) -> None:
        self.refresh_content()

    def on_screen_resume(self) -> None:
        self.refresh_content()

    def on_resize(self, event: events.Resize) -> None:
        """The panes write for their widths, which they have after this."""
        self.paint_bars()
        self.call_after_refresh(self.resized)

    def resized(self) -> None:
        self.refresh_content()

    def targets(self) -> Sequence[Widget]:
        """Where jump mode can go: the first focusable widget of each visible pane."""
        found: list[Widget] = []
        for pane in self.query(".pane"):
            if not pane.display or not pane.region:
                continue
            inside = [pane, *pane.query("*")]
            focusable = next((widget for widget in inside if widget.focusable), None)
            if focusable is not None and focusable not in found:
                found.append(focusable)
        return found
