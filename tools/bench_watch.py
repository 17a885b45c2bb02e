"""What watching a training command costs it: pairs of runs, watched and not, one after the other.

The command takes steps of fixed work and prints the marker after each; it times its steps itself, so that start-up does
not count. Printed are the mean ratio of the median step times and its 95 % confidence interval (Student's t over the
logarithms of the pairs).

usage: python tools/bench_watch.py [--pairs 12] [--steps 60]
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
from collections.abc import Sequence

LIMIT = 1.02
COMMAND = """
import statistics, sys, time
steps, times = int(sys.argv[1]), []
for step in range(1, steps + 1):
    begin = time.perf_counter()
    total = 0
    for number in range(400_000):
        total += number * number
    print(f"gpuplanner: step={step} samples=32", flush=True)
    times.append(time.perf_counter() - begin)
print(f"median {statistics.median(times[steps // 10:])}")
"""
GPUPLANNER = [sys.executable, "-c", "from planner.cli.main import run; run()", "profile", "--"]

# Two-sided 95 % points of Student's t by degrees of freedom (1 to 30).
T_95 = (
    *(12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def median_step_s(prefix: Sequence[str], steps: int) -> float:
    result = subprocess.run(
        [*prefix, sys.executable, "-c", COMMAND, str(steps)], capture_output=True, text=True, check=True
    )
    return float(result.stdout.rsplit("median ", 1)[1])


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="what watching a command costs it")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args(argv)
    logs = []
    for pair in range(arguments.pairs):
        runs = [([], "plain"), (GPUPLANNER, "watched")]
        times = {name: median_step_s(prefix, arguments.steps) for prefix, name in (runs if pair % 2 else runs[::-1])}
        logs.append(math.log(times["watched"] / times["plain"]))
        print(f"  plain {times['plain'] * 1e3:.2f} ms, watched {times['watched'] * 1e3:.2f} ms")
    mean, deviation = statistics.fmean(logs), statistics.stdev(logs)
    half = T_95[min(len(logs) - 2, len(T_95) - 1)] * deviation / math.sqrt(len(logs))
    low, middle, high = (math.exp(value) for value in (mean - half, mean, mean + half))
    print(f"watched / plain: {middle:.4f} (95 % interval {low:.4f} to {high:.4f}, {len(logs)} pairs)")
    return 0 if middle <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
