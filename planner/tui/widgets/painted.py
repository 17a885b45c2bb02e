"""What a widget has whose lines are laid out for its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.geometry import Size


class Painted:
    """Beside a widget's class: drawn when what it shows changes, by ``paint``, and whenever its size does.

    No widget itself: Textual takes keys and styles from a widget's first base alone.
    """

    if TYPE_CHECKING:

        @property
        def content_size(self) -> Size: ...

    def on_resize(self, event: events.Resize) -> None:
        self.paint()

    def paint(self) -> None:
        width, height = self.content_size
        if width > 0:
            self.draw(width, height)

    def draw(self, width: int, height: int) -> None:
        """Write what it shows in lines of ``width`` cells."""
        raise NotImplementedError
