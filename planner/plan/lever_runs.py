"""The whole run with each lever, held against the run as asked for."""

import math
from datetime import datetime
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.plan.competition import Competition
from planner.plan.explain import Explanation
from planner.plan.pick import Choice
from planner.plan.whole_run import WholeRun, whole_run
from planner.throughput.estimate import StepEstimate
from planner.throughput.levers import Lever


class LeverRun(NamedTuple):
    """A lever with its whole run, None where that does not fit; factors are of the run as asked for."""

    lever: Lever
    run: WholeRun | None
    time_factor: float | None
    cost_factor: float | None


class Runs(NamedTuple):
    """The whole run as asked for, None where it does not fit, and with each lever, the soonest done first."""

    asked: WholeRun | None
    levers: tuple[LeverRun, ...]


def runs_of(
    experiment: Experiment, choice: Choice, explanation: Explanation, competition: Competition, now: datetime
) -> Runs:
    """Each run at what its own experiment is charged: a lever's checkpoints may have another size."""

    def run_of(changed: Experiment, step: StepEstimate) -> WholeRun | None:
        candidate = choice.candidate
        if candidate.provider is not None and candidate.free_tier is None:
            tariff = competition.tariffs(changed, candidate.machine.num_nodes)(candidate.provider)
            candidate = candidate._replace(tariff=tariff)
        return whole_run(changed, candidate, choice.offer, step, now.date())

    asked = run_of(experiment, explanation.step)
    tried = [_against(asked, lever, run_of(lever.experiment, lever.estimate)) for lever in explanation.levers]
    return Runs(asked, tuple(sorted(tried, key=lambda one: math.inf if one.run is None else one.run.time_s.p50)))


def _against(asked: WholeRun | None, lever: Lever, run: WholeRun | None) -> LeverRun:
    if asked is None or run is None:
        return LeverRun(lever, run, None, None)
    before, after = asked.cost_usd, run.cost_usd
    cost_factor = after.p50 / before.p50 if before and after and before.p50 > 0 else None
    return LeverRun(lever, run, run.time_s.p50 / asked.time_s.p50, cost_factor)
