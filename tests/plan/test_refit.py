"""What is offered where most machines are too small: flags, a machine, its time and its cost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.planning import Answer, answer, written
from planner.plan.question import Question
from planner.plan.recommend import LONGEST_WAIT_S, merit
from planner.plan.refit import Refit, refit_sentence, refits
from planner.plan.world import World, open_world
from planner.profiler.this_machine import find_this_machine
from planner.units import format_money

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
CLOUD = Question(where=("cloud",))
H100 = CLOUD._replace(gpus="H100:8")


@pytest.fixture(scope="module")
def world() -> World:
    return open_world(find_this_machine())


def _asked(world: World, question: Question, **said: object) -> tuple[Experiment, Answer, list[Refit]]:
    experiment = resolve_experiment(ExperimentRequest(**said))  # type: ignore[arg-type]
    answered = answer(experiment, question, world, NOW)
    best = None if answered.best is None else answered.ranking.rows[answered.best]
    return experiment, answered, refits(experiment, answered.competition, answered.ranking.refusals, best, NOW)


def test_a_70b_model_is_sharded_over_gpus_not_trained_on_a_cpu_for_a_year(world: World) -> None:
    """It took 388 days and $120,605 of a CPU, which was called the answer: "no GPU needed"."""
    experiment, answered, ways = _asked(world, CLOUD, model="llama-3-70b", tokens=1e9)
    assert answered.best is None
    same = next(way for way in ways if not way.note)
    assert same.experiment.zero_stage == 3
    assert same.row.time_s < 5 * 86400
    assert same.row.cost_usd < 5000
    plan = written(experiment, answered, NOW, max_rows=1)
    assert plan.no_recommendation.startswith("Nothing sensible is left: only CPUs can run this as it stands")
    assert plan.tier.startswith("Nothing that is left ends in a time that people put up with: a CPU takes ")
    assert plan.nearest == tuple(refit_sentence(experiment, way, format_money) for way in ways)


def test_two_flags_and_more_nodes_are_found_where_one_is_too_few(world: World) -> None:
    experiment, answered, ways = _asked(world, H100, model="llama-3-70b", tokens=1e9)
    assert answered.best is None
    same = next(way for way in ways if not way.note)
    assert (same.num_nodes, same.experiment.zero_stage, same.experiment.grad_checkpointing) == (4, 3, True)
    assert "with --num-nodes 4 --grad-ckpt --zero 3 it takes " in refit_sentence(experiment, same, format_money)
    written_out = _asked(world, H100, model="llama-3-70b", tokens=1e9, zero_stage=3, grad_checkpointing=True)
    alone = next(way for way in written_out[2] if not way.note)
    assert refit_sentence(written_out[0], alone, format_money).startswith("with --num-nodes 4 it takes ")
    fixed = _asked(world, H100._replace(num_nodes=64), model="llama-3-70b", tokens=1e9)[2]
    assert all(way.num_nodes is None and way.row.setting.candidate.machine.num_nodes == 64 for way in fixed)
    assert any(not way.note for way in fixed)


def test_a_batch_that_is_too_large_is_halved_and_accumulated(world: World) -> None:
    experiment, _, ways = _asked(world, H100, model="gpt2", tokens=1e9, batch_size_per_gpu=64)
    assert [refit_sentence(experiment, way, format_money).partition(" it takes ")[0] for way in ways] == [
        "with --batch-size 32 --grad-accum-steps 2"
    ], "adapters and a smaller optimizer would cost more and change the result"


@pytest.mark.parametrize("said", [{"model": "llama-2-13b", "tokens": 1e8}, {"model": "llama-3-8b", "tokens": 1e8}])
def test_each_way_is_what_a_plan_with_its_flags_recommends_or_dearer(world: World, said: dict[str, object]) -> None:
    """A plan with the flags has all regions' offers and the machines that were large enough before, too."""
    _, answered, ways = _asked(world, CLOUD, **said)
    limits = answered.competition.limits
    assert ways
    assert [merit(way.row, limits) for way in ways] == sorted(merit(way.row, limits) for way in ways)
    for way in ways:
        assert way.row.time_s <= LONGEST_WAIT_S
        again = answer(way.experiment, CLOUD, world, NOW)
        assert again.best is not None
        found = merit(again.ranking.rows[again.best], limits)
        assert found <= merit(way.row, limits) * 1.001
        assert found > merit(way.row, limits) * 0.8
        if answered.best is not None:
            assert merit(way.row, limits) < merit(answered.ranking.rows[answered.best], limits)


def test_nothing_is_said_where_most_machines_fit_or_nothing_helps(world: World) -> None:
    experiment = resolve_experiment(ExperimentRequest("resnet50", epochs=1))
    assert written(experiment, answer(experiment, CLOUD, world, NOW), NOW, max_rows=1).nearest == ()
    small = CLOUD._replace(gpus="T4:1")
    assert _asked(world, small, model="llama-3-70b", tokens=1e9, zero_stage=3, grad_checkpointing=True)[2] == []
