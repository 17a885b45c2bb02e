"""Where nothing meets the limits: what would. A limit moved, a restriction lifted, fewer epochs, or a lever."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime

from planner.experiment.experiment import Experiment
from planner.plan.hint import flags_of
from planner.plan.pick import find
from planner.plan.plan import Estimate
from planner.plan.planning import Answer, answer, written
from planner.plan.question import Question
from planner.plan.relax import Relaxation, limit_met, relaxations
from planner.plan.search import Limits
from planner.plan.words import bound_mark, buy_word, gpus_words, machine_name, where_words
from planner.plan.world import World
from planner.throughput.levers import levers
from planner.units import MoneyFormat, format_duration, format_money

MOST_LEVERS = 3

_STAYS = ("provisioning", "environment", "data download", "idle", "billing step")
"""Parts of time and money that are there however long it trains."""


def nearest(
    experiment: Experiment,
    question: Question,
    answered: Answer,
    world: World,
    now: datetime,
    money: MoneyFormat = format_money,
) -> tuple[str, ...]:
    """Sentences on what would make it, the smallest change of the question first; none where something meets it."""
    limits = answered.competition.limits
    if not limits.given or answered.best is not None or not answered.ranking.rows:
        return ()
    relaxed = relaxations(answered, now)
    sentences = [_moved(one, money) for one in relaxed]
    sentences += _unrestricted(experiment, question, world, now, money)
    for row in dict.fromkeys(one.estimate for one in relaxed[:1]):
        sentences += _fewer_epochs(experiment, row, limits, now)
        sentences += _levers(experiment, answered, row, limits, now)
    return tuple(sentences)


def _row_words(row: Estimate) -> str:
    return f"{machine_name(row)} ({gpus_words(row)}, {where_words(row)}, {buy_word(row)})"


def _moved(one: Relaxation, money: MoneyFormat) -> str:
    if one.limit == "deadline" and one.limits.deadline is not None:
        text = f"a deadline of {one.limits.deadline:%a %d %b %H:%M} is met by {_row_words(one.estimate)}"
    else:
        budget = money(one.limits.budget_usd)
        if budget != format_money(one.limits.budget_usd):  # the flag takes USD all the same
            budget += f" (--budget {one.limits.budget_usd:g})"
        text = f"a budget of {budget} is met by {_row_words(one.estimate)}"
    cost = one.estimate.cost_usd
    both = "" if one.meets_all else ", though not the other limit"
    return text + (f" for {bound_mark(one.estimate)}{money(cost.p50)}" if cost is not None else "") + both


def _unrestricted(
    experiment: Experiment, question: Question, world: World, now: datetime, money: MoneyFormat
) -> Iterator[str]:
    """The recommendation of the same limits without what narrows the search: other GPUs, places, ways to pay."""
    flags = [
        flag
        for flag, given in (
            ("--gpus", question.gpus), ("--where", question.where), ("--region", question.regions),
            ("--spot/--on-demand", question.purchases), ("--max-price", question.max_price_usd_per_hour),
            ("--num-nodes", question.num_nodes),
        )
        if given
    ]  # fmt: skip
    if not flags:
        return
    free = question._replace(gpus=None, where=(), regions=(), purchases=(), max_price_usd_per_hour=None, num_nodes=None)
    answered = answer(experiment, free, world, now)
    if answered.best is None:
        return
    row = written(experiment, answered, now, max_rows=1).recommendation
    found = None if row is None else row.estimate
    if found is not None and found.cost_usd is not None and found.time_s is not None:
        yield (
            f"without {', '.join(flags)}, {_row_words(found)} makes it: "
            f"{format_duration(found.time_s.p50)} for {bound_mark(found)}{money(found.cost_usd.p50)}"
        )


def _fewer_epochs(experiment: Experiment, row: Estimate, limits: Limits, now: datetime) -> Iterator[str]:
    """How much training the row has time and money for beside what does not depend on it."""
    share = _share_that_fits(row, limits, now)
    step = 1.0 if experiment.epochs >= 10 else 0.1
    epochs = math.floor(share * experiment.epochs / step) * step
    if 0 < epochs < experiment.epochs:
        yield f"{epochs:g} of the {experiment.epochs:g} epochs would fit on {_row_words(row)}"


def _share_that_fits(row: Estimate, limits: Limits, now: datetime) -> float:
    """The share of the training after which both limits are met, the rest of time and bill staying as it is."""
    shares = [1.0]
    if limits.deadline is not None and row.time_s is not None:
        seconds = {part.name: part.seconds for part in row.time_parts}
        allowed = (limits.deadline - now).total_seconds() / limit_met(row.time_s, limits.confidence)
        shares.append(_beside(allowed, seconds))
    if limits.budget_usd is not None and row.cost_usd is not None and row.cost_usd.p50 > 0:
        spent = {use.name: use.usd for part in row.cost_parts for use in part.parts} or {"training": 1.0}
        shares.append(_beside(limits.budget_usd / limit_met(row.cost_usd, limits.confidence), spent))
    return min(shares)


def _beside(allowed: float, parts: Mapping[str, float]) -> float:
    """The share of the training that is left of ``allowed``, a share of the whole, beside the parts that stay."""
    stays = sum(parts.get(name, 0.0) for name in _STAYS) / sum(parts.values())
    return (allowed - stays) / (1 - stays)


def _levers(experiment: Experiment, answered: Answer, row: Estimate, limits: Limits, now: datetime) -> Iterator[str]:
    """Flags that make the row quick, and so cheap, enough."""
    choice = find(answered, row)
    if choice is None:
        return
    needed = _share_that_fits(row, limits, now)
    found = [
        flags_of(experiment, lever.experiment)
        for lever in levers(experiment, choice.candidate.machine, answered.competition.knowledge)
        if lever.fits and lever.time_factor is not None and lever.time_factor <= needed
    ]
    helping = [flags for flags in found if flags][:MOST_LEVERS]
    if helping:
        yield f"{' or '.join(helping)} would do on {_row_words(row)}"
