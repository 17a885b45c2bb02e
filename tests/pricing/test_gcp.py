"""Google Cloud's catalogue: which SKU is which part, machines put together, and each decoy by name."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pytest

from pricing import flags
from pricing.errors import FeedError
from pricing.offer import Offer
from pricing.providers.base import Found, Known, Note
from pricing.providers.gcp import COMPUTE, OLDER_TPUS, GcpBilling
from pricing.providers.gcp_credentials import ApiKey
from pricing.providers.gcp_machines import price, recipe
from pricing.providers.gcp_skus import Part, Rates, part_of
from tests.pricing.loopback import Loopback, Reply, Request, json_reply
from tests.pricing.payloads import a2_skus, sku
from tests.pricing.reading import read

SKUS = f"/v1/services/{COMPUTE}/skus"
TPUS = f"/v1/services/{OLDER_TPUS}/skus"
KEY = "AIza-planted-key+/="


def composed(known: Known, machine: str, skus: list[dict[str, Any]], spot: bool = False) -> tuple[Decimal | None, str]:
    rates = Rates()
    for each in skus:
        rates.add(each)
    parts = recipe(known.types["gcp", machine])
    assert parts is not None
    return price(parts, rates, "us-central1", spot)


def shipped(offers: list[Offer], machine: str, purchase: str = "on_demand") -> Decimal:
    """The snapshot's price of the machine in us-central1."""
    return next(
        Decimal(offer.price)
        for offer in offers
        if offer[:3] == ("gcp", machine, "us-central1") and offer.purchase == purchase
    )


SSD = sku("SSD backed Local Storage", 0.08, group="LocalSSD", unit="GiBy.mo")
A100_80 = sku("Nvidia Tesla A100 80GB GPU running in Americas", 3.92808)
H100 = sku("Nvidia H100 80GB GPU running in Americas", 9.796550569)
G2 = [
    sku("G2 Instance Core running in Americas", 0.02498, group="CPU"),
    sku("G2 Instance Ram running in Americas", 0.00292725, group="RAM", unit="GiBy.h"),
    sku("Nvidia L4 GPU running in Americas", 0.560076),
]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_a2_equals_the_snapshot_to_the_cent(known: Known, offers: list[Offer], count: int) -> None:
    """skypilot-catalog#31: $0.94 was the host alone; a machine's price holds its GPUs (skypilot#2039)."""
    machine = f"a2-highgpu-{count}g"
    total, _ = composed(known, machine, a2_skus())
    assert total == shipped(offers, machine)


def test_a2_megagpu_and_ultragpu_equal_the_snapshot(known: Known, offers: list[Offer]) -> None:
    """gpuhunt#75: the local SSD that comes with the machine is in its price."""
    skus = [*a2_skus(), A100_80, SSD]
    for machine in ("a2-megagpu-16g", "a2-ultragpu-1g", "a2-ultragpu-2g", "a2-ultragpu-4g", "a2-ultragpu-8g"):
        total, _ = composed(known, machine, skus)
        assert total == pytest.approx(shipped(offers, machine), abs=Decimal("0.005"))


@pytest.mark.parametrize("size", [4, 8, 12, 16, 24, 32, 48, 96])
def test_g2_equals_the_snapshot_to_the_cent(known: Known, offers: list[Offer], size: int) -> None:
    """opencost#2215, infracost#2797: the L4 is part of the machine."""
    machine = f"g2-standard-{size}"
    total, _ = composed(known, machine, G2)
    assert total == pytest.approx(shipped(offers, machine), abs=Decimal("0.005"))


def test_the_parts_of_a3_give_one_price_for_all_sizes(known: Known, offers: list[Offer]) -> None:
    """Cores and memory are solved from the shipped a3-highgpu-8g; the smaller sizes are then exact eighths."""
    host = shipped(offers, "a3-highgpu-8g") - 8 * Decimal("9.796550569") - 6000 * Decimal("0.08") / 730
    core = (host - 1872 * Decimal("0.00255")) / 208
    skus = [
        sku("A3 Instance Core running in Americas", str(core), group="CPU"),
        sku("A3 Instance Ram running in Americas", 0.00255, group="RAM", unit="GiBy.h"),
        H100,
        SSD,
    ]
    for count in (1, 2, 4, 8):
        total, _ = composed(known, f"a3-highgpu-{count}g", skus)
        assert total == pytest.approx(shipped(offers, f"a3-highgpu-{count}g"), abs=Decimal("0.005"))


@pytest.mark.parametrize(
    "spelling", ["Nvidia H100 80GB Mega GPU", "Nvidia H100 80GB Plus GPU", "Nvidia H100 Mega 80GB GPU"]
)
def test_a3_mega_is_found_under_every_spelling(known: Known, spelling: str) -> None:
    """gpuhunt#132: a3-mega was missing because its host is called A3Plus."""
    skus = [
        sku("A3Plus Instance Core running in Americas", 0.03, group="CPU"),
        sku("A3Plus Instance Ram running in Americas", 0.002, group="RAM", unit="GiBy.h"),
        sku(f"{spelling} running in Americas", 10.344275712),
        SSD,
        H100,
    ]
    total, _ = composed(known, "a3-megagpu-8g", skus)
    expected = 208 * Decimal("0.03") + 1872 * Decimal("0.002") + 8 * Decimal("10.344275712") + 480 / Decimal(730)
    assert total == round(expected, 6)


def test_g4_names_its_gpu_without_the_word(known: Known, offers: list[Offer]) -> None:
    """Cores and memory are solved from two shipped sizes; shares of a GPU follow."""
    ram = 2 * (shipped(offers, "g4-standard-48") / 8 - shipped(offers, "g4-standard-6"))
    core = Decimal("0.03")
    gpu = shipped(offers, "g4-standard-48") - 48 * core - 180 * ram
    skus = [
        sku("G4 Instance Core running in Americas", str(core), group="CPU"),
        sku("G4 Instance Ram running in Americas", str(ram), group="RAM", unit="GiBy.h"),
        sku("RTX 6000 96GB running in Americas", str(gpu)),
    ]
    for size in (6, 12, 24, 48, 96, 192, 384):
        total, _ = composed(known, f"g4-standard-{size}", skus)
        assert total == pytest.approx(shipped(offers, f"g4-standard-{size}"), abs=Decimal("0.005"))


def test_a4_is_its_slices(known: Known) -> None:
    slices = sku("A4 Nvidia B200 (1 gpu slice) running in Americas", 16.11)
    spot = sku("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", 4.9542)
    assert composed(known, "a4-highgpu-8g", [slices, spot]) == (Decimal("128.88"), "")
    assert composed(known, "a4-highgpu-8g", [slices, spot], spot=True) == (Decimal("39.6336"), "")


def test_n1_and_its_gpus_are_added_up(known: Known, offers: list[Offer]) -> None:
    skus = [
        sku("N1 Predefined Instance Core running in Americas", 0.031611, group="N1Standard"),
        sku("N1 Predefined Instance Ram running in Americas", 0.004237, group="N1Standard", unit="GiBy.h"),
        sku("Nvidia Tesla T4 GPU running in Americas", 0.35),
        sku("Nvidia Tesla V100 GPU running in Americas", 2.48),
        sku("Nvidia Tesla P4 GPU running in Americas", 0.6),
    ]
    for machine in ("n1-standard-8", "n1-standard-4+1xT4", "n1-standard-64+8xV100", "n1-standard-8+1xP4"):
        total, _ = composed(known, machine, skus)
        assert total == pytest.approx(shipped(offers, machine), abs=Decimal("0.005"))


def test_memory_is_priced_by_the_gib_hour_and_ssd_by_the_month(known: Known) -> None:
    """opencost#3781: hourly values divided by 730."""
    hourly = sku("SSD backed Local Storage", 0.08, group="LocalSSD", unit="GiBy.h")
    by_month, _ = composed(known, "a2-ultragpu-1g", [*a2_skus(), A100_80, SSD])
    by_hour, _ = composed(known, "a2-ultragpu-1g", [*a2_skus(), A100_80, hourly])
    assert by_hour is not None
    assert by_month is not None
    assert by_hour - by_month == pytest.approx(Decimal(375 * 0.08 * 729 / 730), abs=Decimal("0.001"))
    in_bytes = sku("A2 Instance Ram running in Americas", 0.004237, group="RAM", unit="By")
    assert composed(known, "a2-highgpu-1g", [a2_skus()[0], in_bytes, a2_skus()[2]]) == (None, "a2 instance ram")


GPU_DECOYS = {
    "Nvidia Tesla A100 80GB GPU attached to DWS Defined Duration VMs running in Americas": 1.846198,
    "Nvidia Tesla A100 80GB GPU attached to DWS Calendar Mode VMs running in Americas": 1.8,
    "Nvidia Tesla A100 80GB GPU in Calendar Mode running in Americas": 9.0,
    "Capacity Optimized Nvidia Tesla A100 80GB GPU running in Americas": 9.0,
    "Reserved Nvidia Tesla A100 80GB GPU in Virginia": 9.0,
    "Commitment v1: Nvidia Tesla A100 80GB GPU running in Americas for 1 Year": 9.0,
    "Nvidia Tesla A100 80GB GPU Sole Tenancy running in Americas": 9.0,
    "Nvidia Tesla A100 80GB GPU Custom running in Americas": 9.0,
    "Nvidia Tesla A100 80GB GPU Premium running in Americas": 9.0,
    "Suspended Nvidia Tesla A100 80GB GPU running in Americas": 9.0,
    "Nvidia Tesla A100 80GB GPU vWS running in Americas": 9.0,
    "Nvidia Tesla A100 80GB Virtual Workstation GPU running in Americas": 9.0,
    "Upgrade Nvidia Tesla A100 80GB GPU running in Americas": 9.0,
    "Nvidia Tesla A100 GPU running in Americas": 2.933908,
}


@pytest.mark.parametrize("description", GPU_DECOYS)
def test_gpu_decoys_change_nothing_before_or_after_the_price(known: Known, description: str) -> None:
    """The SkyPilot catalogue of 2026-05-20 published $1.8462 for an A100-80GB: DWS, not on demand."""
    decoy = sku(description, GPU_DECOYS[description])
    for order in itertools.permutations([A100_80, decoy]):
        rates = Rates()
        for each in order:
            rates.add(each)
        assert rates.rate("us-central1", ("a100 80gb gpu",), spot=False) == Decimal("3.92808")


@pytest.mark.parametrize("usage", ["Commit1Yr", "Commit3Yr", "", "Something"])
def test_other_usage_types_are_no_price(usage: str) -> None:
    assert part_of("Nvidia L4 GPU running in Americas", usage) is None


TPU_DECOYS = {
    "DWS Defined Duration V6e running in Columbus": ("OnDemand", 1.35),
    "Capacity Optimized TpuV6e running in Columbus": ("OnDemand", 5.0),
    "Reserved V6e TPU in Columbus in Calendar Mode": ("OnDemand", 5.0),
    "Commitment v1: TpuV6e running in Columbus for 1 Year": ("Commit1Yr", 5.0),
}


@pytest.mark.parametrize("description", TPU_DECOYS)
def test_tpu_decoys_change_nothing(description: str) -> None:
    usage, rate = TPU_DECOYS[description]
    rates = Rates()
    for each in (
        sku("TpuV6e running in Columbus", 2.70, group="TPU"),
        sku("TpuV6e attached to Spot Preemptible VMs running in Columbus", 1.4033, group="TPU", usage="Preemptible"),
        sku(description, rate, group="TPU", usage=usage),
    ):
        rates.add(each)
    assert rates.rate("us-central1", ("tpu v6e",), spot=False) == Decimal("2.70")
    assert rates.rate("us-central1", ("tpu v6e",), spot=True) == Decimal("1.4033")


@pytest.mark.parametrize(
    ("machine", "description", "rate"),
    [
        ("tpu-v2-8", "TPU-v2 Accelerator USA", "4.5"),
        ("tpu-v2-32", "TPU-v2 Pod USA", "6"),
        ("tpu-v3-8", "Tpu-v3 accelerator running in Americas", "8"),
        ("tpu-v5litepod-8", "TpuV5e running in Iowa", "1.2"),
        ("tpu-v5p-8", "TpuV5p running in Iowa", "4.2"),
        ("tpu-v6e-8", "TpuV6e running in Iowa", "2.7"),
    ],
)
def test_tpus_count_cores_or_chips_as_their_names_do(
    known: Known, offers: list[Offer], machine: str, description: str, rate: str
) -> None:
    total, _ = composed(known, machine, [sku(description, rate, group="TPU")])
    assert total == shipped(offers, machine)


def test_the_price_of_a_device_is_not_the_pod_s(known: Known) -> None:
    device = sku("TPU-v3 Accelerator USA", 8, group="TPU")
    assert composed(known, "tpu-v3-32", [device]) == (None, "tpu v3 pod")


def test_v4_counts_eight_cores_a_unit(known: Known) -> None:
    parts = recipe(known.types["gcp", "tpu-v4-8"])
    assert parts is not None
    assert parts.needs[0].amount == 1


def test_old_tpu_spot_is_told_by_its_words() -> None:
    assert part_of("Preemptible TPU-v2 Accelerator USA", "OnDemand") == Part("tpu v2", spot=True)


def test_spot_without_a_price_for_every_part_is_no_price(known: Known) -> None:
    """karpenter-gcp PR#218: a missing GPU rate counted as 0."""
    core = sku("Spot Preemptible A2 Instance Core running in Americas", 0.01, group="CPU", usage="Preemptible")
    ram = sku(
        "Spot Preemptible A2 Instance Ram running in Americas", 0.001, group="RAM", usage="Preemptible", unit="GiBy.h"
    )
    assert composed(known, "a2-highgpu-1g", [*a2_skus(), core, ram], spot=True) == (None, "a100 gpu")
    gpu = sku("Nvidia Tesla A100 GPU attached to Spot Preemptible VMs running in Americas", 1.5, usage="Preemptible")
    total, _ = composed(known, "a2-highgpu-1g", [*a2_skus(), core, ram, gpu], spot=True)
    assert total == 12 * Decimal("0.01") + 85 * Decimal("0.001") + Decimal("1.5")


def test_the_place_is_where_the_sku_is_served() -> None:
    rates = Rates()
    rates.add(sku("Nvidia L4 GPU running in Americas", 0.56, regions=("us-east1",)))
    assert rates.rate("us-central1", ("l4 gpu",), spot=False) is None
    assert rates.regions() == {"us-east1"}


def test_other_currencies_are_no_dollars() -> None:
    rates = Rates()
    rates.add(sku("Nvidia L4 GPU running in Americas", 508.9, currency="IDR"))
    assert rates.regions() == set()


# --- the catalogue as it is served ---


def source(server: Loopback, known: Known, *patterns: str, key: str = KEY) -> GcpBilling:
    return GcpBilling(patterns, known, server.url, ApiKey(key))


def in_region(found: list[Found], region: str) -> dict[tuple[str, str], Offer]:
    return {
        (each.instance_type, each.purchase): each for each in found if isinstance(each, Offer) and each.region == region
    }


def serve(server: Loopback, pages: list[list[dict[str, Any]]]) -> None:
    def answer(request: Request) -> Reply:
        number = int(request.query.get("pageToken", "page0").removeprefix("page"))
        following = f"page{number + 1}" if number + 1 < len(pages) else ""
        return json_reply({"skus": pages[number], "nextPageToken": following})

    server.answers[SKUS] = answer
    server.answers[TPUS] = lambda request: json_reply({"skus": []})


def test_pages_are_followed_until_the_token_is_empty(server: Loopback, known: Known, offers: list[Offer]) -> None:
    serve(server, [[each] for each in [*a2_skus(), *G2, A100_80]])
    found = in_region(read(source(server, known)), "us-central1")
    assert Decimal(found["a2-highgpu-1g", "on_demand"].price) == shipped(offers, "a2-highgpu-1g")
    assert ("g2-standard-4", "on_demand") in found
    assert server.count(SKUS) == 7
    assert {request.query["key"] for request in server.requests} == {KEY}
    assert server.requests[0].query["currencyCode"] == "USD"


def test_machines_are_not_invented_where_nobody_sells_them(server: Loopback, known: Known) -> None:
    """Cyclenerd prices a2-highgpu-1g in africa-south1, where no zone has it."""
    serve(server, [a2_skus(("us-central1", "africa-south1"))])
    found = read(source(server, known))
    assert in_region(found, "africa-south1") == {}
    assert in_region(found, "us-central1")


def test_regions_that_were_not_asked_for_are_left_alone(server: Loopback, known: Known) -> None:
    serve(server, [a2_skus(("us-central1", "us-east1", "europe-west4"))])
    found = read(source(server, known, "us-*"))
    assert in_region(found, "us-east1")
    assert in_region(found, "europe-west4") == {}


def test_a_missing_sku_skips_its_machines_and_says_so(server: Loopback, known: Known) -> None:
    """gpuhunt#195: one missing SKU must not stop the collection."""
    serve(server, [[*a2_skus()[:2], *G2]])
    found = read(source(server, known))
    assert ("a2-highgpu-1g", "on_demand") not in in_region(found, "us-central1")
    assert ("g2-standard-4", "on_demand") in in_region(found, "us-central1")
    assert any("'a100 gpu'" in each.text for each in found if isinstance(each, Note))


def test_a_sku_that_comes_twice_counts_once(server: Loopback, known: Known) -> None:
    """skypilot#1367: duplicate rows changed totals; (type, region, purchase) is unique, its parts are not added up."""
    serve(server, [a2_skus(), a2_skus()])
    rows = [each for each in read(source(server, known)) if isinstance(each, Offer) and each.region == "us-central1"]
    assert len({(row.instance_type, row.zone, row.purchase) for row in rows}) == len(rows) > 0
    serve(server, [a2_skus()])
    assert in_region(read(source(server, known)), "us-central1") == {
        (row.instance_type, row.purchase): row for row in rows
    }


def test_unknown_accelerators_are_reported(server: Loopback, known: Known) -> None:
    """skypilot#3150, infracost#2437, #2797, PR#1960: a new accelerator is neither dropped in silence nor a crash."""
    serve(server, [[*a2_skus(), sku("Nvidia Rubin 288GB GPU running in Americas", 30)]])
    notes = [each.text for each in read(source(server, known)) if isinstance(each, Note)]
    assert "GPUs of no known machine: rubin 288gb gpu" in notes


def test_list_prices_of_what_is_not_sold_are_flagged(server: Loopback, known: Known) -> None:
    serve(server, [[sku("A4 Nvidia B200 (1 gpu slice) running in Americas", 16.11, regions=("us-central1",))]])
    offer = in_region(read(source(server, known)), "us-central1")["a4-highgpu-8g", "on_demand"]
    assert offer.flags == (flags.LOCAL_SSD_NOT_INCLUDED, flags.NOT_SOLD_ON_DEMAND)


def test_without_the_service_of_older_tpus_the_rest_is_read(server: Loopback, known: Known) -> None:
    serve(server, [a2_skus()])
    del server.answers[TPUS]
    found = read(source(server, known))
    assert any("TPU v2" in each.text for each in found if isinstance(each, Note))
    assert in_region(found, "us-central1")


@pytest.mark.parametrize("page", [[], {"skus": 5}, "x", None])
def test_a_page_of_another_shape_is_one_sentence(server: Loopback, known: Known, page: object) -> None:
    server.answers[SKUS] = lambda request: json_reply(page)
    with pytest.raises(FeedError, match="GCP price list"):
        read(source(server, known))


def test_a_token_that_comes_again_is_given_up(server: Loopback, known: Known) -> None:
    server.answers[SKUS] = lambda request: json_reply({"skus": [], "nextPageToken": "same"})
    with pytest.raises(FeedError, match="again and again"):
        read(source(server, known))


def test_machines_this_module_cannot_put_together_have_no_recipe(known: Known) -> None:
    for name in ("c3-highcpu-22", "a4x-highgpu-4g", "e2-standard-8"):
        assert recipe(known.types["gcp", name]) is None
    machine = known.types["gcp", "n1-standard-8+1xT4"]
    assert recipe(machine._replace(instance_type="n1-standard-8+1xK80")) is None
    assert recipe(machine._replace(vcpus=None)) is None
    assert recipe(known.types["gcp", "a2-highgpu-1g"]._replace(memory_gib=None)) is None
    assert recipe(machine._replace(instance_type="tpu-v9-8")) is None
