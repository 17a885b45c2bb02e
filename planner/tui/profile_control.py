"""The app's one profile of this machine: it goes on while other tabs are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from planner.errors import PlannerError
from planner.plan.plan import Estimate
from planner.tui.profiling import Profiling, StoppedError

if TYPE_CHECKING:
    from planner.tui.app import PlannerApp

LOOK_EVERY_S = 0.2


class ProfileControl:
    """``before`` is this machine's row as it was when the profile began; ``step`` (what, done, total) where it is."""

    def __init__(self, app: PlannerApp) -> None:
        self._app = app
        self._profiling: Profiling | None = None
        self._looking: Timer | None = None
        self.busy = False
        self.stopped = False
        self.problem = ""
        self.step: tuple[str, int, int | None] | None = None
        self.before: Estimate | None = None

    def start(self) -> None:
        """Begin; nothing while one runs."""
        if self.busy:
            return
        self.busy, self.stopped, self.problem, self.step = True, False, "", None
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
                self._profiling.run(self._hear)
        except PlannerError as error:
            self.problem = str(error)
        except StoppedError:
            self.stopped = True
        finally:
            self.busy = False

    def _hear(self, name: str, done: int, total: int | None) -> None:
        self.step = (name, done, total)

    def _look(self) -> None:
        if not self.busy and self._looking is not None:
            self._looking.stop()
            self._looking = None
            self._app.profile_ended()
        self._app.profile_moved()
