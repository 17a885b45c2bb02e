"""What renting costs, for buying to be held against: the cheapest run, the cheapest on demand, one that is as fast.

Who has many runs to do rents for several of them in a row, as :mod:`planner.plan.sweep` does: the runs of a day are
done one after the other on a machine that is had, set up and filled with data once, and given back once.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from planner.plan.candidates import Candidate
from planner.plan.cost import total_cents
from planner.plan.planning import Answer
from planner.plan.recommend import recommend
from planner.plan.search import Limits, Row, meets
from planner.plan.sentence import machine_words
from planner.plan.words import place_of_offer, purchase_words
from planner.units import SECONDS_PER_HOUR
from pricing.offer import Offer

DAY_S = 24 * SECONDS_PER_HOUR
DAYS_PER_MONTH = 365.25 / 12


class Rent(NamedTuple):
    """A rented row by what it is here: 'cheapest', 'on demand' or 'as fast'; ``usd`` and seconds a run.

    They are a run's share of ``in_a_row`` runs on one machine (1: each is rented for alone). ``credit_usd`` is what the
    provider has given: it pays for the first runs, once. ``at_most``: a part of the bill is taken at the dearest rate
    known of anybody.
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
    in_a_row: float = 1.0
    at_most: bool = False

    def spent_usd(self, runs: float) -> float:
        """What so many runs cost."""
        return max(0.0, runs * self.usd - self.credit_usd)

    @property
    def offered(self) -> tuple[str, str, str, str]:
        """What tells one rent from another, whatever it is here."""
        return self.provider, self.instance_type, self.region, self.purchase


def runs_words(runs: float) -> str:
    """'6.52', '1,530', 'under 0.001': never with an exponent."""
    if runs < 0.001:
        return "under 0.001"
    return f"{runs:,.0f}" if runs >= 100 else f"{runs:.3g}"


def _offered(offer: Offer) -> tuple[str, str, str, str]:
    """As ``Rent.offered``."""
    return offer.provider, offer.instance_type, offer.region, offer.purchase


class Rented(NamedTuple):
    """A row that is rented out, with a run's share of the dollars and seconds of ``in_a_row`` runs."""

    row: Row
    in_a_row: float
    usd: float
    time_s: float


class Market(NamedTuple):
    """What can be rented, the cheapest for all of the work first; ``credits_usd`` pay once in all of it."""

    answered: Answer
    credits_usd: Mapping[str, float]
    rented: tuple[Rented, ...]

    def credit_usd(self, row: Row) -> float:
        return self.credits_usd.get(row.setting.candidate.provider or "", 0.0)

    def run_usd(self, rent: Rent, runs_per_month: float) -> float:
        """What a run on a rent's machine would cost if there were so many a month."""
        row = next(
            one.row for one in self.rented if one.row.offer is not None and _offered(one.row.offer) == rent.offered
        )
        return _in_a_row(row, runs_per_month / DAYS_PER_MONTH).usd


def market(answered: Answer, credits_usd: Mapping[str, float], runs_per_month: float, months: float) -> Market:
    """The rows of a ranking without credits that meet its limits, for so many runs."""
    limits, runs = answered.competition.limits, runs_per_month * months
    a_day = runs_per_month / DAYS_PER_MONTH
    rows = (row for row in answered.ranking.rows if row.offer is not None and (not limits.given or meets(row, limits)))
    found = Market(answered, credits_usd, tuple(_in_a_row(row, a_day) for row in rows))

    def spent_usd(one: Rented) -> float:
        return max(0.0, runs * one.usd - found.credit_usd(one.row))

    return found._replace(rented=tuple(sorted(found.rented, key=lambda one: (spent_usd(one), one.usd))))


def _in_a_row(row: Row, runs_a_day: float) -> Rented:
    """The row for the runs of a day one after the other, as many as a day is long enough for."""
    setting = row.setting
    begin_s = setting.timeline.setup_s + setting.timeline.download_s
    work_s = row.time_s - begin_s
    in_a_row = max(1.0, min(runs_a_day, DAY_S / work_s))
    if in_a_row == 1.0:
        return Rented(row, 1.0, row.cost_usd, row.time_s)
    usd = _billed_usd(setting.candidate, row.offer, begin_s + in_a_row * work_s, in_a_row)
    return Rented(row, in_a_row, usd / in_a_row, work_s + begin_s / in_a_row)


def _billed_usd(candidate: Candidate, offer: Offer | None, seconds: float, runs: float) -> float:
    """The bill of ``runs`` runs that take ``seconds`` together: the hours, and for each run what it pays once."""
    charges = (charge for charge in candidate.charges(offer) if charge.known)
    together = (charge._replace(usd_once=(charge.usd_once or 0.0) * runs) for charge in charges)
    return total_cents(together, seconds + candidate.tariff.idle_s) / 100


def rents_of(market: Market) -> Iterator[Rent]:
    """The cheapest run that is rented out, and the cheapest on demand where that is another."""
    cheapest = _cheapest(market, "cheapest", lambda one: True)
    if cheapest is None:
        return
    yield cheapest
    steady = _cheapest(
        market, "on demand", lambda one: one.row.offer is not None and one.row.offer.purchase == "on_demand"
    )
    if steady is not None and steady.offered != cheapest.offered:
        yield steady


def as_fast(market: Market, run_s: float) -> Rent | None:
    """The cheapest rent of a machine that is no slower."""
    return _cheapest(market, "as fast", lambda one: one.time_s <= run_s)


def _cheapest(market: Market, label: str, wanted: Callable[[Rented], bool]) -> Rent | None:
    for one in market.rented:
        if wanted(one) and recommend([one.row], Limits(), market.answered.competition.named) is not None:
            return _rent(label, one, market.credit_usd(one.row))
    return None


def _rent(label: str, one: Rented, credit_usd: float) -> Rent | None:
    candidate, offer = one.row.setting.candidate, one.row.offer
    if offer is None:
        return None
    place = place_of_offer(offer.region, offer.zone)
    bought = purchase_words(offer.purchase, hypothetical=False)
    words = f"{offer.provider} {offer.instance_type} ({machine_words(candidate)}) in {place}, {bought}"
    return Rent(
        label, words, offer.provider, offer.instance_type, offer.region, offer.purchase, offer.price_as_of,
        one.usd, one.time_s, credit_usd, one.in_a_row, one.row.at_most,
    )  # fmt: skip
