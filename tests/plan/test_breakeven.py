"""Buy or rent: the spreadsheet of docs/decisions.md, and what must hold for any figures."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.breakeven import CHANGES, Owning, break_even, sensitivity
from planner.plan.config import OwnershipTerms
from planner.plan.ownership import amortisation_usd_per_hour
from planner.plan.rents import runs_words

BOX = Owning(purchase_usd=2400.0, run_usd=3.0, run_s=20 * 3600.0, resale_share=0.3, lifetime_months=36.0)
RENT_USD = 9.0
HOURS_PER_WEEK = 30.0

PAGE = Path(__file__).parents[2] / "docs" / "decisions.md"


def test_the_hand_worked_case() -> None:
    runs_per_month = BOX.runs_per_month(HOURS_PER_WEEK)
    assert runs_per_month == pytest.approx(6.5223, abs=1e-4)
    found = break_even(BOX, RENT_USD, runs_per_month)
    assert found.runs == pytest.approx(400)
    assert found.months == pytest.approx(61.33, abs=0.005)
    assert found.months_after_resale == pytest.approx(49.69, abs=0.01)
    assert BOX.hours_per_week(runs_per_month) == pytest.approx(HOURS_PER_WEEK)
    assert amortisation_usd_per_hour(2400, OwnershipTerms()) * 20 == pytest.approx(2.56, abs=0.005)


def test_the_page_shows_that_case() -> None:
    shown = [
        cell for line in PAGE.read_text(encoding="utf-8").splitlines() for cell in re.findall(r"\*\*(.+?)\*\*", line)
    ]
    assert {"400", "61.33", "49.69"} <= set(shown)


def test_at_break_even_both_have_cost_the_same() -> None:
    runs_per_month = BOX.runs_per_month(HOURS_PER_WEEK)
    found = break_even(BOX, RENT_USD, runs_per_month)
    rented = found.months * runs_per_month * RENT_USD
    assert BOX.spent_usd(found.months, runs_per_month) == pytest.approx(rented)
    resold = found.months_after_resale
    left = BOX.spent_usd(resold, runs_per_month) - BOX.value_usd(resold)
    assert left == pytest.approx(resold * runs_per_month * RENT_USD, rel=1e-6)


def test_a_rent_below_the_electricity_is_never_beaten() -> None:
    assert break_even(BOX, 3.0, 10.0) == (math.inf, math.inf, math.inf)
    assert break_even(BOX, 9.0, 0.0).months == math.inf


def test_a_credit_pays_for_the_first_runs_once() -> None:
    """The hand-worked case with 600 USD of credit: (2,400 + 600) / (9 - 3) = 500 runs, a quarter more than without."""
    runs_per_month = BOX.runs_per_month(HOURS_PER_WEEK)
    found = break_even(BOX, RENT_USD, runs_per_month, 600.0)
    assert found.runs == pytest.approx(500)
    assert found.months == pytest.approx(1.25 * 61.328, abs=0.005)
    for months, value in ((found.months, 0.0), (found.months_after_resale, BOX.value_usd(found.months_after_resale))):
        rented = max(0.0, months * runs_per_month * RENT_USD - 600)
        assert BOX.spent_usd(months, runs_per_month) - value == pytest.approx(rented, rel=1e-6)
    assert sensitivity(BOX, lambda runs: RENT_USD, (HOURS_PER_WEEK,), 600.0)[0].months[0] == pytest.approx(found.months)


def test_a_dear_rent_pays_at_once_less_resale() -> None:
    assert break_even(BOX, 300.0, 10.0).months_after_resale == 0.0
    free = BOX._replace(purchase_usd=0.0)
    assert break_even(free, 9.0, 10.0) == (0.0, 0.0, 0.0)


owners = st.builds(
    Owning, st.floats(100, 1e6), st.floats(0, 100), st.floats(60, 1e7), st.floats(0.01, 0.9), st.floats(12, 120)
)


@given(owners, st.floats(0.01, 1000), st.floats(0.01, 1000), st.floats(1.0, 3.0))
def test_a_dearer_rent_never_delays_and_a_dearer_machine_never_hastens(
    owning: Owning, rent_usd: float, runs_per_month: float, factor: float
) -> None:
    as_is = break_even(owning, rent_usd, runs_per_month)
    dearer_rent = break_even(owning, rent_usd * factor, runs_per_month)
    dearer_box = break_even(owning._replace(purchase_usd=owning.purchase_usd * factor), rent_usd, runs_per_month)
    assert dearer_rent.months <= as_is.months <= dearer_box.months
    assert dearer_rent.months_after_resale <= as_is.months_after_resale + 1e-6
    assert as_is.months_after_resale <= dearer_box.months_after_resale + 1e-6


@given(owners, st.floats(0.01, 1000), st.floats(0.01, 1000))
def test_resale_never_makes_it_later(owning: Owning, rent_usd: float, runs_per_month: float) -> None:
    found = break_even(owning, rent_usd, runs_per_month)
    if math.isfinite(found.months_after_resale):
        assert found.months_after_resale <= found.months + 1e-6


def test_each_use_has_the_rent_of_so_many_runs() -> None:
    """Rent that halves with twice the runs: (2,400 / (9 - 3)) of 6.52 a month, (2,400 / (18 - 3)) of half as many."""
    often, half_as_often = sensitivity(BOX, lambda runs: 9.0 * 6.5223 / runs, (30.0, 15.0))
    assert often.months[0] == pytest.approx(61.33, abs=0.005)
    assert half_as_often.months[0] == pytest.approx(2400 / 15 / 3.26115, abs=0.005)


def test_sensitivity_changes_one_thing_at_a_time() -> None:
    (row,) = sensitivity(BOX, lambda runs: RENT_USD, (HOURS_PER_WEEK,))
    found = dict(zip((change.words for change in CHANGES), row.months, strict=True))
    assert found["as assumed"] == pytest.approx(61.33, abs=0.005)
    assert found["price −20 %"] == pytest.approx(0.8 * 61.328, abs=0.005)
    assert found["price +20 %"] == pytest.approx(1.2 * 61.328, abs=0.005)
    assert found["rent −30 %"] == pytest.approx(2400 / 3.3 / 6.5223, abs=0.05)
    assert found["rent +30 %"] == pytest.approx(2400 / 8.7 / 6.5223, abs=0.05)
    assert found["electricity ×2"] == pytest.approx(2400 / 3.0 / 6.5223, abs=0.05)


@pytest.mark.parametrize(
    ("runs", "words"),
    [(1560.4, "1,560"), (100.0, "100"), (6.5249, "6.52"), (0.00156, "0.00156"), (1.56e-5, "under 0.001")],
)
def test_runs_a_month_are_said_without_an_exponent(runs: float, words: str) -> None:
    assert runs_words(runs) == words
