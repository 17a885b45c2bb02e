"""The one alternative worth knowing, and the estimate's way back to its row."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.alternative import alternative
from planner.plan.operation_kinds import by_kind, operation_kind
from planner.plan.pick import find
from planner.plan.planning import Answer, answer, written
from planner.plan.question import Question
from planner.plan.search import Limits, Row, meets
from planner.plan.world import open_world
from planner.profiler.this_machine import find_this_machine
from planner.throughput.kernels import ClassTime

EXPERIMENT = resolve_experiment(ExperimentRequest("resnet50", epochs=10))
NOW = datetime.now().astimezone()
LIMITS = Limits(deadline=NOW + timedelta(hours=12), budget_usd=80)


@pytest.fixture(scope="module")
def free() -> Answer:
    return answer(EXPERIMENT, Question(), open_world(find_this_machine()), NOW)


@pytest.fixture(scope="module")
def limited() -> Answer:
    return answer(EXPERIMENT, Question(limits=LIMITS), open_world(find_this_machine()), NOW)


def best_row(answered: Answer) -> Row:
    assert answered.best is not None
    return answered.ranking.rows[answered.best]


def test_the_alternative_overtakes_at_its_hour_value(free: Answer) -> None:
    other, best = alternative(free), best_row(free)
    assert other is not None
    assert other.row.value(other.hour_value_usd) == pytest.approx(best.value(other.hour_value_usd))
    beyond = other.hour_value_usd * (1.01 if other.sooner else 0.99)
    assert other.row.value(beyond) < best.value(beyond)
    assert (other.row.time_s < best.time_s) == other.sooner


def test_the_alternative_meets_the_limits_too(limited: Answer) -> None:
    other = alternative(limited)
    assert other is not None
    assert meets(other.row, limited.competition.limits)


def test_without_a_recommendation_there_is_no_alternative(free: Answer) -> None:
    assert alternative(free._replace(best=None)) is None


def test_an_estimate_is_found_again(free: Answer) -> None:
    plan = written(EXPERIMENT, free, NOW, by_machine=True, max_rows=20)
    for estimate in (*plan.estimates, *plan.unranked[:5]):
        choice = find(free, estimate)
        assert choice is not None
        assert choice.candidate.name == estimate.name
        assert (choice.row is None) == (estimate.rank is None)
    assert find(free, plan.estimates[0]._replace(name="nowhere")) is None


def test_operations_are_gathered_by_kind() -> None:
    times = [
        ClassTime("conv", 10.0, 1.0, 0.1, "compute"),
        ClassTime("bn", 1.0, 5.0, 0.25, "memory"),
        ClassTime("conv_wg", 20.0, 2.0, 0.2, "memory"),
    ]
    gathered = by_kind(times)
    assert [row.op_class for row in gathered] == ["convolution", "batch norm"]
    assert gathered[0].seconds == pytest.approx(0.3)
    assert (gathered[0].flops, gathered[0].bytes, gathered[0].bound_by) == (30.0, 3.0, "memory")
    assert operation_kind("sdpa_bw") == "attention"
    assert operation_kind("something_new") == "something_new"
