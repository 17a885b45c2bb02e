"""What the app is to the long works that it holds: threads, a clock, and an ear for how they get on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from textual.timer import Timer

if TYPE_CHECKING:
    from planner.tui.core import Core, Ranked


class Host(Protocol):
    """The part of the app that a refresh and a profile know."""

    core: Core
    ranked: Ranked | None

    def in_thread(self, work: Callable[[], None], group: str) -> None: ...

    def set_interval(self, interval: float, callback: Callable[[], None]) -> Timer: ...

    def refresh_moved(self) -> None: ...

    def refresh_ended(self, *, wrote: bool) -> None: ...

    def profile_moved(self) -> None: ...

    def profile_ended(self) -> None: ...
