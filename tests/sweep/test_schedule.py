"""Schedules and their bound: hand-worked cases, and what must hold of any."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import NothingFitsError
from planner.plan.makespan_bound import lower_bound
from planner.plan.schedule import assign
from tools.bench_schedule import random_case, ratio

HOURS = st.floats(0.1, 100)


def makespan(times: list[list[float]], heads: list[float], jobs: list[list[int]]) -> float:
    return max(heads[i] + sum(times[j][i] for j in own) for i, own in enumerate(jobs) if own)


def best_of_all(times: list[list[float]], heads: list[float]) -> float:
    """The optimum, by trying every assignment."""
    machines = range(len(heads))
    found = math.inf
    for choice in itertools.product(machines, repeat=len(times)):
        jobs: list[list[int]] = [[j for j, i in enumerate(choice) if i == machine] for machine in machines]
        found = min(found, makespan(times, heads, jobs))
    return found


def test_equal_experiments_are_shared_out_evenly() -> None:
    jobs = assign([[1.0, 1.0]] * 6, [0.0, 0.0], [0.0, 0.0])
    assert sorted(map(len, jobs)) == [3, 3]


def test_a_machine_twice_as_fast_gets_twice_as_many() -> None:
    """Six experiments of 2 h and 1 h: four on the fast one and two on the slow one both end after 4 h."""
    times = [[2.0, 1.0]] * 6
    jobs = assign(times, [0.0, 0.0], [0.0, 0.0])
    assert makespan(times, [0.0, 0.0], jobs) == pytest.approx(4.0)
    assert lower_bound(times, [0.0, 0.0], 4.0) == pytest.approx(4.0, rel=0.01)


def test_an_experiment_goes_where_it_fits() -> None:
    jobs = assign([[math.inf, 5.0], [1.0, 5.0]], [0.0, 0.0], [0.0, 0.0])
    assert jobs == [[1], [0]]


def test_what_fits_nowhere_is_refused() -> None:
    with pytest.raises(NothingFitsError, match="experiment 2 fits on no machine"):
        assign([[1.0], [math.inf]], [0.0], [0.0])


def test_a_cheaper_machine_is_preferred_where_the_end_stays() -> None:
    """One experiment of 4 h ends the sweep; the other, of 1 h, may wait for the cheap machine."""
    jobs = assign([[4.0, 9.0], [1.0, 2.0]], [0.0, 0.0], [10.0, 0.1])
    assert jobs == [[0], [1]]


def test_a_cheap_machine_may_work_until_the_latest_end() -> None:
    """Two experiments of 4 h: at once on both machines, or one after the other on the cheap one by hour 8."""
    times, heads, usd_per_s = [[4.0, 4.0]] * 2, [0.0, 0.0], [10.0, 0.1]
    assert sorted(map(len, assign(times, heads, usd_per_s))) == [1, 1]
    assert assign(times, heads, usd_per_s, latest_s=7.9) == assign(times, heads, usd_per_s)
    assert assign(times, heads, usd_per_s, latest_s=8.0) == [[], [1, 0]]


def test_setting_up_a_machine_for_less_than_it_takes_is_avoided() -> None:
    assert assign([[1.0, 1.0]] * 2, [0.0, 5.0], [0.0, 0.0]) == [[0, 1], []] or assign(
        [[1.0, 1.0]] * 2, [0.0, 5.0], [0.0, 0.0]
    ) == [[1, 0], []]


def test_counting_knows_that_experiments_are_not_divided() -> None:
    """Three experiments of 1 h on two machines take 2 h, not 1.5."""
    assert lower_bound([[1.0, 1.0]] * 3, [0.0, 0.0], 2.0) == pytest.approx(2.0, rel=0.01)


def test_no_experiments_are_through_at_once() -> None:
    assert lower_bound([], [1.0], 0.0) == 0.0
    assert assign([], [1.0, 2.0], [0.0, 0.0]) == [[], []]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(HOURS, min_size=3, max_size=3), min_size=1, max_size=6), st.lists(HOURS, min_size=3, max_size=3)
)
def test_the_bound_is_below_the_optimum_and_the_optimum_below_the_schedule(
    times: list[list[float]], heads: list[float]
) -> None:
    jobs = assign(times, heads, [1.0, 2.0, 3.0])
    assert sorted(job for own in jobs for job in own) == list(range(len(times)))
    reached, best = makespan(times, heads, jobs), best_of_all(times, heads)
    assert reached >= best * (1 - 1e-9)
    assert lower_bound(times, heads, reached) <= best * (1 + 1e-9)


def test_random_sweeps_come_close_to_the_bound() -> None:
    """A seeded part of tools/bench_schedule.py, whose bars are a median of 1.05 and a P95 of 1.15."""
    draw = random.Random(7)
    ratios = sorted(ratio(*random_case(draw)) for _ in range(12))
    assert statistics.median(ratios) <= 1.05
    assert ratios[-1] <= 1.2
    assert ratios[0] >= 1.0
