"""How far schedules are from the lower bound on random sweeps, and how long a large one takes.

Usage: python tools/bench_schedule.py [CASES]

Random sweeps are seeded: 10 to 200 experiments on 2 to 12 machines. Machines differ in speed by up to 16x; experiments
in size by up to 30x (log-uniform); a pair departs from size / speed by a factor drawn log-normally (sigma 0.25: some
networks suit some GPUs better), and fits not at all in a tenth of the pairs. Heads are up to a tenth of the mean
experiment. The bars: makespan over the bound (planner.plan.makespan_bound) has a median of at most 1.05 and a P95 of at
most 1.15.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time

from planner.plan.makespan_bound import lower_bound
from planner.plan.schedule import assign

SEED = 2026


def random_case(draw: random.Random) -> tuple[list[list[float]], list[float], list[float]]:
    """(times, heads, USD a second) of one sweep; every experiment fits somewhere."""
    jobs, machines = draw.randint(10, 200), draw.randint(2, 12)
    speeds = [math.exp(draw.uniform(0, math.log(16))) for _ in range(machines)]
    times = []
    for _ in range(jobs):
        size = math.exp(draw.uniform(0, math.log(30))) * 3600
        row = [size / speed * draw.lognormvariate(0, 0.25) for speed in speeds]
        fits = [draw.random() > 0.1 for _ in row]
        fits[draw.randrange(machines)] = True
        times.append([t if fit else math.inf for t, fit in zip(row, fits, strict=True)])
    mean = statistics.fmean(min(row) for row in times)
    heads = [draw.uniform(0, 0.1) * mean for _ in speeds]
    return times, heads, [speed * draw.uniform(0.5, 2) / 3600 for speed in speeds]


def ratio(times: list[list[float]], heads: list[float], usd_per_s: list[float]) -> float:
    """Makespan over the bound."""
    jobs = assign(times, heads, usd_per_s)
    makespan = max(heads[i] + sum(times[j][i] for j in own) for i, own in enumerate(jobs) if own)
    return makespan / lower_bound(times, heads, makespan)


def main() -> int:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    draw = random.Random(SEED)
    start = time.process_time()
    ratios = sorted(ratio(*random_case(draw)) for _ in range(cases))
    spent = time.process_time() - start
    p95 = ratios[math.ceil(0.95 * cases) - 1]
    print(f"{cases} cases, {spent / cases * 1000:.0f} ms of CPU each")
    print(f"makespan over the bound: median {statistics.median(ratios):.3f}, P95 {p95:.3f}, worst {ratios[-1]:.3f}")
    met = statistics.median(ratios) <= 1.05 and p95 <= 1.15
    print("bars (median 1.05, P95 1.15) " + ("met" if met else "MISSED"))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
