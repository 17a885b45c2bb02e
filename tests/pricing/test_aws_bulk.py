"""The public AWS price list through the real sieve; each trap by name."""

from __future__ import annotations

import itertools

import pytest

from pricing import flags
from pricing.errors import FeedError
from pricing.offer import Offer, Quarantined
from pricing.providers.aws_bulk import AwsBulk, BulkSieve, PriceListRows, Row
from pricing.providers.base import Found, Known, Mark, Note
from tests.pricing.loopback import Loopback, Reply
from tests.pricing.payloads import BULK_COLUMNS, RESERVED, bulk_file, bulk_row
from tests.pricing.reading import prices, read

PATH = "/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv"


def sifted(content: bytes, size: int = 1 << 20) -> list[Row]:
    sieve = BulkSieve()
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    return [*itertools.chain.from_iterable(sieve.feed(chunk) for chunk in chunks), *sieve.close()]


def parsed(known: Known, *rows: str, region: str = "us-east-1") -> list[Found]:
    found = PriceListRows(region, known)
    for row in sifted(bulk_file(*rows)):
        found.add(row)
    return list(found.found())


def test_p5_costs_what_the_list_says_and_what_the_snapshot_has(known: Known, offers: list[Offer]) -> None:
    assert prices(parsed(known, bulk_row())) == {("p5.48xlarge", "on_demand"): "55.04"}
    assert any(offer[:3] == ("aws", "p5.48xlarge", "us-east-1") and offer.price == "55.04" for offer in offers)


@pytest.mark.parametrize(
    ("machine", "listed"),
    [("p4d.24xlarge", "21.9576420000"), ("g4dn.xlarge", "0.5260000000"), ("g6.xlarge", "0.8048000000")],
)
def test_gpu_families_equal_the_snapshot_to_the_cent(
    known: Known, offers: list[Offer], machine: str, listed: str
) -> None:
    shipped = {
        offer.price
        for offer in offers
        if offer[:3] == ("aws", machine, "us-east-1") and offer.purchase == "on_demand" and offer.zone is None
    }
    assert {
        prices(parsed(known, bulk_row(Instance_Type=machine, PricePerUnit=listed)))[machine, "on_demand"]
    } == shipped


DECOYS: dict[str, dict[str, str]] = {
    "unused reservation": {"CapacityStatus": "UnusedCapacityReservation", "usageType": "UnusedBox:p5.48xlarge"},
    "allocated reservation": {"CapacityStatus": "AllocatedCapacityReservation", "PricePerUnit": "0.0000000000"},
    "host": {"Tenancy": "Host", "PricePerUnit": "0.0000000000"},
    "dedicated": {"Tenancy": "Dedicated", "PricePerUnit": "60.0000000000"},
    "capacity block": {"MarketOption": "CapacityBlock", "operation": "RunInstances:CB", "PricePerUnit": "0.0000000000"},
    "capacity block named by its operation": {"operation": "RunInstances:0g00:CB", "PricePerUnit": "1.0"},
    "SQL server": {"Pre_Installed_S/W": "SQL Web", "PricePerUnit": "60.0"},
    "Windows": {"Operating_System": "Windows", "License_Model": "Bring your own license"},
    "another unit": {"Unit": "Quantity", "PricePerUnit": "1161"},
    "another product": {"Product_Family": "Dedicated Host"},
    "wavelength": {"Region_Code": "us-east-1-wl1", "Location_Type": "AWS Wavelength Zone", "PricePerUnit": "70.0"},
    "reserved for three years": {**RESERVED, "LeaseContractLength": "3yr", "PricePerUnit": "20.0"},
    "reserved, paid upfront": {**RESERVED, "PurchaseOption": "All Upfront", "PricePerUnit": "20.0"},
    "reserved, convertible": {**RESERVED, "OfferingClass": "convertible", "PricePerUnit": "20.0"},
    "no machine": {"Instance_Type": ""},
}


@pytest.mark.parametrize("decoy", DECOYS.values(), ids=DECOYS)
def test_decoys_change_nothing_before_or_after_the_price(known: Known, decoy: dict[str, str]) -> None:
    for order in itertools.permutations([bulk_row(), bulk_row(**decoy)]):
        assert prices(parsed(known, *order)) == {("p5.48xlarge", "on_demand"): "55.04"}


def test_a_machine_sold_in_capacity_blocks_only_has_no_price(known: Known) -> None:
    """skypilot#4657, gpuhunt#36: $0.00 for Linux and an OS fee of $0.336, neither the price of p5e."""
    blocks = [
        bulk_row(Instance_Type="p5e.48xlarge", MarketOption="CapacityBlock", PricePerUnit="0.0000000000"),
        bulk_row(Instance_Type="p5e.48xlarge", Operating_System="Ubuntu Pro", MarketOption="CapacityBlock"),
    ]
    assert parsed(known, *blocks) == []


def test_the_recorded_capacity_block_row_is_no_price(known: Known) -> None:
    """The row of skypilot#4657: only the market option, the operation and the system give it away."""
    row = bulk_row(
        SKU="AKY4TVA9NWPE6934",
        PriceDescription="$0.336 per Capacity Block Ubuntu Pro p5e.48xlarge Instance Hour",
        PricePerUnit="0.3360000000",
        Instance_Type="p5e.48xlarge",
        Operating_System="Ubuntu Pro",
        operation="RunInstances:0g00:CB",
        MarketOption="CapacityBlock",
    )
    assert parsed(known, row) == []


def test_reserved_is_one_year_standard_without_upfront(known: Known) -> None:
    """ec2instances.info#699: which reservation is meant is said, not mixed."""
    (offer,) = parsed(known, bulk_row(Instance_Type="g4dn.xlarge", PricePerUnit="0.3310000000", **RESERVED))
    assert isinstance(offer, Offer)
    assert (offer.purchase, offer.price, offer.flags) == ("reserved", "0.331", (flags.COMMITMENT_1_YEAR,))


def test_metal_is_sold_as_dedicated(known: Known) -> None:
    row = bulk_row(
        Instance_Type="g4dn.metal",
        Product_Family="Compute Instance (bare metal)",
        Tenancy="Dedicated",
        PricePerUnit="7.8240000000",
    )
    assert prices(parsed(known, row)) == {("g4dn.metal", "on_demand"): "7.824"}


def test_a_local_zone_keeps_its_own_price(known: Known) -> None:
    """karpenter-aws#6183: a zone of its own, not the region's price."""
    zone = bulk_row(Region_Code="us-east-1-atl-1", Location_Type="AWS Local Zone", PricePerUnit="68.8")
    found = {each.zone: each.price for each in parsed(known, bulk_row(), zone) if isinstance(each, Offer)}
    assert found == {None: "55.04", "us-east-1-atl-1": "68.8"}


def test_yuan_are_not_dollars(known: Known) -> None:
    """karpenter-aws#5695: China's lists are in CNY."""
    found = parsed(known, bulk_row(Region_Code="cn-north-1", Currency="CNY"), region="cn-north-1")
    assert found == [Note("1 prices of cn-north-1 that are not in USD are left out")]


def test_government_regions_are_flagged(known: Known) -> None:
    (offer,) = parsed(known, bulk_row(Region_Code="us-gov-west-1"), region="us-gov-west-1")
    assert isinstance(offer, Offer)
    assert offer.flags == (flags.GOVERNMENT_REGION,)


def test_zero_and_nonsense_are_refused_with_a_reason(known: Known) -> None:
    for price in ("0.0000000000", "", "NaN", "-1", "free", "1e999"):
        (row,) = parsed(known, bulk_row(PricePerUnit=price))
        assert isinstance(row, Quarantined)
        assert row.reason == "the source states no price above zero"
    (row,) = parsed(known, bulk_row(PricePerUnit="551221"))
    assert isinstance(row, Quarantined)
    assert "not the price of an hour" in row.reason


def test_an_unknown_machine_with_accelerators_is_passed_on_to_be_reported(known: Known) -> None:
    """skypilot#3150: new accelerators are reported, not dropped; other new machines are nobody's business."""
    new = bulk_row(Instance_Type="p7.48xlarge")
    assert prices(parsed(known, new, bulk_row(Instance_Type="x9.large", Instance_Family="Memory optimized"))) == {
        ("p7.48xlarge", "on_demand"): "55.04"
    }


def test_lines_may_be_cut_anywhere(known: Known) -> None:
    content = bulk_file(bulk_row(), bulk_row(Instance_Type="g6.xlarge", PricePerUnit="0.8048"))
    whole = sifted(content)
    assert [row.instance_type for row in whole] == ["p5.48xlarge", "g6.xlarge"]
    for size in (1, 7, 100, 1000, len(content) - 1):
        assert sifted(content, size) == whole
    assert sifted(content.removesuffix(b"\n")) == whole


def test_columns_are_found_by_name() -> None:
    """The order of columns changes; positions mean nothing."""
    lines = bulk_file(bulk_row()).decode().splitlines()
    cells = dict(zip(BULK_COLUMNS, lines[6].split('","'), strict=True))
    backwards = [column for column in reversed(BULK_COLUMNS) if column != "SKU"]
    header = ",".join(f'"{column}"' for column in ["SKU", *backwards])
    row = ",".join(f'"{cells[column].strip(chr(34))}"' for column in ["SKU", *backwards])
    (found,) = sifted("\n".join([*lines[:5], header, row, ""]).encode())
    assert (found.instance_type, found.price) == ("p5.48xlarge", "55.0400000000")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no header"),
        (b"<html>\n" * 20, "no header"),
        (b'"SKU","Price"\n', "'TermType' is missing"),
        (b"x" * 70_000, "a line of more than 64 KiB"),
    ],
)
def test_what_is_no_price_list_is_one_sentence(content: bytes, said: str) -> None:
    with pytest.raises(FeedError, match=said):
        sifted(content)


def test_a_file_that_ends_in_a_line_is_not_whole() -> None:
    with pytest.raises(FeedError, match="ends in the middle of a line") as raised:
        sifted(bulk_file(bulk_row())[:-200])
    assert raised.value.again


def test_the_file_is_read_from_its_place(server: Loopback, known: Known) -> None:
    server.answers[PATH] = lambda request: Reply(bulk_file(bulk_row()), headers={"ETag": '"7"'})
    found = read(AwsBulk("us-east-1", known, server.url))
    assert prices(found) == {("p5.48xlarge", "on_demand"): "55.04"}
    assert found[-1] == Mark('"7"')


def test_dearer_of_two_plain_prices_whatever_the_order(known: Known) -> None:
    for order in itertools.permutations([bulk_row(), bulk_row(PricePerUnit="54.0")]):
        assert prices(parsed(known, *order)) == {("p5.48xlarge", "on_demand"): "55.04"}
