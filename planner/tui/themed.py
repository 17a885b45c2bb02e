"""The app's two themes: changed at once, and without holding up the keys."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from textual.app import App

from planner.tui.theme import PALETTES, Palette, themes

RESTYLED_AT_ONCE = 12
"""Widgets whose styles are worked out in one turn of the loop: Plan has about forty."""


class ThemedApp(App[None]):
    """``repaint`` is what a subclass does to write everything in the colours of another theme."""

    OTHER_THEME: ClassVar[dict[str, str]] = {"planner-dark": "planner-light", "planner-light": "planner-dark"}

    def __init__(self, theme: str, **options: Any) -> None:
        super().__init__(**options)
        for one in themes():
            self.register_theme(one)
        self.theme = theme

    @property
    def palette(self) -> Palette:
        return PALETTES.get(self.theme, PALETTES["planner-dark"])

    def repaint(self) -> None:
        raise NotImplementedError

    def action_other_theme(self) -> None:
        self.theme = self.OTHER_THEME.get(self.theme, "planner-dark")

    def refresh_css(self, animate: bool = True) -> None:
        """What Textual does when the theme changes, but some widgets at a time: all at once hold up the keys."""
        self.stylesheet.set_variables(self.get_css_variables())
        self.stylesheet.reparse()
        self.call_later(self._restyle, animate)

    async def _restyle(self, animate: bool) -> None:
        """Nothing is drawn before all of it is in the new colours: grounds by the styles, words by ``repaint``."""
        nodes = [self, *(node for screen in self.screen_stack for node in screen.walk_children(with_self=True))]
        with self.batch_update():
            for first in range(0, len(nodes), RESTYLED_AT_ONCE):
                self.stylesheet.update_nodes(nodes[first : first + RESTYLED_AT_ONCE], animate=animate)
                await asyncio.sleep(0)
            self.repaint()
            self.screen.refresh(layout=True)
