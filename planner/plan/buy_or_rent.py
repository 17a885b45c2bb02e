"""Buy or rent: the machines one might buy, each on this experiment, against what renting it costs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.catalog import accelerators
from planner.hardware.selection import resolve_count
from planner.plan.assumed import own_terms
from planner.plan.breakeven import BreakEven, Owning, Sensitivity, break_even, sensitivity
from planner.plan.candidates import Candidate
from planner.plan.competition import electricity_of
from planner.plan.config import OwnershipTerms
from planner.plan.cost import cents
from planner.plan.electricity import ElectricityPrice
from planner.plan.owned import owned_candidate
from planner.plan.ownership import Ownership, wall_power_w
from planner.plan.planning import Answer, answer
from planner.plan.purchase import (
    CONDITIONS,
    CardPrice,
    Purchase,
    card_price,
    described_purchase,
    purchase_of,
    sold_singly,
)
from planner.plan.question import Question
from planner.plan.recommend import recommend
from planner.plan.search import ORDINARY_STACKS, Limits, Row, meets
from planner.plan.sentence import PURCHASE_WORDS, machine_words
from planner.plan.timeline import timeline
from planner.plan.words import place_of_offer
from planner.plan.world import World
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval
from planner.values import positive, usd
from pricing.age import STALE_AFTER_DAYS, age_days

DEFAULT_PURCHASES = ("RTX 4090", "RTX 5090", "used RTX 3090", "4x RTX A6000")
DEFAULT_HOURS_PER_WEEK = 40.0
DEFAULT_MONTHS = 36.0
SOLD_YEARS = 4
"""How long a card is taken to be sold at about its launch price (assumption)."""

USES = (5.0, 10.0, 20.0, 40.0, 80.0, 168.0)


class Terms(NamedTuple):
    """What the user says of buying. The work is ``runs_per_month``, or what the first purchase does in
    ``hours_per_week``; it is the same for all."""

    purchases: tuple[str, ...] = DEFAULT_PURCHASES
    hours_per_week: float = DEFAULT_HOURS_PER_WEEK
    runs_per_month: float | None = None
    months: float = DEFAULT_MONTHS
    card_prices: tuple[str, ...] = ()
    host_usd: float | None = None
    purchase_budget_usd: float | None = None


class Rent(NamedTuple):
    """A rented row by what it is here: 'cheapest', 'on demand' or 'as fast'; ``usd`` and seconds a run.

    ``credit_usd`` is what the provider has given: it pays for the first runs, once.
    ``words`` name the offer: 'azure Standard_NC4as_T4_v3 (1× T4) in eastus, spot'.
    """

    label: str
    words: str
    provider: str
    instance_type: str
    region: str
    purchase: str
    price_as_of: str
    usd: float
    time_s: float
    credit_usd: float = 0.0

    def spent_usd(self, runs: float) -> float:
        """What so many runs cost."""
        return max(0.0, runs * self.usd - self.credit_usd)

    @property
    def offered(self) -> tuple[str, str, str, str]:
        """What tells one rent from another, whatever it is here."""
        return self.provider, self.instance_type, self.region, self.purchase


class Bought(NamedTuple):
    """A purchase on this experiment. ``problem`` says why it cannot run it (the figures are then None).

    ``samples_per_s`` and ``time_s`` are of one run, ``energy_kwh`` at the wall; ``hours_per_week`` is how busy the work
    keeps it; ``against`` has the break-even against each rent, ``as_fast`` the cheapest rent that is no slower;
    ``spent_usd`` is money out by the horizon. ``price_age_days`` is None where the price has no day.
    """

    purchase: Purchase
    problem: str
    owning: Owning | None = None
    samples_per_s: Interval | None = None
    time_s: Interval | None = None
    power_w: float | None = None
    energy_kwh: float | None = None
    memory_bytes: float | None = None
    batch_size_per_gpu: int | None = None
    evidence: str = ""
    hours_per_week: float | None = None
    against: tuple[tuple[Rent, BreakEven], ...] = ()
    spent_usd: float | None = None
    price_age_days: int | None = None

    @property
    def price_is_old(self) -> bool:
        """Whether the card's price deserves a mark, as prices by the hour do."""
        return self.price_age_days is not None and self.price_age_days > STALE_AFTER_DAYS


class _Market(NamedTuple):
    """What can be rented, ranked as if there were no credit; and the credits, which pay once in all ``runs``."""

    answered: Answer
    credits_usd: Mapping[str, float]
    runs: float

    def credit_usd(self, row: Row) -> float:
        return self.credits_usd.get(row.setting.candidate.provider or "", 0.0)

    def spent_usd(self, row: Row) -> float:
        """What all the runs come to on the row's machine."""
        return max(0.0, self.runs * row.cost_usd - self.credit_usd(row))


class BuyOrRent(NamedTuple):
    """Purchases in order of what they have cost at the horizon, rents for all, and the first purchase's sensitivity."""

    terms: Terms
    runs_per_month: float
    electricity: ElectricityPrice
    bought: tuple[Bought, ...]
    rents: tuple[Rent, ...]
    sensitivity: tuple[Sensitivity, ...]
    assumptions: tuple[str, ...]


def buy_or_rent(experiment: Experiment, question: Question, terms: Terms, world: World, now: datetime) -> BuyOrRent:
    """Raises InputError for what cannot be read, NothingFitsError where nothing can be rented for the experiment."""
    purchases = [_purchase(text, terms) for text in terms.purchases]
    credits_usd = world.config.credits_usd
    by_the_run = world._replace(config=world.config._replace(credits_usd={}))
    answered = answer(experiment, _to_rent(question), by_the_run, now)
    electricity = electricity_of(question, world.config)
    model = StepModel(experiment, answered.competition.knowledge)
    today, ownership = now.date(), world.config.ownership
    machines = [_on_this(experiment, model, one, electricity, ownership, today) for one in purchases]
    runs = _work(machines, terms)
    market = _Market(answered, credits_usd, runs * terms.months)
    rents = tuple(_rents(market))
    if not rents:
        raise NothingFitsError(_why_no_rent(answered))
    bought = [_compared(one, market, rents, runs, terms.months) for one in machines]
    bought.sort(key=lambda one: (one.problem != "", one.spent_usd or 0.0))
    first = bought[0]
    table: tuple[Sensitivity, ...] = ()
    if first.owning is not None:
        table = sensitivity(first.owning, rents[0].usd, _uses(first.hours_per_week), rents[0].credit_usd)
    assumed = (
        *_assumptions(terms, runs, ownership, electricity),
        *own_terms(answered.competition.candidates, world.config, credit="once, by the first runs"),
    )
    return BuyOrRent(terms, runs, electricity, tuple(bought), rents, table, assumed)


def _why_no_rent(answered: Answer) -> str:
    """Whether nothing can be rented at all, or only nothing that meets the limits."""
    limits = answered.competition.limits
    unlimited = answered._replace(competition=answered.competition._replace(limits=Limits()))
    if limits.given and next(_rents(_Market(unlimited, {}, 1.0)), None) is not None:
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


def _compared(one: Bought, market: _Market, rents: Sequence[Rent], runs_per_month: float, months: float) -> Bought:
    if one.owning is None:
        return one
    as_fast = _as_fast(market, one.owning.run_s)
    against = list(rents)
    if as_fast is not None and as_fast.offered not in [rent.offered for rent in rents]:
        against.append(as_fast)
    owning = one.owning
    return one._replace(
        hours_per_week=owning.hours_per_week(runs_per_month),
        against=tuple((rent, break_even(owning, rent.usd, runs_per_month, rent.credit_usd)) for rent in against),
        spent_usd=cents(owning.spent_usd(months, runs_per_month)) / 100,
    )


def cards_for(
    experiment: Experiment,
    question: Question,
    terms: Terms,
    world: World,
    today: date,
    devices: Sequence[Accelerator] = (),
) -> list[Bought]:
    """Single cards with a known price within the budget, by samples/s for each dollar of the card.

    A launch price counts as one for some years only: after them the card is no longer sold for it, if at all. It is
    none that a shop asks today, so that cards of which nothing else is known come after the others; and last come those
    for which the code must be ported.
    """
    electricity = electricity_of(question, world.config)
    model = StepModel(experiment)
    found = []
    for device in devices or accelerators().values():
        card = card_price(device) if sold_singly(device) and device.trains else None
        if card is None or (not devices and _is_history(card, today)):
            continue
        if terms.purchase_budget_usd is not None and card.usd > terms.purchase_budget_usd:
            continue
        purchase = purchase_of(device, 1, card, terms.host_usd)
        found.append(_on_this(experiment, model, purchase, electricity, world.config.ownership, today))
    return sorted(found, key=_merit)


def _merit(one: Bought) -> tuple[bool, bool, bool, float]:
    """What is bought for the experiment first; the less the better."""
    ported = one.purchase.machine.accelerator.stack not in ORDINARY_STACKS
    return one.problem != "", ported, one.purchase.card.condition == "launch", -per_dollar(one)


def _is_history(card: CardPrice, today: date) -> bool:
    """Whether the only price known is that of a launch long ago."""
    return card.condition == "launch" and (card.as_of is None or int(card.as_of[:4]) < today.year - SOLD_YEARS)


def per_dollar(one: Bought) -> float:
    """Samples a second for each dollar of the cards, without their host."""
    rate = one.samples_per_s.p50 if one.samples_per_s is not None else 0.0
    return rate / (one.purchase.usd - one.purchase.host_usd)


def _purchase(text: str, terms: Terms) -> Purchase:
    return described_purchase(text, _own_prices(terms.card_prices).get(_card_key(text)), terms.host_usd)


def _card_key(text: str) -> tuple[bool, str]:
    """Used or not, and the accelerator's key: a price said of a used card is not that of a new one."""
    words = text.strip()
    used = words.lower().startswith("used ")
    resolution, _ = resolve_count(words[5:] if used else words)
    return used, resolution.accelerator.key


def _own_prices(texts: Sequence[str]) -> dict[tuple[bool, str], float]:
    prices = {}
    for text in texts:
        name, equals, amount = text.rpartition("=")
        try:
            price = usd(positive)(amount)
        except InputError:
            price = 0.0
        if not equals or not 0 < price < 1e7:
            raise InputError(f"--card-price wants a card and USD, such as 'RTX 4090=1900', not {text!r}")
        prices[_card_key(name)] = price
    return prices


def _to_rent(question: Question) -> Question:
    """The same question of what is rented out; free notebooks are no rent."""
    return question if question.where else question._replace(where=("cloud",))


def _rented(market: _Market) -> list[Row]:
    """Rows that are rented out and meet the limits, the cheapest first."""
    answered, limits = market.answered, market.answered.competition.limits
    rows = (row for row in answered.ranking.rows if row.offer is not None and (not limits.given or meets(row, limits)))
    return sorted(rows, key=lambda row: (market.spent_usd(row), row.cost_usd))


def _cheapest(market: _Market, label: str, wanted: Callable[[Row], bool]) -> Rent | None:
    for row in _rented(market):
        if wanted(row) and recommend([row], Limits(), market.answered.competition.named) is not None:
            return _rent(label, row, market.credit_usd(row))
    return None


def _rent(label: str, row: Row, credit_usd: float) -> Rent | None:
    candidate, offer = row.setting.candidate, row.offer
    if offer is None:
        return None
    place = place_of_offer(offer.region, offer.zone)
    bought = PURCHASE_WORDS.get(offer.purchase, offer.purchase)
    words = f"{offer.provider} {offer.instance_type} ({machine_words(candidate)}) in {place}, {bought}"
    return Rent(
        label, words, offer.provider, offer.instance_type, offer.region, offer.purchase, offer.price_as_of,
        row.cost_usd, row.time_s, credit_usd,
    )  # fmt: skip


def _rents(market: _Market) -> Iterator[Rent]:
    """The cheapest run that is rented out, and the cheapest on demand where that is another."""
    cheapest = _cheapest(market, "cheapest", lambda row: True)
    if cheapest is None:
        return
    yield cheapest
    steady = _cheapest(market, "on demand", lambda row: row.offer is not None and row.offer.purchase == "on_demand")
    if steady is not None and steady.offered != cheapest.offered:
        yield steady


def _as_fast(market: _Market, run_s: float) -> Rent | None:
    """The cheapest rent of a machine that is no slower."""
    return _cheapest(market, "as fast", lambda row: row.time_s <= run_s)


def _on_this(
    experiment: Experiment,
    model: StepModel,
    purchase: Purchase,
    electricity: ElectricityPrice,
    ownership: OwnershipTerms,
    today: date,
) -> Bought:
    step = model.estimate(purchase.machine)
    seen = purchase.card.as_of
    old_days = age_days(seen, today) if seen is not None and purchase.card.condition in CONDITIONS else None
    if not step.fits or step.samples_per_s is None:
        problem = step.reason or "it does not fit"
        return Bought(purchase, problem, memory_bytes=step.memory_required_bytes, price_age_days=old_days)
    line = timeline(experiment, purchase.machine, step, rented=False)
    candidate = _candidate(purchase, electricity, ownership)
    hours = line.total.p50 / SECONDS_PER_HOUR
    electricity_usd = candidate.tariff.charges[0].usd(line.total.p50)
    run_usd = cents(electricity_usd) / 100 if electricity_usd is not None else 0.0
    owning = Owning(purchase.usd, run_usd, line.total.p50, ownership.resale_share, ownership.lifetime_years * 12)
    return Bought(
        purchase,
        "",
        owning,
        samples_per_s=step.samples_per_s,
        time_s=line.total,
        power_w=candidate.power_w,
        energy_kwh=None if candidate.power_w is None else candidate.power_w * hours / 1000,
        memory_bytes=step.memory_required_bytes,
        batch_size_per_gpu=step.batch_size_per_gpu,
        evidence=step.evidence,
        price_age_days=old_days,
    )


def _candidate(purchase: Purchase, electricity: ElectricityPrice, ownership: OwnershipTerms) -> Candidate:
    power_w = wall_power_w(purchase.machine, "workstation", purchase.host_power_w)
    return owned_candidate(
        purchase.name,
        "workstation",
        purchase.machine,
        Ownership(power_w, "board power plus host", purchase.usd, purchase.source, price_as_of=purchase.card.as_of),
        electricity,
        ownership,
        hypothetical=True,
    )


def _assumptions(
    terms: Terms, runs_per_month: float, ownership: OwnershipTerms, electricity: ElectricityPrice
) -> Iterator[str]:
    said = "--runs-per-month"
    if terms.runs_per_month is None:
        said = f"{terms.purchases[0]} at {terms.hours_per_week:g} hours a week: --hours-per-week, --runs-per-month"
    yield f"{runs_per_month:.3g} runs a month ({said})"
    yield f"electricity {electricity.usd_per_kwh:g} USD/kWh, {electricity.words} (--country, --electricity-price)"
    yield (
        f"a machine keeps {ownership.resale_share:.0%} of its price after {ownership.lifetime_years:g} years, "
        "losing the same share every month ([ownership] in the configuration)"
    )
    yield "a rented run is billed as gpuplanner estimate bills it; prices stay as they are"
