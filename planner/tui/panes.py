"""The tabs of the app, in the order of their keys: one line here is all that the app needs to know of a screen."""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.screen import Screen


class Pane(NamedTuple):
    """A tab: its name in the title bar, what the palette says of it, and where its screen is."""

    mode: str
    title: str
    about: str
    module: str
    screen: str

    def open(self) -> "Screen[None]":
        """A new screen. Its module is imported here, when the tab is first opened, which keeps the start short."""
        made: Screen[None] = getattr(import_module(f"planner.tui.screens.{self.module}"), self.screen)()
        return made


PANES = (
    Pane("plan", "Plan", "the ranked machines", "plan", "PlanScreen"),
    Pane("why", "Why", "one row taken apart", "why", "WhyScreen"),
    Pane("machine", "Machine", "what this one is", "machine", "MachineScreen"),
    Pane("prices", "Prices", "every offer known", "prices", "PricesScreen"),
    Pane("buy", "Buy or rent", "a machine of one's own, or a rented one", "breakeven", "BreakevenScreen"),
    Pane("sweep", "Sweep", "many experiments over a pool of machines", "sweep", "SweepScreen"),
)
