"""Buy or rent: the machines one might buy, each on this experiment, against what renting it costs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.hardware.selection import resolve_count
from planner.plan.assumed import own_terms
from planner.plan.bought import Bought, on_experiment
from planner.plan.breakeven import Sensitivity, break_even, sensitivity
from planner.plan.competition import electricity_of
from planner.plan.config import OwnershipTerms
from planner.plan.cost import cents
from planner.plan.electricity import ElectricityPrice
from planner.plan.planning import Answer, answer
from planner.plan.probability import p_both
from planner.plan.purchase import described_purchase
from planner.plan.question import Question
from planner.plan.rents import Market, Rent, as_fast, market, rents_of, runs_words
from planner.plan.search import Limits
from planner.plan.world import World
from planner.throughput.step import StepModel
from planner.values import positive, usd

DEFAULT_PURCHASES = ("RTX 4090", "RTX 5090", "used RTX 3090", "4x RTX A6000")
DEFAULT_HOURS_PER_WEEK = 40.0
DEFAULT_MONTHS = 36.0
USES = (5.0, 10.0, 20.0, 40.0, 80.0, 168.0)
"""Hours a week for which the break-even is shown."""


class Terms(NamedTuple):
    """What the user says of buying. The work is ``runs_per_month``, or what the first purchase does in
    ``hours_per_week``; it is the same for all."""

    purchases: tuple[str, ...] = DEFAULT_PURCHASES
    hours_per_week: float = DEFAULT_HOURS_PER_WEEK
    runs_per_month: float | None = None
    months: float = DEFAULT_MONTHS
    card_prices: tuple[str, ...] = ()
    host_usd: float | None = None


class BuyOrRent(NamedTuple):
    """Purchases in order of what they have cost at the horizon, those that miss the limits or cannot keep up last;
    rents for all, and the first purchase's sensitivity."""

    terms: Terms
    runs_per_month: float
    electricity: ElectricityPrice
    bought: tuple[Bought, ...]
    rents: tuple[Rent, ...]
    sensitivity: tuple[Sensitivity, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def buy_or_rent(experiment: Experiment, question: Question, terms: Terms, world: World, now: datetime) -> BuyOrRent:
    """What each purchase comes to beside renting, over the months of ``terms``.

    Raises InputError for what cannot be read, NothingFitsError where nothing can be rented for the experiment.
    """
    prices = _own_prices(terms)
    purchases = [described_purchase(text, prices.get(_card_key(text)), terms.host_usd) for text in terms.purchases]
    credits_usd = world.config.credits_usd
    by_the_run = world._replace(config=world.config._replace(credits_usd={}))
    answered = answer(experiment, _to_rent(question), by_the_run, now)
    electricity = electricity_of(question, world.config)
    model = StepModel(experiment, answered.competition.knowledge)
    today, ownership = now.date(), world.config.ownership
    machines = [on_experiment(experiment, model, one, electricity, ownership, today) for one in purchases]
    runs = _work(machines, terms)
    rented = market(answered, credits_usd, runs, terms.months)
    rents = tuple(rents_of(rented))
    if not rents:
        raise NothingFitsError(_why_no_rent(answered))
    compared = (_compared(one, rented, rents, runs, terms.months) for one in machines)
    bought = [_limited(one, answered.competition.limits, now) for one in compared]
    bought.sort(key=lambda one: (one.problem != "", one.misses_limits or one.is_too_slow, one.spent_usd or 0.0))
    first = bought[0]
    table: tuple[Sensitivity, ...] = ()
    if first.owning is not None:
        rent_run_usd = partial(rented.run_usd, rents[0])
        table = sensitivity(first.owning, rent_run_usd, _uses(first.hours_per_week), rents[0].credit_usd)
    assumed = (
        *_assumptions(terms, runs, ownership, electricity),
        *_in_a_row_words(rents),
        *own_terms(answered.competition.candidates, world.config, credit="once, by the first runs"),
    )
    warnings = answered.competition.warnings
    return BuyOrRent(terms, runs, electricity, tuple(bought), rents, table, assumed, warnings)


def _why_no_rent(answered: Answer) -> str:
    """Whether nothing can be rented at all, or only nothing that meets the limits."""
    limits = answered.competition.limits
    unlimited = answered._replace(competition=answered.competition._replace(limits=Limits()))
    if limits.given and next(rents_of(market(unlimited, {}, 1.0, 1.0)), None) is not None:
        return (
            f"nothing that is rented out meets the limits with a probability of {limits.confidence:.0%}: move "
            "--deadline or --budget (of one run); gpuplanner estimate says what would meet them"
        )
    return "nothing that this experiment can be run on is rented out; gpuplanner estimate says why"


def _uses(hours_per_week: float | None) -> tuple[float, ...]:
    """The hours a week to show, those of the work among them where a week has as many."""
    if hours_per_week is None or hours_per_week > max(USES):
        return USES
    return tuple(sorted({*USES, round(hours_per_week, 1)}))


def _work(machines: Sequence[Bought], terms: Terms) -> float:
    """Runs a month: as said, or what the first machine that can run it does in its hours a week. Raises InputError."""
    if terms.runs_per_month is not None:
        return terms.runs_per_month
    first = next((one.owning for one in machines if one.owning is not None), None)
    if first is None:
        raise NothingFitsError(f"the experiment runs on none of them: {machines[0].problem}")
    return first.runs_per_month(terms.hours_per_week)


def _compared(one: Bought, rented: Market, rents: Sequence[Rent], runs_per_month: float, months: float) -> Bought:
    if one.owning is None:
        return one
    no_slower = as_fast(rented, one.owning.run_s)
    against = list(rents)
    if no_slower is not None and no_slower.offered not in [rent.offered for rent in rents]:
        against.append(no_slower)
    owning = one.owning
    return one._replace(
        hours_per_week=owning.hours_per_week(runs_per_month),
        against=tuple((rent, break_even(owning, rent.usd, runs_per_month, rent.credit_usd)) for rent in against),
        spent_usd=cents(owning.spent_usd(months, runs_per_month)) / 100,
    )


def _limited(one: Bought, limits: Limits, now: datetime) -> Bought:
    """The purchase with whether a run on it meets the limits: it takes its time, and costs its electricity."""
    if one.owning is None or one.time_s is None:
        return one
    longest_s = (limits.deadline - now).total_seconds() if limits.deadline is not None else None
    run_usd = one.time_s.scaled(one.owning.run_usd / one.time_s.p50)
    p_meets = p_both(one.time_s, longest_s, run_usd, limits.budget_usd)
    return one._replace(p_meets=p_meets, misses_limits=p_meets is not None and p_meets < limits.confidence)


def _card_key(text: str) -> tuple[bool, str]:
    """Used or not, and the accelerator's key: a price said of a used card is not that of a new one."""
    words = text.strip()
    used = words.lower().startswith("used ")
    resolution, _ = resolve_count(words[5:] if used else words)
    return used, resolution.accelerator.key


def _own_prices(terms: Terms) -> dict[tuple[bool, str], float]:
    """The prices said of cards, by the cards' keys. Raises InputError, too, for a card that nobody asks about."""
    prices, asked_of = {}, {_card_key(text) for text in terms.purchases}
    for text in terms.card_prices:
        name, equals, amount = text.rpartition("=")
        try:
            price = usd(positive)(amount)
        except InputError:
            price = 0.0
        if not equals or not 0 < price < 1e7:
            raise InputError(f"--card-price wants a card and USD, such as 'RTX 4090=1900', not {text!r}")
        key = _card_key(name)
        if key not in asked_of:
            raise InputError(
                f"--card-price is of {name.strip()}, which is not one of {', '.join(terms.purchases)} (--buy)"
            )
        prices[key] = price
    return prices


def _to_rent(question: Question) -> Question:
    """The same question of what is rented out; free notebooks are no rent."""
    return question if question.where else question._replace(where=("cloud",))


def _assumptions(
    terms: Terms, runs_per_month: float, ownership: OwnershipTerms, electricity: ElectricityPrice
) -> Iterator[str]:
    said = "--runs-per-month"
    if terms.runs_per_month is None:
        said = f"{terms.purchases[0]} at {terms.hours_per_week:g} hours a week: --hours-per-week, --runs-per-month"
    yield f"{runs_words(runs_per_month)} runs a month ({said})"
    yield f"electricity {electricity.usd_per_kwh:g} USD/kWh, {electricity.words} (--country, --electricity-price)"
    yield (
        f"a machine keeps {ownership.resale_share:.0%} of its price after {ownership.lifetime_years:g} years, "
        "losing the same share every month ([ownership] in the configuration)"
    )
    yield "a rented run is billed as gpuplanner estimate bills it; prices stay as they are"


def _in_a_row_words(rents: Sequence[Rent]) -> Iterator[str]:
    most = max(rent.in_a_row for rent in rents)
    if most > 1:
        yield (
            f"the runs of a day ({runs_words(most)}) are rented for in a row, on a machine that is had, set up and "
            "filled with data once; a run's time and cost are its share"
        )
