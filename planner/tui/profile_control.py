"""The app's one profile of this machine: it goes on while other tabs are open."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer

from planner.errors import PlannerError
from planner.plan.plan import Estimate
from planner.tui.host import Host
from planner.tui.profiling import MOST_S, Profiling, StoppedError

LOOK_EVERY_S = 0.2


class ProfileControl:
    """``before`` is this machine's row as it was when the profile began; ``step`` (what, done, total) where it is,
    ``measured`` what it has done. ``note`` is what it had to say in the end."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self.clock: Callable[[], float] = time.monotonic
        self._started_s = 0.0
        self._profiling: Profiling | None = None
        self._looking: Timer | None = None
        self.busy = False
        self.stopped = False
        self.problem = self.note = ""
        self.step: tuple[str, int, int | None] | None = None
        self.measured: list[str] = []
        self.before: Estimate | None = None

    def start(self) -> None:
        """Begin; nothing while one runs."""
        if self.busy:
            return
        self.busy, self.stopped, self.problem, self.note, self.step = True, False, "", "", None
        self.measured, self._started_s = [], self.clock()
        self.before = self._app.ranked.this_machine if self._app.ranked is not None else None
        self._profiling = self._app.core.profiling()
        self._app.in_thread(self._work, "profile")
        self._looking = self._app.set_interval(LOOK_EVERY_S, self._look)
        self._app.profile_moved()

    def stop(self) -> bool:
        """End it after the measurement it is at; False where none runs."""
        if self._profiling is not None:
            self._profiling.stop()
        return self.busy

    def _work(self) -> None:
        """In a worker thread."""
        try:
            if self._profiling is not None:
                self.note = self._profiling.run(self._hear)
        except PlannerError as error:
            self.problem = str(error)
        except StoppedError:
            self.stopped = True
        finally:
            self.busy = False

    def _hear(self, name: str, done: int, total: int | None) -> None:
        self.step = (name, done, total)
        self.measured.append(name)

    @property
    def elapsed_s(self) -> float:
        return self.clock() - self._started_s

    @property
    def left_s(self) -> float:
        """The most that it will still take."""
        return max(MOST_S - self.elapsed_s, 1.0)

    def _look(self) -> None:
        if not self.busy and self._looking is not None:
            self._looking.stop()
            self._looking = None
            self._app.profile_ended()
        self._app.profile_moved()
