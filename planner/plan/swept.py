"""A sweep asked and answered: the pool found, the experiments costed, the schedule, and its neighbours."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import resolve_experiment
from planner.plan.planning import Answer, answer
from planner.plan.question import Question
from planner.plan.search import Limits
from planner.plan.sweep import Order, SweepPlan, cost_of, plan_sweep
from planner.plan.sweep_grid import Variant
from planner.plan.sweep_limits import plan_within
from planner.plan.sweep_options import PoolOption, Sooner, day_sooner, next_sooner, pool_options
from planner.plan.sweep_pool import DEFAULT_RENTALS, PoolEntry, pool_of
from planner.plan.world import World


class SweepQuestion(NamedTuple):
    """The experiments, the pool (empty: the default one), and how they are ordered on a machine.

    ``free_names`` are hyperparameters of the user's, which change no time.
    """

    variants: tuple[Variant, ...]
    entries: tuple[PoolEntry, ...] = ()
    max_rentals: int | None = None
    order: Order = "shortest"
    free_names: tuple[str, ...] = ()


class Swept(NamedTuple):
    """The answer; ``experiment`` is the first one. ``prices_as_of`` is the oldest price among the machines used.

    ``alike``: the experiments differ in nothing but the user's own hyperparameters.
    """

    experiment: Experiment
    plan: SweepPlan
    options: tuple[PoolOption, ...]
    limits: Limits
    started_at: datetime
    prices_as_of: str | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    alike: bool = True

    @property
    def meets(self) -> bool:
        """Whether the limits that were given are met with the confidence asked for."""
        return self.plan.p_meets is None or self.plan.p_meets >= self.limits.confidence

    @property
    def day_sooner(self) -> Sooner | None:
        return day_sooner(self.options, self.plan)

    @property
    def next_sooner(self) -> Sooner | None:
        return next_sooner(self.options, self.plan)


def sweep(asked: SweepQuestion, question: Question, world: World, now: datetime) -> Swept:
    """Plan the sweep. Raises InputError for a bad experiment or pool, NothingFitsError where one fits nowhere."""
    if not asked.variants:
        raise InputError("a sweep needs at least one experiment")
    experiment = resolve_experiment(asked.variants[0].request)
    answered = _answered(asked, experiment, question, world, now)
    competition = answered.competition
    limits = competition.limits._replace(deadline=question.limits.deadline, budget_usd=question.limits.budget_usd)
    pool = pool_of(asked.entries, experiment, question, world, now, answered, asked.max_rentals)
    costing = cost_of(asked.variants, pool, world, competition.knowledge)
    planned = plan_within if limits.given else plan_sweep
    plan = planned(costing, pool, limits, now, asked.order)
    options = pool_options(costing, pool, plan, limits, now, asked.order, asked.max_rentals)
    offers = [track.machine.offer for track in plan.tracks if track.used and track.machine.offer is not None]
    return Swept(
        experiment=experiment,
        plan=plan,
        options=options,
        limits=limits,
        started_at=now,
        prices_as_of=min((offer.price_as_of for offer in offers), default=None),
        assumptions=(*experiment.assumptions, *competition.assumptions, *_assumptions(asked)),
        warnings=competition.warnings,
        alike=len({variant.request for variant in asked.variants}) == 1,
    )


def _answered(asked: SweepQuestion, experiment: Experiment, question: Question, world: World, now: datetime) -> Answer:
    """The ranking from which the pool's machines are taken: for all experiments, one after the other on one machine.

    So what a name means does not hang on which value of the grid stands first, and the limits, which are the whole
    sweep's, choose among schedules. Where nobody named machines they are to be had first: each experiment gets its
    share of the limits, and where a machine meets that, the pool is made of it.
    """
    number, limits = len(asked.variants), question.limits
    all_of_them = _samples_of_all(asked.variants)
    if limits.given and not asked.entries:
        rounds = math.ceil(number / (asked.max_rentals or DEFAULT_RENTALS))
        deadline = None if limits.deadline is None else now + (limits.deadline - now) / rounds
        budget_usd = None if limits.budget_usd is None else limits.budget_usd / number
        share = question._replace(limits=limits._replace(deadline=deadline, budget_usd=budget_usd))
        found = answer(_as_long(experiment, all_of_them / number), share, world, now)
        if found.best is not None:
            return found
    unlimited = question._replace(limits=limits._replace(deadline=None, budget_usd=None))
    return answer(_as_long(experiment, all_of_them), unlimited, world, now)


def _samples_of_all(variants: Sequence[Variant]) -> float:
    """How many of the first one's samples take as many FLOPs as all experiments."""
    counts = Counter(variant.request for variant in variants)
    experiments = [(resolve_experiment(request), number) for request, number in counts.items()]
    work = sum(one.total_samples * one.workload.forward_flops_per_sample * number for one, number in experiments)
    return work / experiments[0][0].workload.forward_flops_per_sample


def _as_long(experiment: Experiment, samples: float) -> Experiment:
    """The experiment that trains so many samples."""
    epochs = experiment.resume_epoch + samples / experiment.samples_per_epoch
    return experiment._replace(epochs=epochs, total_samples=samples)


def _assumptions(asked: SweepQuestion) -> Iterator[str]:
    if asked.free_names:
        names = ", ".join(asked.free_names)
        yield f"{names} {'changes' if len(asked.free_names) == 1 else 'change'} neither time nor memory"
    yield "a machine runs one experiment after the other, each on all its GPUs, and copies every data set once"
    yield "how wrong the pace of a machine is holds for all that it runs: the ends of its experiments move together"
