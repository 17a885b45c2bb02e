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
from planner.plan.tier import tier_of
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
    competition, (rows, refusals), best = answered
    writer = _writer(rows, best, now, by_machine=by_machine)
    estimates = tuple(map(writer.estimate, writer.shown(max_rows, keep_best=keep_best)))
    recommendation = None if best is None else _recommendation(answered, best, writer, money)
    refitted = tuple(ways_to_fit(experiment, answered, now) if found is None else found)
    refused = _by_machine_and_reason(refusals) if by_machine else refusals
    return Plan(
        experiment=experiment,
        generated_at=now,
        prices_as_of=_prices_as_of(estimates, recommendation),
        estimates=estimates,
        unranked=tuple(refused_estimate(refusal, now) for refusal in refused),
        ranked_count=len(rows),
        unranked_count=len(refusals),
        recommendation=recommendation,
        no_recommendation="" if best is not None else _why_none(rows, competition, refitted),
        assumptions=experiment.assumptions + competition.assumptions,
        warnings=(*competition.warnings, *_warnings(experiment, estimates, recommendation)),
        tier=_tier(rows, competition.limits, now, money),
        nearest=tuple(refit_sentence(experiment, way, money) for way in refitted),
        refits=refitted,
    )


class _Writer(NamedTuple):
    """Writes rows out under the numbers of ``ranks``; ``machines`` has those of machines, ``front`` the front."""

    rows: list[Row]
    best: int | None
    now: datetime
    by_machine: bool
    ranks: dict[int, int]
    machines: dict[int, int]
    front: set[int]

    def shown(self, max_rows: int, *, keep_best: bool) -> list[int]:
        """The indices of the rows to show, as ``written`` says."""
        shown = list(self.ranks)[:max_rows] if max_rows else list(self.ranks)
        if keep_best:
            shown = _with_best(shown, self.best, self.ranks)
        if self.by_machine:
            kept = set(shown)
            shown += _best_of_places(self.rows, [index for index in self.ranks if index not in kept], shown)
        return shown

    def estimate(self, index: int) -> Estimate:
        found = ranked_estimate(self.rows[index], self.ranks[index], index in self.front, self.now)
        return found._replace(row=self.machines.get(index))


def _writer(rows: list[Row], best: int | None, now: datetime, *, by_machine: bool) -> _Writer:
    ranks = numbered(rows, best, by_machine=by_machine)
    machines = ranks if by_machine else numbered(rows, best, by_machine=True)
    return _Writer(rows, best, now, by_machine, ranks, machines, pareto_front(rows))


def _recommendation(answered: Answer, best: int, writer: _Writer, money: MoneyFormat) -> Recommendation:
    rows, ranks, limits, named = writer.rows, writer.ranks, answered.competition.limits, answered.competition.named
    before = [rows[index] for index, number in ranks.items() if number < ranks[best]]
    sentence = recommendation_sentence(rows[best], limits, writer.now, money)
    return Recommendation(ranks[best], sentence, why_not_before(before, limits, named), writer.estimate(best))


def _why_none(rows: Sequence[Row], competition: Competition, refitted: Sequence[Refit]) -> str:
    if refitted and not rows:
        return "Nothing fits as it stands."
    return why_none(rows, competition.limits, competition.named)


def _prices_as_of(estimates: Sequence[Estimate], recommended: Recommendation | None) -> str | None:
    """The oldest day of a price among the rows shown and the recommended one."""
    dated = estimates if recommended is None else (*estimates, recommended.estimate)
    return min((row.price_as_of for row in dated if row.price_as_of and row.provider), default=None)


def ways_to_fit(experiment: Experiment, answered: Answer, now: datetime) -> Sequence[Refit]:
    """Where most offers are too small for the experiment as it stands: what would let them run it."""
    competition, (rows, refusals), best = answered
    small = sum(refusal.step is not None and not refusal.step.fits for refusal in refusals)
    if small <= len(rows):
        return ()
    return refits(experiment, competition, refusals, None if best is None else rows[best], now)


def _tier(rows: Sequence[Row], limits: Limits, now: datetime, money: MoneyFormat) -> str:
    found = tier_of(rows, (limits.deadline - now).total_seconds() if limits.deadline is not None else None, money)
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
