"""Runs on free notebooks: sessions, the wait for the next week, who may be recommended."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.free_tiers import FreeTier, free_tiers
from planner.plan.free_tier import (
    QUOTA_UNKNOWN,
    SESSION_LIMIT,
    WEEKLY_QUOTA,
    Schedule,
    calendar_time,
    free_candidate,
    limit_flags,
    limits_at_p50,
    schedule,
    within_limits,
)
from planner.plan.recommend import Named, recommend
from planner.plan.rows import ranked_estimate, refused_estimate
from planner.plan.search import Limits, Ranking, rank
from planner.plan.timeline import Timeline
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval

HOUR = SECONDS_PER_HOUR
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
COLAB, KAGGLE, RETIRED = free_tiers()
FREE = Named(frozenset(), None, government=False)


def line(hours: float, setup_h: float = 0.1, slow: float = 1.0) -> Timeline:
    """A run of ``hours`` in all, of which ``setup_h`` are setting up; its P90 takes ``slow`` times the work."""
    work_s = (hours - setup_h) * HOUR
    none = Interval(0.0, 0.0, 0.0)
    return Timeline(setup_h * HOUR, 0.0, 0.0, Interval(work_s, work_s, work_s * slow), none, 0.0, 0.0)


def test_a_short_run_meets_no_limit() -> None:
    assert schedule(11 * HOUR, 0.1 * HOUR, KAGGLE) == Schedule(1, 0, 0)
    assert calendar_time(line(11), KAGGLE) == Interval(*(11 * HOUR,) * 3)
    assert limit_flags(Schedule(1, 0, 0), COLAB) == ()


def test_a_second_session_sets_up_again() -> None:
    added = schedule(20 * HOUR, 0.5 * HOUR, KAGGLE)
    assert added == Schedule(2, 0.5 * HOUR, 0)
    assert limit_flags(added, KAGGLE) == (SESSION_LIMIT,)
    assert limit_flags(added, COLAB) == (SESSION_LIMIT, QUOTA_UNKNOWN)


def test_what_outlasts_the_week_waits_for_the_next_one() -> None:
    run = line(40, setup_h=0)
    assert calendar_time(run, KAGGLE).p50 == pytest.approx((7 * 24 + 10) * HOUR)
    added = limits_at_p50(run, KAGGLE)
    assert added.waiting_s == pytest.approx(138 * HOUR)
    assert limit_flags(added, KAGGLE) == (SESSION_LIMIT, WEEKLY_QUOTA)


def test_a_session_too_short_to_set_up_in_never_finishes() -> None:
    assert math.isinf(calendar_time(line(40, setup_h=12), KAGGLE).p50)
    assert not within_limits(line(40, setup_h=12), KAGGLE)


def test_even_a_slow_run_must_end_within_the_hours() -> None:
    assert within_limits(line(20), KAGGLE)
    assert not within_limits(line(20, slow=1.6), KAGGLE)
    assert not within_limits(line(31), KAGGLE)
    assert within_limits(line(11), COLAB)
    assert not within_limits(line(13), COLAB)


@given(st.floats(0.2, 400), st.floats(1.0, 3.0), st.floats(0.0, 2.0), st.sampled_from([COLAB, KAGGLE]))
def test_limits_never_shorten_a_run_and_more_work_never_ends_sooner(
    hours: float, factor: float, setup_h: float, tier: FreeTier
) -> None:
    shorter, longer = line(hours + setup_h, setup_h), line(hours * factor + setup_h, setup_h)
    assert calendar_time(shorter, tier).p50 >= shorter.total.p50 - 1e-6
    assert calendar_time(longer, tier).p50 >= calendar_time(shorter, tier).p50 - 1e-6


def ranking(*tiers: FreeTier, model: str = "resnet50", dataset: str = "cifar10", epochs: float = 1.0) -> Ranking:
    experiment = resolve_experiment(ExperimentRequest(model=model, dataset=dataset, epochs=epochs))
    candidates = [free_candidate(tier, experiment, NOW.date()) for tier in tiers]
    return rank(experiment, StepModel(experiment), candidates, Limits(), NOW)


def test_a_free_row_costs_nothing_and_says_where_that_stands() -> None:
    (row,) = ranking(KAGGLE).rows
    estimate = ranked_estimate(row, 1, True, NOW)
    assert (estimate.place, estimate.purchase, estimate.provider) == ("cloud", "free_tier", "kaggle")
    assert estimate.cost_usd == Interval(0, 0, 0)
    assert estimate.usd_per_hour == 0
    (part,) = estimate.cost_parts
    assert part.usd == 0
    assert "kaggle.com/docs" in part.source
    assert estimate.price_as_of == KAGGLE.as_of
    assert estimate.flags == row.setting.step.flags
    assert recommend([row], Limits(), FREE) == 0


def test_a_long_run_is_ranked_with_its_waiting_but_not_recommended() -> None:
    (row,) = ranking(KAGGLE, dataset="imagenet", epochs=90).rows
    estimate = ranked_estimate(row, 1, True, NOW)
    assert {SESSION_LIMIT, WEEKLY_QUOTA} <= set(estimate.flags)
    parts = {part.name: part.seconds for part in estimate.time_parts}
    assert parts["waiting for the next week"] > 0
    assert parts["new sessions"] > 0
    assert estimate.time_s is not None
    assert sum(parts.values()) == pytest.approx(estimate.time_s.p50)
    assert estimate.energy_kwh is not None
    hours_of_use = (estimate.time_s.p50 - parts["waiting for the next week"]) / HOUR
    assert estimate.energy_kwh < 0.3 * hours_of_use, "two T4 of 70 W draw nothing while the run waits"
    assert recommend([row], Limits(), FREE) is None


def test_a_tier_that_ended_or_whose_disk_is_too_small_has_no_rank() -> None:
    result = ranking(COLAB, RETIRED, dataset="imagenet")
    assert result.rows == []
    reasons = [refused_estimate(refusal, NOW).reason for refusal in result.refusals]
    assert reasons[0].startswith("its disk holds 113 GB")
    assert reasons[1].startswith("not lent since 2026-09-15")


def test_before_it_ended_a_tier_was_lent() -> None:
    experiment = resolve_experiment(ExperimentRequest(model="resnet50", dataset="cifar10"))
    assert free_candidate(RETIRED, experiment, date(2026, 9, 14)).blocked == ""
