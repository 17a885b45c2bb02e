"""Run the user's own training command unchanged, for a bounded time, and say what it did.

What it prints passes through byte for byte; where our output is a terminal it gets a terminal of its own, so that its
bars look as they always do. Steps are read from the same bytes (:mod:`step_log`); a GPU's use, memory and power come
from NVIDIA's library once a second; processor time and memory from the system when the command has ended.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.profiler.energy import EnergyMeter
from planner.profiler.nvml import Nvml, open_nvml
from planner.profiler.processes import adopt_orphans, end_orphans, start, stop
from planner.profiler.step_log import StepLog, Summary

_LOOK_S = 0.25
"""How often somebody looks for a signal, a bound in time, a GPU: what the command's end and steps do not wait for."""

_GPU_LOOK_S = 1.0
_LAST_OUTPUT_S = 5.0
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Watched(NamedTuple):
    """What the command did. ``exit_status`` is the one to leave with; ``stopped`` says what ended it ('' itself)."""

    exit_status: int
    stopped: str
    seconds: float
    summary: Summary
    cpu_s: float | None
    peak_memory_bytes: float | None
    gpu_share: float | None
    gpu_peak_bytes: float | None
    energy_j: float | None


class Bounds(NamedTuple):
    """When the command is stopped; None is never."""

    seconds: float | None = None
    steps: int | None = None


def watch(command: Sequence[str], bounds: Bounds, nvml: Callable[[], Nvml | None] = open_nvml) -> Watched:
    """Run the command to its end, a bound or a signal. Raises InputError where there is no such command."""
    log = StepLog(time.monotonic)
    meter = EnergyMeter(nvml=nvml)
    gpus = _GpuWatch(nvml())
    adopt_orphans()
    wake = threading.Event()
    with _Pipes(log, bounds.steps, wake) as pipes, _caught() as caught:
        begin = time.monotonic()
        meter.start()
        try:
            process = start(command, stdout=pipes.stdout, stderr=pipes.stderr)
        except OSError as error:
            raise InputError(f"cannot run {command[0]!r}: {error.strerror or error}") from error
        pipes.pump()
        threading.Thread(target=_wake_at_end, args=(process, wake), daemon=True).start()
        stopped = _wait(process, bounds, log, caught, begin, gpus, wake)
        polite = caught[0] if caught and stopped == "signal" else signal.SIGTERM
        status = stop(process, first=polite)
        end_orphans()
        seconds = time.monotonic() - begin
    cpu_s, peak_bytes = _used_by_children()
    return Watched(
        exit_status=_exit_status(status, stopped, caught),
        stopped=stopped,
        seconds=seconds,
        summary=log.summary(),
        cpu_s=cpu_s,
        peak_memory_bytes=peak_bytes,
        gpu_share=gpus.share,
        gpu_peak_bytes=gpus.peak_bytes,
        energy_j=meter.energy().total_j,
    )


def _wait(
    process: subprocess.Popen[bytes],
    bounds: Bounds,
    log: StepLog,
    caught: list[int],
    begin: float,
    gpus: "_GpuWatch",
    wake: threading.Event,
) -> str:
    """Wait for the end of the command, a bound or a signal; what came first: '', 'time', 'steps', 'signal'."""
    while True:
        wake.wait(_LOOK_S)
        if caught:
            return "signal"
        if process.poll() is not None:
            return ""
        if bounds.seconds is not None and time.monotonic() - begin >= bounds.seconds:
            return "time"
        if bounds.steps is not None and log.steps >= bounds.steps:
            return "steps"
        gpus.look()


def _wake_at_end(process: subprocess.Popen[bytes], wake: threading.Event) -> None:
    """Waiting in the system costs nothing, where looking again and again would cost the command."""
    process.wait()
    wake.set()


def _exit_status(status: int, stopped: str, caught: list[int]) -> int:
    """The command's own, as a shell gives it (128 + signal); 0 where we stopped it at a bound."""
    if stopped in ("time", "steps"):
        return 0
    if stopped == "signal":
        return 128 + caught[0]
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _caught() -> Iterator[list[int]]:
    """Signals that arrive while the command runs, instead of what they would do."""
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Pipes:
    """The command's two outputs: what comes out of them is written to ours at once, and shown to the log."""

    def __init__(self, log: StepLog, most_steps: int | None, wake: threading.Event) -> None:
        self._log = log
        self._most_steps = most_steps
        self._wake = wake
        self._ends: list[tuple[str, int, int]] = []
        self._threads: list[threading.Thread] = []
        self.stdout = self._open("stdout", 1)
        self.stderr = self._open("stderr", 2)

    def _open(self, name: str, ours: int) -> int:
        reader, writer = _terminal(ours) if os.isatty(ours) and sys.platform != "win32" else os.pipe()
        self._ends.append((name, reader, ours))
        return writer

    def __enter__(self) -> "_Pipes":
        sys.stdout.flush()
        sys.stderr.flush()
        return self

    def pump(self) -> None:
        """Start reading, once the command holds the other ends."""
        self._close_writers()
        self._threads = [threading.Thread(target=self._pass_on, args=end, daemon=True) for end in self._ends]
        for thread in self._threads:
            thread.start()

    def __exit__(self, *exception: object) -> None:
        self._close_writers()
        for thread in self._threads:
            thread.join(_LAST_OUTPUT_S)
        for _, reader, _ in self._ends:
            with contextlib.suppress(OSError):
                os.close(reader)

    def _close_writers(self) -> None:
        for descriptor in (self.stdout, self.stderr):
            if descriptor >= 0:
                os.close(descriptor)
        self.stdout = self.stderr = -1

    def _pass_on(self, name: str, reader: int, ours: int) -> None:
        """Until the command closes its end; a terminal whose last user has gone answers with an error."""
        try:
            while data := os.read(reader, 1 << 16):
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(ours, rest) :]
                self._log.feed(name, data)
                if self._most_steps is not None and self._log.steps >= self._most_steps:
                    self._wake.set()
        except BrokenPipeError:
            os.close(reader)  # nobody reads us: the command learns of it by its next write
        except OSError:
            return


def _terminal(like: int) -> tuple[int, int]:
    """A terminal as large as ours that leaves bytes as they are: (end to read, end for the command)."""
    import pty
    import termios

    reader, writer = pty.openpty()
    attributes: list[Any] = termios.tcgetattr(writer)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(writer, termios.TCSANOW, attributes)
    with contextlib.suppress(termios.error, AttributeError):
        termios.tcsetwinsize(writer, termios.tcgetwinsize(like))
    return reader, writer


class _GpuWatch:
    """Looks at all NVIDIA GPUs once a second: the share of time a kernel ran, and the most memory in use."""

    def __init__(self, nvml: Nvml | None) -> None:
        self._nvml = nvml
        self._looked_at = 0.0
        self._shares: list[float] = []
        self.peak_bytes: float | None = None

    @property
    def share(self) -> float | None:
        return sum(self._shares) / len(self._shares) if self._shares else None

    def look(self) -> None:
        if self._nvml is None or time.monotonic() - self._looked_at < _GPU_LOOK_S:
            return
        self._looked_at = time.monotonic()
        details = [self._nvml.detail(index) for index in range(self._nvml.device_count())]
        shares = [detail.busy_share for detail in details if detail.busy_share is not None]
        used = [detail.used_bytes for detail in details if detail.used_bytes is not None]
        if shares:
            self._shares.append(sum(shares) / len(shares))
        if used:
            self.peak_bytes = max(self.peak_bytes or 0.0, sum(used))


def _used_by_children() -> tuple[float | None, float | None]:
    """(processor seconds of the command and its children, most memory of the largest of them)."""
    if sys.platform == "win32":
        return None, None
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, float(usage.ru_maxrss * unit)
