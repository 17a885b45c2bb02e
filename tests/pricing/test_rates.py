"""Billing steps, disks and traffic out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing import rates
from pricing.age import day
from pricing.errors import PricingError

gigabytes = st.floats(min_value=0, max_value=1e6)
seconds = st.floats(min_value=0.001, max_value=1e7)


@pytest.mark.parametrize(
    ("provider", "running_s", "billed_s"),
    [
        ("aws", 1, 60),
        ("aws", 60, 60),
        ("aws", 61.2, 62),
        ("gcp", 3599.5, 3600),
        ("azure", 61, 120),
        ("vast", 10, 10),
        ("lambda", 10, 3600),
        ("lambda", 3601, 7200),
        ("aws", 0, 0),
    ],
)
def test_time_is_billed_in_steps(provider: str, running_s: float, billed_s: float) -> None:
    assert rates.billing(provider).billed_hours(running_s) == pytest.approx(billed_s / 3600)


def test_an_unknown_billing_step_says_so() -> None:
    assert "not known" in rates.billing("nobody").source
    assert rates.billing("aws").source != rates.billing("nobody").source


@given(seconds, seconds)
def test_a_longer_run_never_bills_less(first: float, second: float) -> None:
    shorter, longer = sorted((first, second))
    for provider in ("aws", "azure", "lambda"):
        billed = rates.billing(provider)
        assert billed.billed_hours(shorter) <= billed.billed_hours(longer)
        assert billed.billed_hours(shorter) * 3600 >= shorter * (1 - 1e-6)


@pytest.mark.parametrize(("provider", "usd"), [("aws", 0.08), ("gcp", 0.10), ("lambda", 0.0)])
def test_disk_by_gigabyte_and_month(provider: str, usd: float) -> None:
    rate = rates.disk_rate(provider)
    assert rate is not None
    assert rate.value == usd


def test_an_unknown_disk_rate_is_no_rate_of_zero() -> None:
    assert rates.disk_rate("paperspace") is None


@pytest.mark.parametrize(
    ("provider", "amount_gb", "usd"),
    [
        ("aws", 100, 0),
        ("aws", 200, 9),
        ("aws", 10_000, 891),
        ("aws", 20_000, 891 + 850),
        ("gcp", 1_000, 120),
        ("gcp", 20_000, 120 + 990 + 800),
        ("oraclecloud", 10_000, 0),
        ("oraclecloud", 11_000, 8.5),
    ],
)
def test_traffic_out_goes_through_the_tiers(provider: str, amount_gb: float, usd: float) -> None:
    assert rates.egress_usd(provider, amount_gb) == pytest.approx(usd)


def test_unknown_traffic_is_unknown() -> None:
    assert rates.egress_usd("vast", 1) is None
    assert rates.egress_rates("vast") == ()


@given(gigabytes, gigabytes)
def test_more_traffic_never_costs_less(first: float, second: float) -> None:
    less, more = sorted((first, second))
    for provider in ("aws", "azure", "gcp"):
        cheap, dear = rates.egress_usd(provider, less), rates.egress_usd(provider, more)
        assert cheap is not None
        assert dear is not None
        assert cheap <= dear + 1e-9


def test_every_rate_has_a_day_and_a_source() -> None:
    found = [rate for known in rates._table(rates.PACKAGED).values() for rate in known]
    assert len(found) > 20
    for rate in found:
        assert day(rate.as_of)
        assert rate.source
        assert rate.value >= 0


@pytest.mark.parametrize(
    "content", ["", "provider,kind\naws,disk\n", "provider,kind,above_gb,value\naws,disk,,cheap\n"]
)
def test_a_broken_table_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(content, encoding="utf-8")
    if content:
        with pytest.raises(PricingError, match="cannot be read"):
            rates._table(path)
    else:
        assert rates._table(path) == {}


def test_a_missing_table_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PricingError, match="cannot be read"):
        rates._table(tmp_path / "rates.csv")
