"""Child processes that leave nothing behind: each in a group of its own, stopped politely, then firmly."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

POLITE_S = 5.0
"""How long a process may take to end after it was asked to."""

_ON_WINDOWS = sys.platform == "win32"


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
    """End the process and everything it started; returns its exit status."""
    _signal_group(process, first)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(polite_s)
    if process.poll() is None or not _ON_WINDOWS:
        _signal_group(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    return process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the group, which may outlive its leader; a group that is gone is what was wanted."""
    if _ON_WINDOWS:
        process.terminate()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
