"""Hold the spot formulas against a seeded simulation of the same renewal process.

    python tools/check_spot.py [--settings 300] [--runs 20000] [--seed 1]

The domain: 0.001 to 1.5 interruptions an hour, half an hour to 30 days of work, checkpoints of 1 second to 15 minutes,
restarts of 1 minute to an hour, each log-uniform, at the optimum checkpoint interval; settings whose expected time is
over five times their work are left out (nobody would run them), and those in which the probability of no interruption
at all is within 0.01 of 0.9: there the 90th percentile jumps, and a sample's lies on either side. Exit 1 over a bar.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

REPOSITORY = Path(__file__).resolve().parent.parent
if str(REPOSITORY) not in sys.path:
    sys.path.insert(0, str(REPOSITORY))

from planner.plan.spot import interruption_time, segments  # noqa: E402

MEAN_BAR = 0.03
P90_BAR = 0.10


class Setting(NamedTuple):
    """Seconds, and interruptions per second."""

    work_s: float
    rate_per_s: float
    checkpoint_s: float
    restart_s: float


class Errors(NamedTuple):
    """Relative errors of the formula against the simulation."""

    mean: float
    p90: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=int, default=300, metavar="N")
    parser.add_argument("--runs", type=int, default=20_000, metavar="N", help="simulated runs of each setting")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    options = parser.parse_args()
    generator = np.random.default_rng(options.seed)
    errors = [compare(draw(generator), options.runs, generator) for _ in range(options.settings)]
    worst_mean, worst_p90 = max(abs(e.mean) for e in errors), max(abs(e.p90) for e in errors)
    median_p90 = float(np.median([abs(e.p90) for e in errors]))
    print(
        f"{len(errors)} settings of {options.runs:,} runs: mean within {worst_mean:.2%} (bar {MEAN_BAR:.0%}), "
        f"P90 within {worst_p90:.2%} (bar {P90_BAR:.0%}), its median error {median_p90:.3%}"
    )
    return 0 if worst_mean <= MEAN_BAR and worst_p90 <= P90_BAR else 1


def draw(generator: np.random.Generator) -> Setting:
    """A setting of the domain."""
    while True:
        setting = Setting(
            work_s=_log_uniform(generator, 0.5 * 3600, 30 * 86400),
            rate_per_s=_log_uniform(generator, 1e-3 / 3600, 1.5 / 3600),
            checkpoint_s=_log_uniform(generator, 1, 900),
            restart_s=_log_uniform(generator, 60, 3600),
        )
        added = interruption_time(*setting)
        if added.expected_s < 4 * setting.work_s and abs(added.calm - 0.9) > 0.01:
            return setting


def compare(setting: Setting, runs: int, generator: np.random.Generator) -> Errors:
    added = interruption_time(*setting)
    times = simulate(setting, runs, generator)
    return Errors(
        (setting.work_s + added.expected_s) / float(times.mean()) - 1,
        (setting.work_s + added.quantile_s(0.9)) / float(np.quantile(times, 0.9)) - 1,
    )


def simulate(setting: Setting, runs: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Seconds of each run: drawn interruption by interruption, all runs that have not ended at once."""
    count = segments(setting.work_s, setting.rate_per_s, setting.checkpoint_s)
    segment_s = setting.work_s / count + setting.checkpoint_s
    left = np.full(runs, count)
    restarting = np.zeros(runs)
    times = np.zeros(runs)
    running = np.arange(runs)
    while running.size:
        calm_s = generator.exponential(1 / setting.rate_per_s, running.size)
        to_the_end = restarting[running] + left[running] * segment_s
        ends = calm_s >= to_the_end
        times[running[ends]] += to_the_end[ends]
        running, calm_s = running[~ends], calm_s[~ends]
        times[running] += calm_s
        done = np.floor(np.maximum(0.0, calm_s - restarting[running]) / segment_s).astype(int)
        left[running] -= done
        restarting[running] = setting.restart_s
    return times


def _log_uniform(generator: np.random.Generator, low: float, high: float) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))


if __name__ == "__main__":
    sys.exit(main())
