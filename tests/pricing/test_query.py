"""Which offers answer a question: a pure predicate, narrower with every condition."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing import flags
from pricing.query import OfferQuery, in_regions, matches, parse_patterns, unranked_reason
from tests.pricing.samples import MACHINE, OFFER, priced

TODAY = date(2026, 11, 30)


def test_an_empty_query_takes_everything() -> None:
    assert matches(OFFER, MACHINE, OfferQuery(), TODAY)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (OfferQuery(providers=("aws", "gcp")), True),
        (OfferQuery(providers=("azure",)), False),
        (OfferQuery(purchases=("on_demand",)), True),
        (OfferQuery(purchases=("spot",)), False),
        (OfferQuery(regions=("us-*",)), True),
        (OfferQuery(regions=("eu-*", "us-east-?")), True),
        (OfferQuery(regions=("use1-az6",)), True),
        (OfferQuery(regions=("use1-az4",)), False),
        (OfferQuery(regions=("eu-*",)), False),
        (OfferQuery(max_usd_per_hour=21.957642), True),
        (OfferQuery(max_usd_per_hour=21.95), False),
        (OfferQuery(max_age_days=133), True),
        (OfferQuery(max_age_days=132), False),
        (OfferQuery(accelerators=("A100-40GB-SXM",)), True),
        (OfferQuery(accelerators=("A100-40GB-PCIe",)), False),
        (OfferQuery(min_gpus=8, max_gpus=8), True),
        (OfferQuery(min_gpus=9), False),
        (OfferQuery(max_gpus=4), False),
        (OfferQuery(min_memory_gib_per_gpu=40), True),
        (OfferQuery(min_memory_gib_per_gpu=80), False),
    ],
)
def test_each_condition(query: OfferQuery, answer: bool) -> None:
    assert matches(OFFER, MACHINE, query, TODAY) is answer


def test_an_unknown_memory_meets_no_least_memory() -> None:
    unknown = MACHINE._replace(memory_gib_per_gpu=None)
    assert not matches(OFFER, unknown, OfferQuery(min_memory_gib_per_gpu=1), TODAY)


def test_a_spot_question_never_returns_an_on_demand_price() -> None:
    spot = OFFER._replace(purchase="spot")
    query = OfferQuery(purchases=("spot",))
    assert [offer.purchase for offer in (OFFER, spot) if matches(offer, MACHINE, query, TODAY)] == ["spot"]


def test_patterns_of_a_comma_list() -> None:
    assert parse_patterns(" US-*,eastus ,, ") == ("us-*", "eastus")
    assert parse_patterns("") == ()


def test_a_price_for_all_regions_is_in_none_in_particular() -> None:
    assert not in_regions("all", None, ("us-*",))
    assert in_regions("all", None, ("*",))


prices = st.floats(min_value=0.01, max_value=1e4)


@given(cap=prices, higher=prices, price=prices)
def test_a_higher_cap_never_loses_an_offer(cap: float, higher: float, price: float) -> None:
    offer = priced(OFFER, repr(price))
    if matches(offer, MACHINE, OfferQuery(max_usd_per_hour=cap), TODAY):
        assert matches(offer, MACHINE, OfferQuery(max_usd_per_hour=max(cap, higher)), TODAY)


@given(
    providers=st.sampled_from([(), ("aws",), ("gcp",)]),
    regions=st.sampled_from([(), ("us-*",), ("eu-*",)]),
    purchases=st.sampled_from([(), ("on_demand",), ("spot",)]),
    max_age_days=st.sampled_from([None, 30, 365]),
)
def test_conditions_are_joined_by_and(
    providers: tuple[str, ...], regions: tuple[str, ...], purchases: tuple[str, ...], max_age_days: int | None
) -> None:
    parts = [
        OfferQuery(providers=providers),
        OfferQuery(regions=regions),
        OfferQuery(purchases=purchases),
        OfferQuery(max_age_days=max_age_days),
    ]
    together = OfferQuery(providers=providers, regions=regions, purchases=purchases, max_age_days=max_age_days)
    assert matches(OFFER, MACHINE, together, TODAY) is all(matches(OFFER, MACHINE, part, TODAY) for part in parts)


def test_why_an_offer_has_no_rank() -> None:
    assert unranked_reason(OFFER, MACHINE, TODAY) == ""
    assert unranked_reason(OFFER, MACHINE._replace(unranked="runs inference only"), TODAY) == "runs inference only"
    unsold = OFFER._replace(flags=(flags.COMPOSED, flags.NOT_SOLD_ON_DEMAND))
    assert "does not sell" in unranked_reason(unsold, MACHINE, TODAY)
    assert unranked_reason(OFFER, MACHINE, TODAY, max_age_days=100) == "the price is 133 days old, more than 100"
    assert unranked_reason(OFFER, MACHINE, date(2027, 7, 20)) == ""
    assert "366 days" in unranked_reason(OFFER, MACHINE, date(2027, 7, 21))
    assert unranked_reason(OFFER, MACHINE, date(2026, 7, 21), max_age_days=0) == "the price is 1 day old, more than 0"
