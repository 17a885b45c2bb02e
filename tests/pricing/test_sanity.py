"""The invariants of price rows, each broken once."""

from __future__ import annotations

from datetime import date

import pytest

from pricing import flags
from pricing.age import age_days, day, is_stale
from pricing.catalog import Catalog
from pricing.errors import PricingError
from pricing.offer import InstanceType, Offer
from pricing.sanity import PURCHASES, breaches, is_price, machine_problems, with_flags, with_size_flags
from tests.pricing.samples import MACHINE, OFFER, priced

TYPES = {OFFER[:2]: MACHINE}
NOMINAL = {"A100-40GB-SXM": 40.0, "L4": 24.0}


def test_a_sound_row_breaks_nothing() -> None:
    assert breaches([OFFER], TYPES, date(2026, 7, 20)) == []
    assert machine_problems(MACHINE, NOMINAL) == []


@pytest.mark.parametrize(
    ("offer", "problem"),
    [
        (OFFER._replace(price="0.0", usd_per_hour=0.0), "not a price above zero"),
        (OFFER._replace(price="-1", usd_per_hour=-1.0), "not a price above zero"),
        (OFFER._replace(price="NaN", usd_per_hour=1.0), "not a price above zero"),
        (OFFER._replace(price="", usd_per_hour=1.0), "not a price above zero"),
        (OFFER._replace(usd_per_hour=22.0), "not a price above zero"),
        (OFFER._replace(purchase="gift"), "not a way to buy"),
        (OFFER._replace(price_source=""), "no source"),
        (OFFER._replace(flags=("odd",)), "unknown flag 'odd'"),
        (OFFER._replace(price_as_of="2026-10"), "not a day"),
        (OFFER._replace(price_as_of="2026-12-01"), "in the future"),
        (OFFER._replace(instance_type="per-gpu"), "price of one GPU"),
        (OFFER._replace(instance_type="p9.huge"), "not in the table"),
    ],
)
def test_a_row_that_breaks_an_invariant_is_named(offer: Offer, problem: str) -> None:
    found = breaches([offer], TYPES, date(2026, 11, 30))
    assert any(problem in sentence for sentence in found)
    assert all(offer.instance_type in sentence for sentence in found)


def test_two_prices_for_one_place_are_named() -> None:
    assert breaches([OFFER, priced(OFFER, "3")], TYPES) == [
        "aws p4d.24xlarge use1-az6 on_demand: a second price for the same place"
    ]
    assert breaches([OFFER, OFFER._replace(purchase="spot"), OFFER._replace(zone=None)], TYPES) == []


@pytest.mark.parametrize("text", ["0", "0.0", "-2", "nan", "inf", "", "free", "1,5"])
def test_what_is_not_a_price(text: str) -> None:
    assert not is_price(text)


def test_what_is_a_price() -> None:
    assert is_price("0.0035")


def test_memory_of_the_whole_machine_is_caught() -> None:
    whole = MACHINE._replace(memory_gib_per_gpu=320.0)
    assert machine_problems(whole, NOMINAL) == ["aws p4d.24xlarge: 320 GiB per accelerator, where A100-40GB-SXM has 40"]


def test_a_share_of_a_gpu_has_its_share_of_memory() -> None:
    share = MACHINE._replace(accelerator="L4", num_gpus=0.125, memory_gib_per_gpu=2.79)
    assert machine_problems(share, NOMINAL) == []
    assert machine_problems(share._replace(memory_gib_per_gpu=24.0), NOMINAL) != []


def test_accelerators_are_known_counted_or_unranked() -> None:
    assert "unknown and not marked" in machine_problems(MACHINE._replace(accelerator="H900"), NOMINAL)[0]
    assert machine_problems(MACHINE._replace(accelerator="H900", unranked="unknown"), NOMINAL) == []
    assert "without a count" in machine_problems(MACHINE._replace(num_gpus=0.0), NOMINAL)[0]
    assert "without a name" in machine_problems(MACHINE._replace(accelerator=""), NOMINAL)[0]
    assert machine_problems(MACHINE._replace(accelerator="", num_gpus=0.0, memory_gib_per_gpu=None), NOMINAL) == []


def test_spot_above_on_demand_is_flagged_against_the_zone_or_its_region() -> None:
    regional = priced(OFFER._replace(zone=None), "10")
    spot = priced(OFFER._replace(purchase="spot"), "10.01")
    other_zone = priced(OFFER._replace(purchase="spot", zone="use1-az1"), "10")
    flagged = with_flags([regional, spot, other_zone])
    assert [offer.flags for offer in flagged] == [(), (flags.SPOT_ABOVE_ON_DEMAND,), ()]
    dearer_here = priced(OFFER, "11")
    assert with_flags([regional, dearer_here, spot])[2].flags == ()
    assert with_flags([spot])[0].flags == ()


def test_a_price_far_below_the_median_of_regions_is_flagged() -> None:
    regions = [priced(OFFER._replace(region=region), "4") for region in ("a", "b")]
    bargain = priced(OFFER._replace(region="c", flags=(flags.COMPOSED,)), "1.99")
    assert [offer.flags for offer in with_flags([*regions, bargain])] == [
        (),
        (),
        (flags.COMPOSED, flags.FAR_BELOW_MEDIAN),
    ]
    assert with_flags([regions[0], bargain])[1].flags == (flags.COMPOSED,), "two regions make no median"
    assert with_flags([*regions, priced(bargain, "2")])[2].flags == (flags.COMPOSED,)


def test_a_spot_price_is_held_against_other_spot_prices() -> None:
    """p5en.48xlarge was seen at $6.84 an hour in one zone, 0.36 of the median of its regions."""
    spot = OFFER._replace(purchase="spot")
    regions = [priced(spot._replace(region=region), "19") for region in ("a", "b", "c")]
    bargain = priced(spot._replace(region="d"), "6.84")
    list_prices = [priced(OFFER._replace(region=region), "63") for region in ("a", "b", "c", "d")]
    flagged = with_flags([*regions, bargain, *list_prices])
    assert [offer.flags for offer in flagged] == [(), (), (), (flags.FAR_BELOW_MEDIAN,), (), (), (), ()]


def test_spot_in_one_region_is_held_against_what_spot_is_of_on_demand() -> None:
    """p6-b300.48xlarge, on spot in one region at 13 % of its price on demand, where AWS asks 29 %, bore no mark."""

    def machine(name: str, spot_price: str) -> list[Offer]:
        offer = OFFER._replace(instance_type=name, zone=None)
        return [priced(offer, "100"), priced(offer._replace(purchase="spot"), spot_price)]

    usual = [*machine("a", "28"), *machine("b", "30"), *machine("c", "32")]
    marked = with_flags([*usual, *machine("rare", "14.4")])
    assert {offer.instance_type: offer.flags for offer in marked if offer.flags} == {"rare": (flags.FAR_BELOW_MEDIAN,)}
    assert marked[-1].flags, "its spot price, not that on demand"
    assert not any(offer.flags for offer in with_flags([*usual, *machine("rare", "14.6")])), "half of 29 is less"
    few = [*machine("a", "30"), *machine("rare", "10")]
    assert all(not offer.flags for offer in with_flags(few)), "two machines make no median"


def test_every_flag_has_a_meaning() -> None:
    names = {value for name, value in vars(flags).items() if name.isupper() and isinstance(value, str)}
    assert names == set(flags.MEANING)
    assert set(flags.MEANING) >= flags.UNSOLD


@pytest.mark.parametrize(
    ("purchase", "seen", "stale"),
    [
        ("on_demand", "2026-10-31", False),
        ("on_demand", "2026-10-30", True),
        ("reserved", "2026-10-30", True),
        ("spot", "2026-11-27", False),
        ("spot", "2026-11-26", True),
        ("spot", "2026-12-24", False),
    ],
)
def test_a_price_goes_stale(purchase: str, seen: str, stale: bool) -> None:
    """skypilot#976: old spot prices and GCP prices looked like today's."""
    assert is_stale(purchase, seen, date(2026, 11, 30)) is stale


def test_ages_are_whole_days() -> None:
    assert age_days("2026-01-22", date(2026, 11, 30)) == 312
    assert age_days("2026-12-01", date(2026, 11, 30)) == -1
    assert day("2026-10-01") == date(2026, 10, 1)


@pytest.mark.parametrize("text", ["2026-10", "2026-01-22..2026-06", "", "yesterday"])
def test_a_day_is_written_in_full(text: str) -> None:
    with pytest.raises(PricingError, match="YYYY-MM-DD"):
        day(text)


def test_eight_that_cost_less_than_four_are_flagged() -> None:
    """dstack#1044: Azure's spot price of eight A100 was below that of four."""
    four = OFFER._replace(instance_type="Standard_ND48_A100_v4")
    eight = OFFER._replace(instance_type="Standard_ND96_A100_v4")
    types = {
        four[:2]: MACHINE._replace(instance_type=four.instance_type, num_gpus=4.0, vcpus=48.0),
        eight[:2]: MACHINE._replace(instance_type=eight.instance_type, num_gpus=8.0, vcpus=96.0),
    }
    rows = with_size_flags([priced(four, "10"), priced(eight, "9")], types)
    assert [row.flags for row in rows] == [(), (flags.CHEAPER_THAN_SMALLER,)]
    assert with_size_flags([priced(four, "10"), priced(eight, "10")], types)[1].flags == ()
    elsewhere = priced(eight, "9")._replace(region="us-west-2")
    assert with_size_flags([priced(four, "10"), elsewhere], types)[1].flags == ()


def test_a_smaller_machine_with_a_larger_host_may_cost_more() -> None:
    """One T4 with 64 vCPUs costs more than four with 48: that is no error."""
    one = OFFER._replace(instance_type="g4dn.16xlarge")
    four = OFFER._replace(instance_type="g4dn.12xlarge")
    types = {
        one[:2]: MACHINE._replace(instance_type=one.instance_type, num_gpus=1.0, vcpus=64.0),
        four[:2]: MACHINE._replace(instance_type=four.instance_type, num_gpus=4.0, vcpus=48.0),
    }
    rows = with_size_flags([priced(one, "4.352"), priced(four, "3.912")], types)
    assert [row.flags for row in rows] == [(), ()]
    assert with_size_flags([priced(OFFER, "1")], {}) == [priced(OFFER, "1")]


def test_the_shipped_rows_have_no_such_flag(catalog: Catalog, types: dict[tuple[str, str], InstanceType]) -> None:
    rows = with_size_flags(catalog.offers(PURCHASES), types)
    assert not [row for row in rows if flags.CHEAPER_THAN_SMALLER in row.flags]
