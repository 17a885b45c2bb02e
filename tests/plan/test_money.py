"""The bill: lines to the cent, totals that add up, intervals that follow time and price."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.cost import (
    Charge,
    PriceAge,
    after_credit,
    bill,
    billed,
    cents,
    cost_interval,
    price_age,
    spent_on,
    total_cents,
)
from planner.plan.plan import CostPart
from planner.units import Interval
from pricing.offer import Offer


def total_usd(charges: list[Charge], seconds: float, credit_usd: float = 0.0) -> float:
    return after_credit(total_cents(charges, seconds), credit_usd) / 100


charges_strategy = st.lists(
    st.builds(Charge, st.just("part"), st.floats(0, 1e4), st.floats(0, 1e3), st.just("a source"), st.none()),
    min_size=1,
    max_size=5,
)


@given(charges_strategy, st.floats(1, 1e8))
def test_the_total_is_the_sum_of_the_rounded_lines(charges: list[Charge], seconds: float) -> None:
    lines = bill(charges, seconds)
    assert total_usd(charges, seconds) == round(sum(line.usd or 0.0 for line in lines), 2)


@given(charges_strategy, st.floats(1, 1e7), st.floats(1.01, 3), st.floats(0, 1))
def test_cost_follows_time(charges: list[Charge], seconds: float, factor: float, spread: float) -> None:
    cost = cost_interval(billed(charges, seconds), Interval(seconds / factor, seconds, seconds * factor), spread)
    assert cost.p10 <= cost.p50 <= cost.p90
    assert cost.p50 == total_usd(charges, seconds)


@given(st.floats(0.01, 100), st.floats(1.0, 3.0), st.floats(60, 1e7))
def test_a_dearer_hour_never_costs_less(hourly: float, factor: float, seconds: float) -> None:
    cheap, dear = (Charge("compute", price, 0.0, "s") for price in (hourly, hourly * factor))
    assert total_usd([dear], seconds) >= total_usd([cheap], seconds)


@given(charges_strategy, st.floats(1, 1e8), st.floats(0, 1e5))
def test_a_credit_pays_for_what_it_can(charges: list[Charge], seconds: float, credit_usd: float) -> None:
    lines = bill(charges, seconds, credit_usd)
    paid = total_usd(charges, seconds, credit_usd)
    assert paid == round(sum(line.usd or 0.0 for line in lines), 2)
    assert 0 <= paid <= total_usd(charges, seconds)
    cost = cost_interval(billed(charges, seconds), Interval(seconds, seconds, seconds * 2), 0.0, credit_usd)
    assert cost.p50 == paid


uses = st.lists(st.tuples(st.text(min_size=1), st.floats(0, 1e7)), max_size=10)


@given(st.integers(0, 10**8), uses)
def test_the_parts_of_a_line_add_up_to_it_to_the_cent(
    total_cents: int, seconds_by_use: list[tuple[str, float]]
) -> None:
    line = spent_on(CostPart("compute", total_cents / 100, "a source"), seconds_by_use)
    assert all(use.usd > 0 for use in line.parts)
    if line.parts:
        assert sum(cents(use.usd) for use in line.parts) == total_cents


def test_a_line_is_shared_out_by_seconds() -> None:
    line = spent_on(CostPart("compute", 1.00, "a source"), [("training", 200), ("idle", 100), ("none", 0)])
    assert [(use.name, use.usd) for use in line.parts] == [("training", 0.67), ("idle", 0.33)]
    unknown = CostPart("compute", None, "nobody says")
    assert spent_on(unknown, [("training", 1)]) == unknown


def test_an_unknown_part_is_unknown_and_not_free() -> None:
    charges = [Charge("compute", 2.0, 0.0, "list"), Charge("disk", None, None, "nobody says")]
    lines = bill(charges, 5400)
    assert [line.usd for line in lines] == [3.0, None]
    assert total_usd(charges, 5400) == 3.0


def _offer(purchase: str, day: str) -> Offer:
    return Offer("aws", "p4d.24xlarge", "us-east-1", None, purchase, "1.00", 1.0, (), day, "list")


def test_only_spot_prices_wander_and_the_older_the_further() -> None:
    today = date(2026, 11, 30)
    assert price_age(_offer("on_demand", "2026-01-21"), today) == PriceAge(stale=True, spread=0.0)
    assert price_age(_offer("on_demand", "2026-11-01"), today) == PriceAge(stale=False, spread=0.0)
    fresh, old = (price_age(_offer("spot", day), today) for day in ("2026-11-29", "2026-10-01"))
    assert not fresh.stale
    assert old.stale
    assert 0 < fresh.spread < old.spread
    assert old.spread == pytest.approx(0.336, abs=0.01)  # ln 1.4 after 60 days
    assert price_age(_offer("spot", "2020-01-01"), today).spread == 1.0


def test_cents_round_half_up() -> None:
    assert cents(0.125) == 13
    assert cents(2.675000001) == 268
    assert cents(1.004) == 100
