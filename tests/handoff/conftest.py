"""Launches of chosen rows of the packaged snapshot, ranked once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

import pytest

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.handoff.launch import Launch, launch
from planner.plan.pick import pick
from planner.plan.planning import Answer, answer
from planner.plan.question import Question
from planner.plan.world import World, open_world
from planner.profiler.this_machine import find_this_machine

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
EXPERIMENT = resolve_experiment(ExperimentRequest("resnet50", epochs=90))

Launched = Callable[..., Launch]


@pytest.fixture(scope="session")
def world() -> World:
    return open_world(find_this_machine())


@pytest.fixture(scope="session")
def launched(world: World) -> Launched:
    """``launched("aws:p4d.24xlarge")`` or ``launched("aws:p4d.24xlarge", num_nodes=2)``."""

    @cache
    def ranked(num_nodes: int | None) -> Answer:
        return answer(EXPERIMENT, Question(num_nodes=num_nodes, max_price_age_days=10_000), world, NOW)

    def call(on: str, num_nodes: int | None = None) -> Launch:
        return launch(EXPERIMENT, pick(ranked(num_nodes), world.providers(), on, None), NOW)

    return call
