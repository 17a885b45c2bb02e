"""Interruptions: mean and quantiles against a seeded simulation of the process they describe, and what must hold."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.interrupted import break_even_rate, interrupted_time, loss, spot_terms, with_checkpoints
from planner.plan.spot import (
    NEVER,
    checkpoint_interval_s,
    interruption_time,
    normal_quantile,
    segmented_time,
    segments,
)
from planner.plan.timeline import Timeline
from planner.units import Interval

works = st.floats(60, 3e6)
rates = st.floats(1e-7, 1e-3)
checkpoints = st.floats(1, 300)
restarts = st.floats(0, 1800)
factors = st.floats(1.0, 3.0)


def _simulated(work_s: float, rate: float, checkpoint_s: float, restart_s: float, runs: int, seed: int) -> list[float]:
    """Sorted seconds of runs that work in segments, lose an interrupted one, and must get back undisturbed."""
    generator = random.Random(seed)
    count = segments(work_s, rate, checkpoint_s)
    segment_s = work_s / count + checkpoint_s
    times = []
    for _ in range(runs):
        left, restarting, elapsed = count, 0.0, 0.0
        while True:
            calm_s = generator.expovariate(rate)
            to_the_end = restarting + left * segment_s
            if calm_s >= to_the_end:
                times.append(elapsed + to_the_end)
                break
            elapsed += calm_s
            left -= int(max(0.0, calm_s - restarting) / segment_s)
            restarting = restart_s
    return sorted(times)


@pytest.mark.parametrize("rate_per_hour", [0.01, 0.1, 0.5, 1.4])
@pytest.mark.parametrize("work_h", [2, 24, 100])
@pytest.mark.parametrize(("checkpoint_s", "restart_s"), [(5, 300), (120, 1500)])
def test_mean_and_p90_are_those_of_the_process(
    rate_per_hour: float, work_h: float, checkpoint_s: float, restart_s: float
) -> None:
    work_s, rate = work_h * 3600, rate_per_hour / 3600
    times = _simulated(work_s, rate, checkpoint_s, restart_s, 1500, seed=7)
    added = interruption_time(work_s, rate, checkpoint_s, restart_s)
    assert work_s + added.expected_s == pytest.approx(math.fsum(times) / len(times), rel=0.03)
    assert work_s + added.quantile_s(0.9) == pytest.approx(times[int(0.9 * len(times))], rel=0.10)


def test_the_mean_is_dalys_equation() -> None:
    work_s, rate, checkpoint_s, restart_s = 36_000.0, 1e-4, 60.0, 300.0
    count = segments(work_s, rate, checkpoint_s)
    daly = count / rate * math.exp(rate * restart_s) * math.expm1(rate * (work_s / count + checkpoint_s))
    assert work_s + interruption_time(work_s, rate, checkpoint_s, restart_s).expected_s == pytest.approx(daly)


def test_the_interval_is_dalys_and_near_youngs_where_checkpoints_are_short() -> None:
    assert checkpoint_interval_s(1 / 36_000, 1.0) == pytest.approx(math.sqrt(2 * 36_000), rel=0.01)
    # M = 1000 s, c = 20 s: sqrt(40,000) * (1 + sqrt(0.01) / 3 + 0.01 / 9) - 20 = 200 * 1.034444 - 20
    assert checkpoint_interval_s(1e-3, 20.0) == pytest.approx(186.889, abs=0.001)
    assert checkpoint_interval_s(1e-3, 2000.0) == 1000.0
    assert checkpoint_interval_s(0, 30) == math.inf


@given(works, st.floats(1e-6, 1e-4), checkpoints, restarts)
def test_no_other_number_of_segments_is_much_quicker(
    work_s: float, rate: float, checkpoint_s: float, restart_s: float
) -> None:
    count = segments(work_s, rate, checkpoint_s)
    chosen = work_s + segmented_time(work_s, count, rate, checkpoint_s, restart_s).expected_s
    for other in {max(1, count // 2), count * 2, count + 1, max(1, count - 1)}:
        assert chosen <= 1.01 * (work_s + segmented_time(work_s, other, rate, checkpoint_s, restart_s).expected_s)


def test_no_interruptions_cost_nothing() -> None:
    assert interruption_time(3600, 0, 30, 300) == NEVER
    assert NEVER.quantile_s(0.99) == 0
    assert segments(3600, 0, 30) == 1


def test_a_segment_or_a_restart_that_never_completes_is_infinite() -> None:
    for added in (interruption_time(1e6, 10.0, 100.0, 60.0), interruption_time(1e6, 1e-3, 10.0, 1e5)):
        assert added.expected_s == added.quantile_s(0.5) == math.inf


@given(works, rates, checkpoints, restarts, factors)
def test_more_interruptions_never_take_less(
    work_s: float, rate: float, checkpoint_s: float, restart_s: float, factor: float
) -> None:
    count = segments(work_s, rate, checkpoint_s)
    calm = segmented_time(work_s, count, rate, checkpoint_s, restart_s)
    rough = segmented_time(work_s, count, rate * factor, checkpoint_s, restart_s)
    assert 0 <= calm.mean_s <= rough.mean_s * (1 + 1e-9)
    assert rough.calm <= calm.calm


@given(works, rates, checkpoints, restarts, st.floats(0.01, 0.98))
def test_quantiles_rise_and_are_never_below_the_undisturbed_run(
    work_s: float, rate: float, checkpoint_s: float, restart_s: float, share: float
) -> None:
    added = interruption_time(work_s, rate, checkpoint_s, restart_s)
    assert 0 <= added.fixed_s <= added.quantile_s(share) <= added.quantile_s(share + 0.01)


@pytest.mark.parametrize(("share", "value"), [(0.5, 0.0), (0.9, 1.28155), (0.1, -1.28155), (0.999, 3.09023)])
def test_normal_quantiles_are_those_of_the_tables(share: float, value: float) -> None:
    assert normal_quantile(share) == pytest.approx(value, abs=5e-4)
    assert normal_quantile(1.0) == math.inf
    assert normal_quantile(0.0) == -math.inf


def _line(work_s: float = 36_000.0, spread: float = 1.2) -> Timeline:
    work = Interval(work_s / spread, work_s, work_s * spread)
    return Timeline(180.0, 100.0, 60.0, work, Interval(0.0, 0.0, 0.0), 30.0, 30.0, 5.0)


@given(works, st.floats(1e-3, 2.0), st.floats(1.0, 5.0), st.floats(1.0, 2.0))
def test_interrupted_time_is_in_order_and_never_below_the_undisturbed(
    work_s: float, per_hour: float, times: float, spread: float
) -> None:
    line = _line(work_s, spread)
    time_s = interrupted_time(line, Interval(per_hour / times, per_hour, per_hour * times))
    assert time_s.p10 <= time_s.p50 <= time_s.p90
    for disturbed, undisturbed in zip(time_s, line.total, strict=True):
        assert disturbed >= undisturbed * (1 - 1e-9)


def test_a_run_that_never_finishes_has_no_finite_end() -> None:
    assert interrupted_time(_line(), Interval(1.0, 1e6, 1e7)) == (math.inf, math.inf, math.inf)
    assert interrupted_time(_line(), Interval(0.1, 1.0, 1e6)).p90 == math.inf


def test_terms_agree_with_the_formulas() -> None:
    line = _line()
    terms = spot_terms(line, Interval(0.05, 0.1, 0.2), None)
    added = interruption_time(36_000.0, 0.1 / 3600, 30.0, 345.0)
    at_the_end = 30.0  # which the run writes without interruptions, too
    assert terms.added_s == pytest.approx(added.expected_s - at_the_end)
    assert terms.added_p90_s == pytest.approx(added.quantile_s(0.9) - at_the_end)
    assert terms.restart_s == 345.0
    assert terms.interruptions == pytest.approx(0.1 / 3600 * (36_000.0 + added.expected_s))
    assert terms.checkpoint_interval_s == pytest.approx(checkpoint_interval_s(0.1 / 3600, 30.0), rel=0.05)


def test_a_run_that_is_cut_nowhere_pays_for_its_last_checkpoint_once() -> None:
    """lam = 1e-6/s and 20,000 s of work: Daly's interval is 39,000 s, so the only checkpoint is that of the end."""
    line = _line(20_000.0)._replace(checkpoint_s=770.0, checkpoints_s=770.0)
    rarely = Interval(0.0036, 0.0036, 0.0036)
    assert segments(20_000.0, 1e-6, 770.0) == 1
    assert loss(line, 20_000.0, 0.0036).fixed_s == 0
    assert with_checkpoints(line, rarely).checkpoints_s == 770.0
    lost_s = interrupted_time(line, rarely).p50 - line.total.p50
    restart_s = 180 + 100 + 60 + 5
    assert lost_s == pytest.approx(0.02077 * (20_770 / 2 + restart_s), rel=0.02)


def test_checkpoints_of_epochs_are_among_those_of_interruptions() -> None:
    """36,000 s at lam = 0.1/h and 30 s a checkpoint: the optimum is 1,454 s, 25 segments; of 10 epochs 2 or 3 each."""
    line = _line()._replace(checkpoints_s=300.0)
    assert line.checkpoints == 10
    assert segments(36_000.0, 0.1 / 3600, 30.0, 10) in (20, 30)
    assert with_checkpoints(line, Interval(0.1, 0.1, 0.1)).checkpoints_s in (600.0, 900.0)
    dense = _line()._replace(checkpoints_s=3000.0)
    assert loss(dense, 36_000.0, 0.1).fixed_s == 0, "a hundred epochs are checkpoints enough"


@given(works, st.floats(1e-3, 2.0), checkpoints, st.integers(1, 100), factors)
def test_neither_more_work_nor_more_interruptions_take_less_whatever_the_epochs(
    work_s: float, per_hour: float, checkpoint_s: float, epochs: int, factor: float
) -> None:
    line = _line()._replace(checkpoint_s=checkpoint_s, checkpoints_s=checkpoint_s * epochs)
    added = loss(line, work_s, per_hour)
    assert added.fixed_s >= 0
    rough, long = loss(line, work_s, per_hour * factor), loss(line, work_s * factor, per_hour)
    assert added.expected_s <= rough.expected_s * (1 + 1e-9)
    assert work_s + added.expected_s <= (work_s * factor + long.expected_s) * (1 + 1e-9)


def test_at_the_break_even_rate_both_cost_the_same() -> None:
    line = _line()
    rate = break_even_rate(line, 1.0, 1.5)
    spot = interrupted_time(line, Interval(rate, rate, rate)).p50 * 1.0
    assert spot == pytest.approx(line.total.p50 * 1.5, rel=1e-3)
    assert break_even_rate(line, 1.5, 1.5) == 0.0
    assert break_even_rate(line, 1.0, 3.0) > rate
