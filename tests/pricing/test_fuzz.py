"""Whatever a feed says: an offer with a price above zero, a refusal, or a FeedError; never anything else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pricing.errors import FeedError
from pricing.http import parse_json
from pricing.offer import Offer, Quarantined
from pricing.providers.aws_api import product_rows
from pricing.providers.aws_bulk import BulkSieve, PriceListRows
from pricing.providers.aws_facts import instance_type
from pricing.providers.aws_savings import plan_rates
from pricing.providers.aws_spot import advisor_steps, spot_prices
from pricing.providers.azure import AzureItems
from pricing.providers.base import DEAREST_USD_PER_HOUR, Found, Known, offer_or_refusal, price_text
from pricing.providers.gcp_skus import Rates
from pricing.sanity import is_price
from tests.pricing.payloads import advisor, azure_item, bulk_file, bulk_row, plan_rate, product, sku, spot_js

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from(["0", "-1", "NaN", "Infinity", "1e400", "0.0000000000", "١٢", "OnDemand", "h", "USD", "\x00", "𝟙"]),
)
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
)
FUZZ = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def spoiled(document: Any, value: Any, path: list[int]) -> Any:
    """The document with ``value`` at a place that ``path`` picks, member by member."""
    if not path or not isinstance(document, dict | list) or not document:
        return value
    if isinstance(document, dict):
        key = list(document)[path[0] % len(document)]
        return document | {key: spoiled(document[key], value, path[1:])}
    place = path[0] % len(document)
    return [*document[:place], spoiled(document[place], value, path[1:]), *document[place + 1 :]]


PATHS = st.lists(st.integers(0, 100), min_size=1, max_size=7)


def sound(found: Iterable[Found]) -> None:
    for each in found:
        if isinstance(each, Offer):
            assert is_price(each.price)
            assert 0 < each.usd_per_hour <= float(DEAREST_USD_PER_HOUR)
        elif isinstance(each, Quarantined):
            assert each.reason


@FUZZ
@given(ANY_JSON, PATHS)
def test_azure(known: Known, value: Any, path: list[int]) -> None:
    found = AzureItems("eastus", known)
    for item in (value, spoiled(azure_item(savingsPlan=[{"retailPrice": 1, "term": "1 Year"}]), value, path)):
        found.add(item)
    sound(found.rows())


@FUZZ
@given(ANY_JSON, PATHS)
def test_gcp(value: Any, path: list[int]) -> None:
    rates = Rates()
    for each in (value, spoiled(sku("Nvidia L4 GPU running in Americas", 0.56), value, path)):
        rates.add(each)
    for region in rates.regions():
        rate = rates.rate(region, ("l4 gpu",), spot=False)
        assert rate is None or rate > 0


@FUZZ
@given(ANY_JSON, PATHS)
def test_get_products(known: Known, value: Any, path: list[int]) -> None:
    rows = PriceListRows("us-east-1", known)
    for document in (value, spoiled(product(), value, path)):
        try:
            for row in product_rows(json.dumps(document)):
                rows.add(row)
        except FeedError:
            continue
    sound(rows.found())


@FUZZ
@given(ANY_JSON, PATHS)
def test_savings_plans(known: Known, value: Any, path: list[int]) -> None:
    for page in (value, spoiled({"searchResults": [plan_rate()]}, value, path)):
        with suppress(FeedError):
            sound(plan_rates(page, "us-east-1", known))


@FUZZ
@given(st.text(max_size=60))
def test_get_products_text(element: str) -> None:
    with suppress(FeedError):
        list(product_rows(element))


@FUZZ
@given(ANY_JSON, PATHS)
def test_describe_instance_types(value: Any, path: list[int]) -> None:
    """Raises only what its caller counts as one unreadable description."""
    described = {
        "InstanceType": "p5.48xlarge",
        "GpuInfo": {"Gpus": [{"Name": "H100", "Count": 8, "MemoryInfo": {"SizeInMiB": 81920}}]},
        "VCpuInfo": {"DefaultVCpus": 192},
        "MemoryInfo": {"SizeInMiB": 2097152},
        "NetworkInfo": {"NetworkPerformance": "8x 100 Gigabit", "NetworkCards": [{"BaselineBandwidthInGbps": 1}]},
    }
    try:
        machine = instance_type(spoiled(described, value, path), None)
    except (LookupError, TypeError, ValueError, AttributeError):
        return
    assert machine is None or machine.num_gpus


@FUZZ
@given(ANY_JSON, PATHS)
def test_spot_advisor(known: Known, value: Any, path: list[int]) -> None:
    for document in (value, spoiled(advisor({"us-east-1": {"p5.48xlarge": 1}}), value, path)):
        try:
            assert all(0 <= step.step <= 4 for step in advisor_steps(document, known))
        except FeedError:
            continue


@FUZZ
@given(ANY_JSON, PATHS, st.binary(max_size=80))
def test_spot_prices(known: Known, value: Any, path: list[int], noise: bytes) -> None:
    document = json.loads(spot_js({"us-east": {"g4dn.xlarge": "0.2"}})[9:-2])
    for content in (noise, b"callback(" + json.dumps(spoiled(document, value, path)).encode() + b");"):
        try:
            for region, machine, price in spot_prices(content):
                sound([offer_or_refusal("aws", machine, (region, None), "spot", price, known, "x")])
        except FeedError:
            continue


@FUZZ
@given(st.binary(max_size=400), st.integers(0, 2000), st.integers(1, 700), st.text(max_size=20))
def test_bulk_file(known: Known, noise: bytes, place: int, size: int, price: str) -> None:
    good = bulk_file(bulk_row(PricePerUnit=price), bulk_row(Instance_Type="g4dn.xlarge"))
    content = good[:place] + noise + good[place:]
    rows = PriceListRows("us-east-1", known)
    sieve = BulkSieve()
    try:
        for start in range(0, len(content), size):
            for row in sieve.feed(content[start : start + size]):
                rows.add(row)
        for row in sieve.close():
            rows.add(row)
    except FeedError:
        pass
    sound(rows.found())


@FUZZ
@given(st.one_of(SCALARS, st.decimals(), st.lists(st.integers())))
def test_prices(value: object) -> None:
    text = price_text(value)
    if text is not None:
        assert Decimal(text) > 0
        assert float(text) > 0
        assert price_text(text) == text


@FUZZ
@given(st.binary(max_size=300))
def test_json(content: bytes) -> None:
    with suppress(FeedError):
        parse_json(content, "a feed")


@pytest.mark.parametrize("price", ["9" * 50, "1e30", 10**400, 1e308])
def test_huge_numbers_are_no_prices(known: Known, price: object) -> None:
    row = offer_or_refusal("aws", "p5.48xlarge", ("us-east-1", None), "spot", price, known, "x")
    assert isinstance(row, Quarantined)
