"""Azure's retail prices through the real parser, paging included; each trap by name."""

from __future__ import annotations

import itertools

import pytest

from pricing import flags
from pricing.errors import FeedError
from pricing.offer import Offer, Quarantined
from pricing.providers.azure import AzureItems, AzureRetail
from pricing.providers.base import Found, Known
from tests.pricing.loopback import Loopback, Reply, Request, json_reply
from tests.pricing.payloads import azure_item, azure_page
from tests.pricing.reading import prices, read

A100 = "Standard_NC24ads_A100_v4"
H100 = "Standard_ND96isr_H100_v5"
PATH = "/api/retail/prices"


def parsed(known: Known, *items: object, region: str = "eastus") -> list[Found]:
    found = AzureItems(region, known)
    for item in items:
        found.add(item)
    return list(found.rows())


def source(server: Loopback, known: Known, region: str = "eastus") -> AzureRetail:
    return AzureRetail(region, known, f"{server.url}{PATH}")


def test_a_machine_costs_what_the_item_says(known: Known) -> None:
    (offer,) = parsed(known, azure_item())
    assert isinstance(offer, Offer)
    assert offer[:6] == ("azure", A100, "eastus", None, "on_demand", "3.673")
    assert (offer.price_as_of, offer.price_source) == ("2026-11-30", "Azure retail prices")


def test_the_price_equals_the_snapshot(known: Known, offers: list[Offer]) -> None:
    shipped = [
        offer.price
        for offer in offers
        if (offer.instance_type, offer.region, offer.purchase) == (A100, "eastus", "on_demand")
    ]
    assert prices(parsed(known, azure_item()))[A100, "on_demand"] == shipped[0]


def test_spot_is_told_by_its_name_and_called_indicative(known: Known) -> None:
    """azure-docs#72349: retail spot was six times below the portal's."""
    spot = azure_item(skuName="NC24ads A100 v4 Spot", meterName="NC24ads A100 v4 Spot", retailPrice=0.7467)
    (offer,) = parsed(known, spot)
    assert isinstance(offer, Offer)
    assert (offer.purchase, offer.price, offer.flags) == ("spot", "0.7467", (flags.SPOT_INDICATIVE,))


DECOYS: dict[str, dict[str, object]] = {
    "Windows": {"productName": "Virtual Machines NCads A100 v4 Series Windows", "retailPrice": 9.0},
    "Low Priority": {"skuName": "NC24ads A100 v4 Low Priority", "retailPrice": 0.7},
    "dedicated host": {"productName": "NCads A100 v4 Dedicated Host", "retailPrice": 30.0},
    "cloud services": {"productName": "NCads A100 v4 Series CloudServices", "retailPrice": 5.0},
    "dev/test": {"type": "DevTestConsumption", "retailPrice": 2.0},
    "higher tier": {"tierMinimumUnits": 100.0, "retailPrice": 2.0},
    "ended": {"effectiveEndDate": "2026-01-01T00:00:00Z", "retailPrice": 2.0},
    "ends before it starts": {
        "effectiveStartDate": "2027-06-01T00:00:00Z",
        "effectiveEndDate": "2027-05-01T00:00:00Z",
        "retailPrice": 2.0,
    },
    "another unit": {"unitOfMeasure": "1 GB/Month", "retailPrice": 2.0},
    "another currency": {"currencyCode": "EUR", "retailPrice": 2.0},
    "another service": {"serviceName": "Storage", "retailPrice": 2.0},
    "another region": {"armRegionName": "westus", "retailPrice": 2.0},
    "reservation of three years": {"type": "Reservation", "reservationTerm": "3 Years", "retailPrice": 60000.0},
    "no machine": {"armSkuName": "", "retailPrice": 2.0},
    "a machine nobody trains on": {"armSkuName": "Standard_B1s", "retailPrice": 0.01},
}


@pytest.mark.parametrize("decoy", DECOYS.values(), ids=DECOYS)
def test_decoys_change_nothing_before_or_after_the_price(known: Known, decoy: dict[str, object]) -> None:
    """opencost PR#3531: Low Priority and Reservation rows overwrote the on-demand price."""
    for order in itertools.permutations([azure_item(), azure_item(**decoy)]):
        assert prices(parsed(known, *order)) == {(A100, "on_demand"): "3.673"}


def test_a_reservation_is_the_sum_over_its_term(known: Known) -> None:
    item = azure_item(
        armSkuName=H100, type="Reservation", reservationTerm="1 Year", retailPrice=551221.0, skuName="ND96isr H100 v5"
    )
    (offer,) = parsed(known, item)
    assert isinstance(offer, Offer)
    assert (offer.purchase, offer.price, offer.flags) == ("reserved", "62.924772", (flags.COMMITMENT_1_YEAR,))
    assert offer.usd_per_hour / 8 == pytest.approx(7.87, abs=0.005)


def test_savings_plans_of_a_year_are_offers(known: Known) -> None:
    plans = [{"retailPrice": 2.5, "term": "1 Year"}, {"retailPrice": 1.5, "term": "3 Years"}]
    assert prices(parsed(known, azure_item(savingsPlan=plans)))[A100, "savings_plan"] == "2.5"


def test_zero_is_no_price(known: Known) -> None:
    """skypilot#3615: an H100 for $0."""
    (row,) = parsed(known, azure_item(armSkuName=H100, retailPrice=0.0))
    assert isinstance(row, Quarantined)
    assert row.reason == "the source states no price above zero"
    assert prices(parsed(known, azure_item(armSkuName=H100, retailPrice=0.0), azure_item(armSkuName=H100))) == {
        (H100, "on_demand"): "3.673"
    }


def test_nd96isr_h100_has_eight_accelerators(known: Known) -> None:
    """skypilot-catalog#50: the count comes from our table, where the feed has none."""
    assert known.types["azure", H100].num_gpus == 8
    assert known.types["azure", "Standard_ND128isr_NDR_GB200_v6"].num_gpus == 4
    assert known.types["azure", "Standard_NV6ads_A10_v5"].num_gpus == pytest.approx(1 / 6)
    assert known.types["azure", "Standard_NC40ads_H100_v5"].memory_gib_per_gpu == 94


def test_an_unknown_machine_with_accelerators_is_passed_on_to_be_reported(known: Known) -> None:
    (offer,) = parsed(known, azure_item(armSkuName="Standard_ND96_Rubin_v7"))
    assert isinstance(offer, Offer)


def test_the_primary_meter_wins_whatever_the_order(known: Known) -> None:
    items = [azure_item(), azure_item(isPrimaryMeterRegion=False, retailPrice=9.9), azure_item(retailPrice=3.5)]
    for order in itertools.permutations(items):
        assert prices(parsed(known, *order)) == {(A100, "on_demand"): "3.673"}


def test_government_regions_are_flagged(known: Known) -> None:
    (offer,) = parsed(known, azure_item(armRegionName="usgovvirginia"), region="usgovvirginia")
    assert isinstance(offer, Offer)
    assert offer.flags == (flags.GOVERNMENT_REGION,)


def test_pages_are_followed_to_the_last(server: Loopback, known: Known) -> None:
    """A link that names the provider's own host stays on the configured address, so that a mirror stays one."""

    def answer(request: Request) -> Reply:
        skip = int(request.query.get("$skip", 0))
        following = f"https://prices.azure.com:443{PATH}?$filter=x&$skip={skip + 1}" if skip < 6 else None
        return json_reply(azure_page([azure_item(armSkuName=H100, retailPrice=90.0 + skip)], following))

    server.answers[PATH] = answer
    assert prices(read(source(server, known))) == {(H100, "on_demand"): "96"}
    assert server.count(PATH) == 7
    first = server.requests[0].query
    assert first["api-version"] == "2023-01-01-preview"
    assert "armRegionName eq 'eastus'" in first["$filter"]


def test_a_link_on_the_configured_host_is_followed_as_it_is(server: Loopback, known: Known) -> None:
    server.answers[PATH] = lambda request: json_reply(azure_page([], f"{server.url}/second"))
    server.answers["/second"] = lambda request: json_reply(azure_page([azure_item()]))
    assert prices(read(source(server, known))) == {(A100, "on_demand"): "3.673"}


@pytest.mark.parametrize(
    "page", [[], {}, {"Items": {}}, {"Items": [], "NextPageLink": 7}, {"Items": [], "NextPageLink": "http://["}]
)
def test_a_page_of_another_shape_is_one_sentence(server: Loopback, known: Known, page: object) -> None:
    server.answers[PATH] = lambda request: json_reply(page)
    with pytest.raises(FeedError, match="Azure retail prices"):
        read(source(server, known))


def test_pages_without_end_are_given_up(server: Loopback, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pricing.providers.azure.PAGES_AT_MOST", 5)
    server.answers[PATH] = lambda request: json_reply(azure_page([], f"{server.url}{PATH}?again=1"))
    with pytest.raises(FeedError, match="more than 5 pages"):
        read(source(server, known))


def test_items_that_are_no_objects_are_left_out(known: Known) -> None:
    assert parsed(known, None, 5, "x", [], azure_item(retailPrice=None, armSkuName="Standard_X")) == []
