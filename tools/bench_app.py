"""How long the app takes: from its start to the first picture and to the first answer, and from a key to the new table.

Run on an idle machine: ``python tools/bench_app.py [--runs N]``. The bars: 0.9 s to the first picture, 150 ms (median)
from a key in the form to the re-ranked table, no block of the interface longer than 50 ms. On a machine that others
use, too, only the figures in CPU time mean something.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

from planner.tui.app import PlannerApp
from planner.tui.asked import FIRST_VALUES, Values
from planner.tui.core import Ranked
from planner.tui.settings import Settings

COLUMNS, ROWS = 130, 36
LIMITS = {"deadline": "48h", "budget": "400"}
FIRST_PICTURE, FIRST_ANSWER = "Experiment", "Run it on"
GIVE_UP_S = 20.0
SETTLE_S = 0.5
"""Between keys: what follows an answer (levers, the last rows) is not part of the next one's time."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="starts of the app (5)")
    arguments = parser.parse_args()
    bare = statistics.median(_bare_start() for _ in range(arguments.runs))
    print(f"python -c pass    {bare * 1000:7.0f} ms")
    starts = [_start() for _ in range(arguments.runs)]
    print(f"first picture     {statistics.median(first for first, _ in starts) * 1000:7.0f} ms")
    print(f"first answer      {statistics.median(answer for _, answer in starts) * 1000:7.0f} ms")
    for asked, values in (("", FIRST_VALUES), (", with limits", {**FIRST_VALUES, **LIMITS})):
        keys, cpu, blocks = asyncio.run(_keys(values))
        slowest = f"(slowest of {len(keys)}: {max(keys) * 1000:.0f})"
        print(f"key to new table  {statistics.median(keys) * 1000:7.0f} ms  {slowest}{asked}")
        print(f"  in CPU time     {statistics.median(cpu) * 1000:7.0f} ms  (both threads)")
        print(f"longest block     {max(blocks) * 1000:7.0f} ms  (CPU time of the interface in a turn of its loop)")


def _bare_start() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - started


def _start() -> tuple[float, float]:
    """Seconds from the start in a fresh home until the two texts have been written to the terminal."""
    with tempfile.TemporaryDirectory() as home:
        own = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), home)
        environment = {**os.environ, **own, "TERM": "xterm-256color"}
        started = time.perf_counter()
        process, terminal = pty.fork()
        if process == 0:
            code = "from planner.cli.main import main; main([])"
            os.execve(sys.executable, [sys.executable, "-c", code], environment)
        ioctl(terminal, TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
        try:
            return _until(terminal, FIRST_PICTURE, started), _until(terminal, FIRST_ANSWER, started)
        finally:
            os.kill(process, 9)
            os.waitpid(process, 0)
            os.close(terminal)


def _until(terminal: int, text: str, started: float) -> float:
    seen = b""
    while time.perf_counter() - started < GIVE_UP_S:
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536)
            if text.encode() in seen:
                return time.perf_counter() - started
    raise TimeoutError(f"{text!r} did not come in {GIVE_UP_S:g} s")


async def _keys(values: Values) -> tuple[list[float], list[float], list[float]]:
    """From each key typed into a form of ``values`` until the table shows its plan: seconds, CPU seconds, and the
    interface's blocks in CPU seconds."""
    app = PlannerApp(settings=Settings(values))
    times, cpu, blocks = [], [], [0.0]
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await _changed(app, None)
        await pilot.press("f", "down", "down", "end")
        await asyncio.sleep(SETTLE_S)
        beating = asyncio.create_task(_beat(blocks))
        for key in ("1", "2", "backspace", "backspace", "5", "backspace") * 3:
            before = app.ranked
            started, started_cpu = time.perf_counter(), time.process_time()
            pressing = asyncio.create_task(pilot.press(key))  # which itself waits for more than the table
            await _changed(app, before)
            drawn = asyncio.Event()
            app.screen.call_after_refresh(drawn.set)
            await drawn.wait()
            times.append(time.perf_counter() - started)
            cpu.append(time.process_time() - started_cpu)
            await pressing
            await asyncio.sleep(SETTLE_S)
        beating.cancel()
    return times, cpu, blocks


async def _beat(blocks: list[float]) -> None:
    """Note how long the loop was busy with something else, turn by turn."""
    last = time.thread_time()
    while True:
        await asyncio.sleep(0.001)
        now = time.thread_time()
        blocks.append(now - last)
        last = now


async def _changed(app: PlannerApp, before: Ranked | None) -> None:
    while app.ranked is before:
        await asyncio.sleep(0.001)


if __name__ == "__main__":
    main()
