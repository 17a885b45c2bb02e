"""Run the measuring scripts in the user's interpreter and hand on what they measure, line by line, until time is up."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any

from planner.errors import InputError, PlannerError
from planner.profiler.processes import start, stop

CHILD = Path(__file__).parent / "child"
TORCH_BENCH = CHILD / "torch_bench.py"
PLAIN_BENCH = CHILD / "plain_bench.py"
TRAIN_BENCH = CHILD / "train_bench.py"
DECODE_BENCH = CHILD / "decode_bench.py"

_HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
_PROBE_S = 20.0
_MOST_ERROR_CHARACTERS = 400


def has_torch(python: str) -> bool:
    """Whether that interpreter can import torch. Raises InputError where there is no such interpreter."""
    try:
        probe = subprocess.run([python, "-c", _HAS_TORCH], capture_output=True, timeout=_PROBE_S, check=False)
    except FileNotFoundError as error:
        raise InputError(f"there is no interpreter {python!r} (--python)") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"the interpreter {python!r} cannot be run: {error}") from error
    return probe.returncode == 0


def lines_of(command: Sequence[str], seconds: float) -> Generator[dict[str, Any], None, None]:
    """The JSON objects a measuring script writes, for at most ``seconds``; nothing of it runs when this ends.

    Raises PlannerError with the script's last words where it fails.
    """
    end = time.monotonic() + seconds
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said: queue.Queue[bytes | None] = queue.Queue()
    errors: list[bytes] = []
    threads = [
        threading.Thread(target=_read_lines, args=(process.stdout, said), daemon=True),
        threading.Thread(target=_read_rest, args=(process.stderr, errors), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        while True:
            line = said.get(timeout=max(0.0, end - time.monotonic()))
            if line is None:
                break
            with contextlib.suppress(ValueError):  # a library that talks on standard output
                parsed = json.loads(line)
                if isinstance(parsed, dict):
                    yield parsed
        if process.wait() != 0:
            threads[1].join(1.0)
            raise PlannerError(f"measuring failed: {_last_words(errors)}")
    except queue.Empty:
        return
    finally:
        stop(process, polite_s=0.2)
        for thread, stream in zip(threads, (process.stdout, process.stderr), strict=True):
            thread.join()
            if stream is not None:
                stream.close()


def _read_lines(stream: IO[bytes] | None, said: queue.Queue[bytes | None]) -> None:
    for line in stream or ():
        said.put(line)
    said.put(None)


def _read_rest(stream: IO[bytes] | None, errors: list[bytes]) -> None:
    if stream is not None:
        errors.append(stream.read())


def _last_words(errors: list[bytes]) -> str:
    lines = [line for line in b"".join(errors).decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:_MOST_ERROR_CHARACTERS] if lines else "the script said nothing"
