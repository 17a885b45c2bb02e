"""What watching a training command costs it: pairs of runs, one watched and one not, one after the other.

The command takes steps of fixed work, prints the marker after each and times its steps itself, so that start-up does
not count. Compared are the fastest steps of each run, which nothing else on the machine disturbed: the median over
pairs of their ratio, and its 95 % confidence interval (order statistics, which assume no distribution). Beside it, the
processor time that the watcher itself takes while the command runs: what is left of it when the machine's noise is not.

usage: python tools/bench_watch.py [--pairs 40] [--steps 60]
On a busy Linux machine: chrt -r 5 python tools/bench_watch.py (as root), since a watched command is its own session.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

LIMIT = 1.02
COMMAND = """
import sys, time
steps, times, begin = int(sys.argv[1]), [], time.perf_counter()
for step in range(1, steps + 1):
    start = time.perf_counter()
    total = 0
    for number in range(100_000):
        total += number * number
    print(f"gpuplanner: step={step} samples=32", flush=True)
    times.append(time.perf_counter() - start)
print("ended", min(times), time.process_time(), time.perf_counter() - begin)
"""
GPUPLANNER = [sys.executable, "-c", "from planner.cli.main import run; run()", "profile", "--"]


class Ran(NamedTuple):
    """Seconds: the fastest step, the command's processor time and duration, the processor time of all else."""

    step_s: float
    cpu_s: float
    duration_s: float
    others_cpu_s: float


def ran(prefix: Sequence[str], steps: int) -> Ran:
    before = _children_cpu_s()
    result = subprocess.run(
        [*prefix, sys.executable, "-c", COMMAND, str(steps)], capture_output=True, text=True, check=True
    )
    step_s, cpu_s, duration_s = map(float, result.stdout.rsplit("ended ", 1)[1].split())
    return Ran(step_s, cpu_s, duration_s, _children_cpu_s() - before - cpu_s)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Order statistics between which the median lies with 95 %: a binomial of 1/2 has 2.5 % beyond each."""
    ordered, count = sorted(values), len(values)
    beyond, k = 0.0, 0
    while beyond + math.comb(count, k) / 2**count <= 0.025:
        beyond += math.comb(count, k) / 2**count
        k += 1
    return ordered[max(k - 1, 0)], ordered[min(count - k, count - 1)]


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="what watching a command costs it")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args(argv)
    ratios = []
    for pair in range(arguments.pairs):
        order = [[], GPUPLANNER] if pair % 2 else [GPUPLANNER, []]
        runs = [ran(prefix, arguments.steps) for prefix in order]
        plain, watched = runs if pair % 2 else runs[::-1]
        ratios.append(watched.step_s / plain.step_s)
    middle, (low, high) = statistics.median(ratios), median_interval(ratios)
    print(f"watched / plain step: {middle:.4f} (95 % interval {low:.4f} to {high:.4f}, {len(ratios)} pairs)")
    shares = []
    for _ in range(5):
        short, long = ran(GPUPLANNER, 10), ran(GPUPLANNER, 10 + 10 * arguments.steps)
        shares.append((long.others_cpu_s - short.others_cpu_s) / (long.duration_s - short.duration_s))
    print(f"the watcher takes {statistics.median(shares):.2%} of one core ({min(shares):.2%} to {max(shares):.2%})")
    return 0 if middle <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
