"""A profile that takes no time: three steps, and a moment to stop it in."""

from __future__ import annotations

import threading

from planner.errors import PlannerError
from planner.tui.profiling import Heard, StoppedError

STEPS = ("cpu: matmul 512x640x640", "cpu: conv 3x3 96>96@28", "cpu: add 1024k")


class SampleProfiling:
    """Tells its steps; ``waits`` for :meth:`stop` after the second, or fails with a sentence, or ends with a note."""

    def __init__(self, *, waits: bool = False, fails: str = "", note: str = "") -> None:
        self._waits = waits
        self._note = note
        self._fails = fails
        self.ended = False
        self._stop = threading.Event()
        self.told = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def run(self, heard: Heard) -> str:
        for number, name in enumerate(STEPS, start=1):
            heard(name, number, len(STEPS))
            if self._waits and number == 2:
                self.told.set()
                self._stop.wait(2)
                raise StoppedError
        if self._fails:
            raise PlannerError(self._fails)
        self.ended = True
        return self._note
