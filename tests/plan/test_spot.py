"""Interruptions: the renewal formula against a seeded simulation of the process it describes."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.spot import checkpoint_interval_s, interruption_time


def _simulate(work_s: float, rate: float, checkpoint_s: float, restart_s: float, runs: int, seed: int) -> float:
    """Mean seconds of runs that work in Young's segments, lose an interrupted one, and restart."""
    generator = random.Random(seed)
    tau = min(work_s, checkpoint_interval_s(rate, checkpoint_s))
    total = 0.0
    for _ in range(runs):
        done = 0.0
        while done < work_s - 1e-9:
            segment = min(tau, work_s - done) + checkpoint_s
            until_interruption = generator.expovariate(rate)
            if until_interruption < segment:
                total += until_interruption + restart_s
            else:
                total += segment
                done += segment - checkpoint_s
    return total / runs


@pytest.mark.parametrize("rate_per_hour", [0.01, 0.1, 0.5, 1.4])
@pytest.mark.parametrize("work_h", [2, 24])
def test_the_expected_time_is_what_the_process_takes(rate_per_hour: float, work_h: float) -> None:
    rate = rate_per_hour / 3600
    simulated = _simulate(work_h * 3600, rate, 30, 400, 2000, seed=7)
    expected = work_h * 3600 + interruption_time(work_h * 3600, rate, 30, 400).expected_s
    assert expected == pytest.approx(simulated, rel=0.03)


def test_no_interruptions_cost_nothing() -> None:
    assert interruption_time(3600, 0, 30, 300) == (0, 0)
    assert checkpoint_interval_s(0, 30) == math.inf


def test_a_segment_that_never_completes_is_infinite() -> None:
    assert interruption_time(1e6, 10.0, 100.0, 60.0).expected_s == math.inf


@given(st.floats(60, 1e6), st.floats(1e-7, 1e-3), st.floats(1, 300), st.floats(0, 1800), st.floats(1.0, 3.0))
def test_more_interruptions_never_take_less(
    work_s: float, rate: float, checkpoint_s: float, restart_s: float, factor: float
) -> None:
    calm = interruption_time(work_s, rate, checkpoint_s, restart_s).expected_s
    rough = interruption_time(work_s, rate * factor, checkpoint_s, restart_s).expected_s
    assert 0 <= calm <= rough * (1 + 1e-9)
