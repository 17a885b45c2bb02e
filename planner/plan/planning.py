"""From an experiment and a question to a plan: gather candidates, rank, recommend, and write the rows asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from planner.experiment.experiment import Experiment
from planner.plan.plan import Estimate, Plan, Recommendation
from planner.plan.question import Question
from planner.plan.rows import ranked_estimate, refused_estimate
from planner.plan.search import Limits, Ranking, Row, pareto_front, rank, recommend
from planner.plan.sentence import recommendation_sentence
from planner.plan.world import World, gather
from planner.throughput.step import StepModel


def make_plan(
    experiment: Experiment,
    question: Question,
    world: World,
    now: datetime,
    *,
    max_rows: int = 0,
    by_machine: bool = False,
) -> Plan:
    """Rank everything the question allows; ``max_rows`` 0 is all. ``by_machine`` keeps a machine's best offer only.

    Raises InputError for a question that names something unknown.
    """
    competition = gather(experiment, question, world, now)
    limits = competition.limits
    ranking = rank(experiment, StepModel(experiment), competition.candidates, limits, now)
    best = recommend(ranking.rows, limits, places=competition.where.named, named_accelerators=question.gpus is not None)
    indices = _shown(ranking.rows, max_rows, by_machine)
    ranks = {index: place for place, index in enumerate(indices, start=1)} if by_machine else None
    front = pareto_front(ranking.rows)
    estimates = tuple(
        ranked_estimate(ranking.rows[index], ranks[index] if ranks else index + 1, index in front, now)
        for index in indices
    )
    unranked = tuple(refused_estimate(refusal, now) for refusal in ranking.refusals)
    return Plan(
        experiment=experiment,
        generated_at=now,
        prices_as_of=min((row.price_as_of for row in estimates if row.price_as_of and row.provider), default=None),
        estimates=estimates,
        unranked=unranked,
        ranked_count=len(ranking.rows),
        recommendation=_recommendation(ranking, best, ranks, limits, now),
        assumptions=experiment.assumptions + competition.assumptions,
        warnings=competition.warnings + tuple(_warnings(estimates)),
    )


def _shown(rows: list[Row], max_rows: int, by_machine: bool) -> list[int]:
    """Indices of the rows to write out, in order."""
    if not by_machine:
        return list(range(len(rows) if max_rows == 0 else min(max_rows, len(rows))))
    seen: set[int] = set()
    shown: list[int] = []
    for index, row in enumerate(rows):
        machine = id(row.setting)
        if machine not in seen:
            seen.add(machine)
            shown.append(index)
            if len(shown) == max_rows:
                break
    return shown


def _recommendation(
    ranking: Ranking, best: int | None, ranks: dict[int, int] | None, limits: Limits, now: datetime
) -> Recommendation | None:
    if best is None:
        return None
    place = best + 1
    if ranks is not None:
        # Rows are numbered as shown; a recommended row beyond them is counted, machine by machine.
        place = ranks.get(best) or _place_by_machine(ranking.rows, best)
    return Recommendation(place, recommendation_sentence(ranking.rows[best], limits, now))


def _place_by_machine(rows: list[Row], best: int) -> int:
    return len({id(row.setting) for row in rows[: best + 1]})


def _warnings(estimates: Iterable[Estimate]) -> Iterable[str]:
    flags = {flag for estimate in estimates for flag in estimate.flags}
    if "cost_incomplete" in flags:
        yield "some rows have a cost that nobody knows in full (cost_incomplete): they are ranked but never recommended"
