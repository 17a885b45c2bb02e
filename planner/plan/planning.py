"""From an experiment and a question to a plan: gather candidates, rank, recommend, and write the rows asked for."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.plan.cautions import cautions
from planner.plan.competition import Competition, gather
from planner.plan.plan import Estimate, Plan, Recommendation
from planner.plan.question import Question
from planner.plan.recommend import recommend, why_none, why_not_before
from planner.plan.refit import Refit, refit_sentence, refits
from planner.plan.rows import ranked_estimate, refused_estimate
from planner.plan.search import ORDINARY_STACKS, Limits, Ranking, Refusal, Row, Setting, pareto_front, rank
from planner.plan.sentence import recommendation_sentence
from planner.plan.tier import verdict
from planner.plan.world import World
from planner.throughput.step import StepModel
from planner.units import MoneyFormat, format_money


class Answer(NamedTuple):
    """Everything ranked: who competed, all rows in order, and the index of the recommended one."""

    competition: Competition
    ranking: Ranking
    best: int | None


def answer(experiment: Experiment, question: Question, world: World, now: datetime) -> Answer:
    """Rank everything the question allows. Raises InputError for a question that names something unknown."""
    competition = gather(experiment, question, world, now)
    ranking = rank(
        experiment, StepModel(experiment, competition.knowledge), competition.candidates, competition.limits, now
    )
    best = recommend(ranking.rows, competition.limits, competition.named)
    return Answer(competition, ranking, best)


def make_plan(
    experiment: Experiment,
    question: Question,
    world: World,
    now: datetime,
    *,
    max_rows: int = 0,
    by_machine: bool = False,
) -> Plan:
    """``answer`` and ``written`` in one. Raises InputError for a question that names something unknown."""
    return written(experiment, answer(experiment, question, world, now), now, max_rows=max_rows, by_machine=by_machine)


def written(
    experiment: Experiment,
    answered: Answer,
    now: datetime,
    *,
    max_rows: int = 0,
    by_machine: bool = False,
    keep_best: bool = False,
    money: MoneyFormat = format_money,
    found: Sequence[Refit] | None = None,
) -> Plan:
    """The plan that shows ``max_rows`` rows of what was ranked; 0 is all.

    ``by_machine`` keeps a machine's best offer only and numbers those; where rows are cut off, the best of every place
    and this machine stay. ``keep_best`` keeps the recommended row, too. ``money`` writes the amounts in
    sentences. ``found`` are the ``refits`` of an earlier plan of the same answer, which take long to look for.
    """
    competition, ranking, best = answered
    rows = ranking.rows
    ranks = numbered(rows, best, by_machine=by_machine)
    shown = list(ranks)[:max_rows] if max_rows else list(ranks)
    if keep_best:
        shown = _with_best(shown, best, ranks)
    if by_machine:
        kept = set(shown)
        shown += _best_of_places(rows, [index for index in ranks if index not in kept], shown)
    front = pareto_front(rows)
    machines = ranks if by_machine else numbered(rows, best, by_machine=True)

    def estimate(index: int) -> Estimate:
        return ranked_estimate(rows[index], ranks[index], index in front, now)._replace(row=machines.get(index))

    estimates = tuple(map(estimate, shown))
    refusals = _by_machine_and_reason(ranking.refusals) if by_machine else ranking.refusals
    recommendation, reason = None, ""
    refitted = tuple(ways_to_fit(experiment, answered, now) if found is None else found)
    if best is None:
        unfit = not rows and refitted
        reason = "Nothing fits as it stands." if unfit else why_none(rows, competition.limits, competition.named)
    else:
        recommendation = Recommendation(
            ranks[best],
            recommendation_sentence(rows[best], competition.limits, now, money),
            why_not_before(
                [rows[index] for index, number in ranks.items() if number < ranks[best]],
                competition.limits,
                competition.named,
            ),
            estimate(best),
        )
    dated = estimates if recommendation is None else (*estimates, recommendation.estimate)
    return Plan(
        experiment=experiment,
        generated_at=now,
        prices_as_of=min((row.price_as_of for row in dated if row.price_as_of and row.provider), default=None),
        estimates=estimates,
        unranked=tuple(refused_estimate(refusal, now) for refusal in refusals),
        ranked_count=len(rows),
        unranked_count=len(ranking.refusals),
        recommendation=recommendation,
        no_recommendation=reason,
        assumptions=experiment.assumptions + competition.assumptions,
        warnings=(*competition.warnings, *_warnings(experiment, estimates, recommendation)),
        tier=_tier(rows, competition.limits, now, money),
        nearest=tuple(refit_sentence(experiment, way, money) for way in refitted),
        refits=refitted,
    )


def ways_to_fit(experiment: Experiment, answered: Answer, now: datetime) -> Sequence[Refit]:
    """Where most offers are too small for the experiment as it stands: what would let them run it."""
    competition, (rows, refusals), best = answered
    small = sum(refusal.step is not None and not refusal.step.fits for refusal in refusals)
    if small <= len(rows):
        return ()
    return refits(experiment, competition, refusals, None if best is None else rows[best], now)


def _tier(rows: Sequence[Row], limits: Limits, now: datetime, money: MoneyFormat) -> str:
    found = verdict(rows, (limits.deadline - now).total_seconds() if limits.deadline is not None else None, money)
    return found.sentence if found is not None else ""


def numbered(rows: list[Row], recommended: int | None, *, by_machine: bool) -> dict[int, int]:
    """Index -> the number under which a row is shown: every offer its own, or one for each machine."""
    return _ranks_by_machine(rows, recommended) if by_machine else {index: index + 1 for index in range(len(rows))}


def _ranks_by_machine(rows: list[Row], recommended: int | None) -> dict[int, int]:
    """Index of each machine's first row -> its place among them; the recommended row stands for its machine."""
    chosen = None if recommended is None else _machine(rows[recommended])
    ranks: dict[int, int] = {}
    settings: set[Setting] = set()
    seen: set[object] = set()
    for index, row in enumerate(rows):
        if row.setting in settings:
            continue
        settings.add(row.setting)
        machine = _machine(row)
        if machine not in seen:
            seen.add(machine)
            ranks[recommended if recommended is not None and machine == chosen else index] = len(seen)
    return ranks


def _machine(row: Row) -> object:
    """What counts as one machine. Where the code must be ported first, an accelerator does: its slices come later."""
    device = row.setting.candidate.machine.accelerator
    return id(row.setting) if device.stack in ORDINARY_STACKS else device.key


def _with_best(shown: list[int], best: int | None, ranks: dict[int, int]) -> list[int]:
    """The indices shown and the recommended row's, by their numbers."""
    return shown if best is None or best in shown else sorted([*shown, best], key=ranks.__getitem__)


def _best_of_places(rows: list[Row], others: list[int], shown: list[int]) -> list[int]:
    """Of the indices not shown: this machine, and the best of each place that has no row among those shown."""

    def kinds(index: int) -> set[str]:
        candidate = rows[index].setting.candidate
        return {candidate.place, "this machine"} if candidate.is_this_machine else {candidate.place}

    seen: set[str] = set().union(*map(kinds, shown))
    kept = []
    for index in others:
        if not kinds(index) <= seen:
            seen |= kinds(index)
            kept.append(index)
    return kept


def _by_machine_and_reason(refusals: list[Refusal]) -> list[Refusal]:
    """One refusal for each machine and reason."""
    return list({(id(refusal.candidate), refusal.reason): refusal for refusal in refusals}.values())


def _warnings(
    experiment: Experiment, estimates: Sequence[Estimate], recommended: Recommendation | None
) -> Iterable[str]:
    substitutes = {str(row.precision) for row in estimates if "precision_substituted" in row.flags}
    substitutes.discard(experiment.precision)
    if substitutes and experiment.precision != "amp":
        instead = " or ".join(sorted(substitutes))
        yield f"not every machine shown has {experiment.precision}: those without it run {instead}"
    if any("cost_incomplete" in estimate.flags for estimate in estimates):
        yield "some rows have a cost that nobody knows in full (cost_incomplete): they are ranked but never recommended"
    if recommended is not None and "cost_bounded" in recommended.estimate.flags:
        for part in recommended.estimate.cost_parts:
            if part.at_most and part.usd:
                yield f"the answer's cost has its {part.name} at the dearest rate known: {part.source}"
    yield from cautions(experiment, estimates, recommended.rank if recommended else None)
