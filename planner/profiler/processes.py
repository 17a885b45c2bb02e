"""Child processes that leave nothing behind: each in a group of its own, stopped politely, then firmly.

On Linux this process adopts what its children leave behind (prctl(2), PR_SET_CHILD_SUBREAPER), so that workers which
went into groups of their own are found as well.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any

POLITE_S = 5.0
"""How long a process may take to end after it was asked to."""

_ON_WINDOWS = sys.platform == "win32"
_KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)
_PR_SET_CHILD_SUBREAPER = 36


def start(
    command: Sequence[str], *, stdout: int | IO[Any] | None = None, stderr: int | IO[Any] | None = None
) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own: Ctrl-C in the terminal reaches only us, who then stop it.

    Raises OSError where there is no such command.
    """
    flags: dict[str, Any] = {"start_new_session": True}
    if _ON_WINDOWS:
        flags = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return subprocess.Popen(command, stdout=stdout, stderr=stderr, **flags)


def stop(process: subprocess.Popen[bytes], polite_s: float = POLITE_S, first: int = signal.SIGTERM) -> int:
    """End the process and its group; returns its exit status."""
    if process.poll() is None:
        _signal_group(process, first)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(polite_s)
    _signal_group(process, _KILL)
    return process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the group, which may outlive its leader; a group that is gone is what was wanted."""
    if _ON_WINDOWS:
        process.terminate()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def adopt_orphans() -> None:
    """From now on, what this process's children leave behind becomes its own child (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    """Kill every process below this one, and collect those that have ended (Linux): for a process that has no other
    children than the command it was asked to run."""
    for _ in range(20):  # each round may set free children of those it ended
        pids = list(descendants(os.getpid()))
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, _KILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.02)


def descendants(pid: int) -> Iterator[int]:
    """Processes below ``pid`` by /proc; none where there is no /proc. Ended ones that wait to be collected count."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    todo = list(children.get(pid, ()))
    while todo:
        child = todo.pop()
        yield child
        todo += children.get(child, ())
