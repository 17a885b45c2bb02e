"""What renting costs, for buying to be held against: the cheapest run, the cheapest on demand, one that is as fast."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from planner.plan.planning import Answer
from planner.plan.recommend import recommend
from planner.plan.search import Limits, Row, meets
from planner.plan.sentence import PURCHASE_WORDS, machine_words
from planner.plan.words import place_of_offer


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


class Market(NamedTuple):
    """What can be rented, ranked as if there were no credit; and the credits, which pay once in all ``runs``."""

    answered: Answer
    credits_usd: Mapping[str, float]
    runs: float

    def credit_usd(self, row: Row) -> float:
        return self.credits_usd.get(row.setting.candidate.provider or "", 0.0)

    def spent_usd(self, row: Row) -> float:
        """What all the runs come to on the row's machine."""
        return max(0.0, self.runs * row.cost_usd - self.credit_usd(row))


def rents_of(market: Market) -> Iterator[Rent]:
    """The cheapest run that is rented out, and the cheapest on demand where that is another."""
    cheapest = _cheapest(market, "cheapest", lambda row: True)
    if cheapest is None:
        return
    yield cheapest
    steady = _cheapest(market, "on demand", lambda row: row.offer is not None and row.offer.purchase == "on_demand")
    if steady is not None and steady.offered != cheapest.offered:
        yield steady


def as_fast(market: Market, run_s: float) -> Rent | None:
    """The cheapest rent of a machine that is no slower."""
    return _cheapest(market, "as fast", lambda row: row.time_s <= run_s)


def _cheapest(market: Market, label: str, wanted: Callable[[Row], bool]) -> Rent | None:
    for row in _rented(market):
        if wanted(row) and recommend([row], Limits(), market.answered.competition.named) is not None:
            return _rent(label, row, market.credit_usd(row))
    return None


def _rented(market: Market) -> list[Row]:
    """Rows that are rented out and meet the limits, the cheapest first."""
    answered, limits = market.answered, market.answered.competition.limits
    rows = (row for row in answered.ranking.rows if row.offer is not None and (not limits.given or meets(row, limits)))
    return sorted(rows, key=lambda row: (market.spent_usd(row), row.cost_usd))


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
