"""The order of rows: by what they cost, whatever a price is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from planner.plan.candidates import Candidate, Tariff
from planner.plan.search import Limits, Ranking, pareto_front, rank
from planner.throughput.step import StepModel
from planner.units import Interval
from pricing.offer import Offer
from tests.pricing.samples import OFFER, priced
from tests.throughput.examples import A100, experiment, machine

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SELDOM = Interval(0.0, 0.001, 0.002)


def ranked(
    *offers: Offer,
    limits: Limits | None = None,
    credit_usd: float = 0.0,
    rate: Callable[[Offer], Interval] = lambda offer: SELDOM,
) -> Ranking:
    """The ranking of one rented A100 with these offers, and half a dollar for a dollar of credit."""
    tariff = Tariff((), interruption_rate=rate, credit_usd=credit_usd, credit_value=0.5)
    candidate = Candidate("a100", "cloud", machine(A100), tariff, offers, provider="aws", instance_type="a100")
    question = experiment()
    return rank(question, StepModel(question), [candidate], limits or Limits(sort="cost"), NOW)


@pytest.mark.parametrize(("spot_usd", "first"), [("12", "on_demand"), ("9", "spot")])
def test_a_spot_price_above_the_on_demand_price_is_not_taken(spot_usd: str, first: str) -> None:
    """karpenter-aws#3183, PR#4924: spot is cheaper only where it is."""
    rows = ranked(priced(OFFER, "10"), priced(OFFER._replace(purchase="spot"), spot_usd)).rows
    assert next(row.offer.purchase for row in rows if row.offer) == first
    assert len(rows) == 2


def test_interruptions_cost_time_and_only_spot_has_them() -> None:
    rows = ranked(priced(OFFER, "10"), priced(OFFER._replace(purchase="spot"), "10")).rows
    assert [row.offer.purchase for row in rows if row.offer] == ["on_demand", "spot"]
    assert rows[0].time_s < rows[1].time_s


def test_a_credit_is_finite_money_and_what_uses_less_of_it_comes_first() -> None:
    offers = (priced(OFFER, "39.80"), priced(OFFER._replace(region="us-west-2"), "6.84"))
    for limits in (Limits(sort="cost"), Limits(), Limits(budget_usd=1e6), Limits(sort="time")):
        dear, cheap = (row for price in offers for row in ranked(price, credit_usd=0.0).rows)
        first, second = ranked(*offers, limits=limits, credit_usd=1e6).rows
        assert (first.offer, second.offer) == (offers[1], offers[0])
        assert (first.cost_usd, second.cost_usd) == (0.0, 0.0)
        assert (first.credit_usd, second.credit_usd) == (cheap.cost_usd, dear.cost_usd)
        assert first.weighed_usd == pytest.approx(cheap.cost_usd / 2)


def test_what_a_credit_does_not_cover_is_money() -> None:
    (whole,) = ranked(priced(OFFER, "10")).rows
    (row,) = ranked(priced(OFFER, "10"), credit_usd=whole.cost_usd / 4).rows
    assert row.credit_usd == pytest.approx(whole.cost_usd / 4, abs=0.01)
    assert row.cost_usd + row.credit_usd == pytest.approx(whole.cost_usd)
    assert row.weighed_usd == pytest.approx(whole.cost_usd * (3 / 4 + 1 / 8), abs=0.01)


def test_the_front_is_what_nothing_beats_in_both() -> None:
    rows = ranked(priced(OFFER, "10"), priced(OFFER._replace(region="us-west-2"), "11")).rows
    assert pareto_front(rows) == {0}, "two offers of one machine take as long: the cheaper one is on it"
    quick_and_dear = rows[1]._replace(time_s=rows[0].time_s / 2)
    assert pareto_front([rows[0], quick_and_dear]) == {0, 1}
    slow_and_dear = rows[1]._replace(time_s=rows[0].time_s * 2)
    assert pareto_front([slow_and_dear, rows[0], quick_and_dear]) == {1, 2}


@pytest.mark.parametrize("rate", [SELDOM, Interval(0.0, 0.0, 0.0)])
@pytest.mark.parametrize("given", [("budget",), ("deadline",), ("budget", "deadline")])
def test_what_offers_share_does_not_mix_up_their_chances(given: tuple[str, ...], rate: Interval) -> None:
    """Same time, same price, another purchase, day or region: each row's chance is that of its offer alone."""
    offers = tuple(
        priced(OFFER._replace(region=region, purchase=purchase, price_as_of=day), usd)
        for region, usd in (("us-east-1", "10"), ("us-west-2", "10"), ("eu-west-1", "10.50"))
        for purchase in ("on_demand", "spot")
        for day in ("2026-11-29", "2026-10-01")
    )

    def rated(offer: Offer) -> Interval:
        return rate if offer.region != "us-west-2" else rate.scaled(50.0)

    (alone,) = ranked(offers[0]).rows
    limits = Limits(
        deadline=NOW + timedelta(seconds=alone.time_s) if "deadline" in given else None,
        budget_usd=alone.cost_usd * 1.02 if "budget" in given else None,
    )
    rows = ranked(*offers, limits=limits, rate=rated).rows
    assert len(rows) == len(offers)
    for row in rows:
        assert row.offer is not None
        assert [row.p_meets] == [one.p_meets for one in ranked(row.offer, limits=limits, rate=rated).rows]
    assert len({row.p_meets for row in rows}) > 1 or (given, rate.p50) == (("deadline",), 0.0)
