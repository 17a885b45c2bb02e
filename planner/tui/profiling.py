"""A quick profile of this machine, as the app runs it: in a worker thread, told step by step, stopped at any."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from planner.errors import InputError
from planner.profiler.detect import LocalMachine
from planner.profiler.session import HOST_S, QUICK_S, Session
from planner.profiler.this_machine import profile_path

MOST_S = QUICK_S
"""A profile takes no longer."""

Heard = Callable[[str, int, int | None], None]


class StoppedError(Exception):
    """Somebody asked it to end; what was measured is kept."""


class Profiling(Protocol):
    """One profile. ``run`` tells (what, done, total) of each step that is done, and returns what there is to say of it
    ('' mostly); it raises PlannerError, or StoppedError."""

    def run(self, heard: Heard) -> str: ...

    def stop(self) -> None: ...


class LiveProfiling:
    """The micro-benchmarks of ``gpuplanner profile --quick``, in the interpreter that was measured with last."""

    def __init__(self, local: Callable[[], LocalMachine], now: Callable[[], datetime]) -> None:
        self._local = local
        self._now = now
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def run(self, heard: Heard) -> str:
        path = profile_path()
        if path is None:
            raise InputError("there is no home directory to keep a profile in")

        def told(name: str, done: int, total: int | None) -> None:
            if self._stopped:
                raise StoppedError
            heard(name, done, total)

        local = self._local()
        session = Session(local, path, self._now)
        session.look(local)
        python = session.python if os.path.exists(session.python) else sys.executable
        note = session.measure(python, quick=True, seconds=MOST_S - HOST_S, progress=told)
        session.measure_host(python, HOST_S, told)
        return note or ""
