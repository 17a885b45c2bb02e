"""The app's one refresh of prices: started, watched and stopped from whichever tab is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

from textual.timer import Timer

from planner.errors import PlannerError
from planner.tui.host import Host
from planner.tui.refreshing import ASK_ABOVE_BYTES, Refreshing, RefreshState

LOOK_EVERY_S = 0.2


class RefreshControl:
    """``state`` is the refresh that runs, or the last one; ``asks_bytes`` how much would be read, where that is so much
    that a person must start it again to have it read. ``read`` says that a person has seen how it went,
    ``failed_before`` that the last one of an earlier session is known to have failed."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self.clock: Callable[[], float] = time.monotonic
        self._refreshing: Refreshing | None = None
        self._looking: Timer | None = None
        self._providers: tuple[str, ...] = ()
        self.state: RefreshState | None = None
        self.asks_bytes = 0
        self.busy = self.read = self.failed_before = False

    def start(self, providers: Sequence[str] = ()) -> None:
        """Refresh these providers, without any those that need no set-up; nothing while a refresh runs."""
        if self.busy:
            return
        agreed = self.asks_bytes > 0
        self._providers = self._providers if agreed else tuple(providers)
        self.busy, self.read, self.asks_bytes, self.state, self._refreshing = True, False, 0, None, None
        self._app.in_thread(partial(self._work, self._providers, agreed), "refresh")
        self._looking = self._app.set_interval(LOOK_EVERY_S, self._look)
        self._app.refresh_moved()

    def stop(self) -> bool:
        """Let it end after what it has written; False where none runs."""
        self.asks_bytes = 0
        if not self.busy:
            return False
        if self._refreshing is not None:
            self._refreshing.stop()
        return True

    def retry(self) -> None:
        """Try again what failed."""
        if self.state is not None and self.state.failures:
            self.start(tuple(dict.fromkeys(failure.provider for failure in self.state.failures)))
        elif self.state is not None and (self.state.problem or self.state.stopped):
            self.start(self._providers)

    def _work(self, providers: tuple[str, ...], agreed: bool) -> None:
        """In a worker thread."""
        state = RefreshState({}, self.clock)
        try:
            refreshing = self._app.core.refreshing(providers)
            size = 0 if agreed else refreshing.large_bytes()
            if size > ASK_ABOVE_BYTES:
                self.asks_bytes = size
                return
            self._refreshing = refreshing
            self.state = state = RefreshState(refreshing.sources, self.clock)
            state.ended(refreshing.run(state.heard))
        except PlannerError as error:
            state.problem = str(error)
            self.state = state
        except asyncio.CancelledError:
            state.stopped = True
        finally:
            self.busy = False

    def _look(self) -> None:
        if not self.busy and self._looking is not None:
            self._looking.stop()
            self._looking = None
            self._app.refresh_ended(wrote=self._refreshing is not None)
        self._app.refresh_moved()
