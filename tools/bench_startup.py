"""Whole-process wall time of commands against the bare interpreter, interleaved, and their peak memory.

Usage: python tools/bench_startup.py [--runs 9]

Each round runs `python -c pass`, then each command, so that all see the same state of the machine. Printed are medians,
the median of the ratios round by round, and the peak resident memory. The bars: `estimate` at most 20 times the
interpreter, `--help` at most 8 times, 60 MiB; the first run in an empty home at most twice the warm one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ESTIMATE = ("estimate", "--epochs", "90", "--model", "resnet50", "--offline")


def timed(command: list[str], home: Path) -> tuple[float, float]:
    """Wall seconds and peak MiB of one run that must succeed."""
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed")
    return wall, usage.ru_maxrss / 1024


def interpreter_of(script: str) -> str:
    """The interpreter in the script's first line."""
    return Path(script).read_text(encoding="utf-8").splitlines()[0].removeprefix("#!").strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    script = shutil.which("gpuplanner") or str(Path(sys.executable).with_name("gpuplanner"))
    bare = [interpreter_of(script), "-c", "pass"]
    commands = {"estimate": [script, *ESTIMATE], "--help": [script, "--help"]}
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        for command in (bare, *commands.values()):
            timed(command, home)
        rounds = [
            {"bare": timed(bare, home), **{name: timed(command, home) for name, command in commands.items()}}
            for _ in range(runs)
        ]
        first = []
        for number in range(runs):
            fresh = home / f"fresh{number}"
            fresh.mkdir()
            first.append(timed(commands["estimate"], fresh)[0])
    for name in ("bare", *commands):
        walls = [each[name][0] for each in rounds]
        ratio = statistics.median(each[name][0] / each["bare"][0] for each in rounds)
        peak = max(each[name][1] for each in rounds)
        print(f"{name:10} {statistics.median(walls) * 1000:7.1f} ms  {ratio:5.1f} x  peak {peak:.0f} MiB")
    warm = statistics.median(each["estimate"][0] for each in rounds)
    print(
        f"first run in an empty home: {statistics.median(first) * 1000:.1f} ms, "
        f"{statistics.median(first) / warm:.2f} x warm"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
