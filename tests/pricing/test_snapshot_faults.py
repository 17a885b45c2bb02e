"""Every known fault of the collected prices, by name, with the value it must have in the shipped snapshot."""

from __future__ import annotations

import pytest

from pricing import flags
from pricing.catalog import Catalog
from pricing.offer import InstanceType, Offer

Types = dict[tuple[str, str], InstanceType]


def prices(offers: list[Offer], provider: str, instance_type: str, place: str, purchase: str = "on_demand") -> set[str]:
    """The distinct prices of a machine in a region or zone."""
    return {
        offer.price
        for offer in offers
        if offer[:2] == (provider, instance_type) and place in (offer.region, offer.zone) and offer.purchase == purchase
    }


@pytest.mark.parametrize(
    ("provider", "instance_type", "place", "price"),
    [
        ("gcp", "a2-highgpu-1g", "us-central1", "3.673385"),
        ("gcp", "a3-highgpu-8g", "us-central1", "88.49"),
        ("gcp", "a2-ultragpu-8g", "us-central1", "40.550383"),
        ("aws", "p4d.24xlarge", "us-east-1", "21.957642"),
        ("aws", "g4dn.xlarge", "us-east-1", "0.526"),
        ("aws", "g6.xlarge", "us-east-1", "0.8048"),
        ("lambda", "gpu_8x_h100_sxm5", "all", "31.92"),
    ],
)
def test_a_price_is_of_the_whole_machine(
    offers: list[Offer], provider: str, instance_type: str, place: str, price: str
) -> None:
    assert prices(offers, provider, instance_type, place) == {price}


def test_the_price_of_p5_is_the_one_after_the_cut(offers: list[Offer]) -> None:
    assert prices(offers, "aws", "p5.48xlarge", "us-east-1") == {"55.04"}


def test_a_machine_sold_by_capacity_block_only_has_no_on_demand_price(offers: list[Offer], types: Types) -> None:
    bought = {offer.purchase for offer in offers if offer.instance_type == "p5e.48xlarge"}
    assert bought == {"spot"}
    assert not [offer for offer in offers if offer.instance_type in ("trn2.48xlarge", "p6e-gb200.36xlarge")]
    assert types["aws", "trn2.48xlarge"].num_gpus == 16


@pytest.mark.parametrize(
    ("provider", "instance_type", "accelerator", "count"),
    [
        ("aws", "p5.48xlarge", "H100-SXM", 8),
        ("aws", "p5.4xlarge", "H100-SXM", 1),
        ("aws", "p5en.48xlarge", "H200-SXM", 8),
        ("aws", "p4d.24xlarge", "A100-40GB-SXM", 8),
        ("aws", "p4de.24xlarge", "A100-80GB-SXM", 8),
        ("aws", "p3.16xlarge", "V100-SXM2-16GB", 8),
        ("aws", "p3dn.24xlarge", "V100-SXM2-32GB", 8),
        ("aws", "p2.16xlarge", "K80", 16),
        ("aws", "g3.16xlarge", "M60", 4),
        ("aws", "g5g.16xlarge", "T4G", 2),
        ("aws", "g7e.48xlarge", "RTXPRO6000-Server", 8),
        ("aws", "trn1.32xlarge", "Trainium", 16),
        ("aws", "dl1.24xlarge", "Gaudi", 8),
        ("azure", "Standard_NC24ads_A100_v4", "A100-80GB-PCIe", 1),
        ("azure", "Standard_NC40ads_H100_v5", "H100-NVL", 1),
        ("azure", "Standard_NC80adis_H100_v5", "H100-NVL", 2),
        ("azure", "Standard_ND96isr_H100_v5", "H100-SXM", 8),
        ("azure", "Standard_ND96asr_v4", "A100-40GB-SXM", 8),
        ("azure", "Standard_ND96amsr_A100_v4", "A100-80GB-SXM", 8),
        ("azure", "Standard_ND40rs_v2", "V100-SXM2-32GB", 8),
        ("azure", "Standard_NC6s_v3", "V100-PCIe-16GB", 1),
        ("azure", "Standard_ND128isr_NDR_GB200_v6", "GB200", 4),
        ("gcp", "a2-highgpu-1g", "A100-40GB-SXM", 1),
        ("gcp", "a2-megagpu-16g", "A100-40GB-SXM", 16),
        ("gcp", "a3-megagpu-8g", "H100-SXM", 8),
        ("gcp", "n1-standard-64+8xV100", "V100-SXM2-16GB", 8),
        ("lambda", "gpu_1x_h100_pcie", "H100-PCIe", 1),
        ("lambda", "gpu_1x_a100", "A100-40GB-PCIe", 1),
        ("lambda", "gpu_8x_a100", "A100-40GB-SXM", 8),
        ("lambda", "gpu_1x_rtx6000", "QuadroRTX6000", 1),
        ("vast", "4x-RTX_4060_Ti-32-65536", "RTX4060Ti-16GB", 4),
        ("vast", "4x-RTX_4070S_Ti-32-65536", "RTX4070Ti-SUPER", 4),
    ],
)
def test_the_form_factor_and_the_count_are_those_of_the_machine(
    types: Types, provider: str, instance_type: str, accelerator: str, count: int
) -> None:
    machine = types[provider, instance_type]
    assert (machine.accelerator, machine.num_gpus) == (accelerator, count)


@pytest.mark.parametrize(
    ("instance_type", "chips"),
    [
        ("tpu-v2-8", 4),
        ("tpu-v3-512", 256),
        ("tpu-v4-8", 4),
        ("tpu-v5litepod-8", 8),
        ("tpu-v5litepod-256", 256),
        ("tpu-v5p-8", 4),
        ("tpu-v6e-8", 8),
    ],
)
def test_tpu_slices_count_chips_whatever_their_names_count(types: Types, instance_type: str, chips: int) -> None:
    assert types["gcp", instance_type].num_gpus == chips


@pytest.mark.parametrize(
    ("provider", "instance_type", "share", "memory_gib"),
    [
        ("aws", "g6f.large", 1 / 8, 2.79),
        ("aws", "g6f.4xlarge", 1 / 2, 11.18),
        ("aws", "gr6f.4xlarge", 1 / 2, 11.18),
        ("azure", "Standard_NV6ads_A10_v5", 1 / 6, 4),
        ("azure", "Standard_NV12ads_A10_v5", 1 / 3, 8),
        ("azure", "Standard_NV18ads_A10_v5", 1 / 2, 12),
        ("azure", "Standard_NV4as_v4", 1 / 8, 2),
        ("gcp", "g4-standard-6", 1 / 8, 12),
        ("gcp", "g4-standard-24", 1 / 2, 48),
    ],
)
def test_a_share_of_a_gpu_is_an_exact_fraction_with_its_share_of_memory(
    types: Types, provider: str, instance_type: str, share: float, memory_gib: float
) -> None:
    machine = types[provider, instance_type]
    assert machine.num_gpus == pytest.approx(share, abs=1e-9)
    assert machine.memory_gib_per_gpu == pytest.approx(memory_gib)


@pytest.mark.parametrize(
    ("provider", "instance_type", "memory_gib"),
    [
        ("vast", "8x-H100_SXM-32-65536", 80),
        ("vast", "8x-H200-32-65536", 141),
        ("vast", "2x-A100_SXM4-32-65536-40GB", 40),
        ("vast", "2x-A100_SXM4-32-65536-80GB", 80),
        ("fluidstack", "8xH100", 80),
        ("cudocompute", "8xA4000", 16),
    ],
)
def test_memory_is_per_accelerator(types: Types, provider: str, instance_type: str, memory_gib: float) -> None:
    assert types[provider, instance_type].memory_gib_per_gpu == memory_gib


def test_per_gpu_prices_are_kept_apart(catalog: Catalog, types: Types) -> None:
    crusoe = [row for row in catalog.quarantined() if row.offer.provider == "crusoe"]
    assert len(crusoe) == 15
    assert {row.offer.price_as_of for row in crusoe} == {"2026-10-01"}
    assert all(flags.DATE_UNCERTAIN in row.offer.flags for row in crusoe)
    assert all("one GPU" in row.reason for row in crusoe)
    assert {row.accelerator for row in crusoe} >= {"H100-SXM", "A100-40GB-PCIe", "MI300X"}
    assert not [name for _, name in types if name.startswith("per-gpu")]


def test_minima_of_spot_and_on_demand_are_kept_apart(catalog: Catalog) -> None:
    minima = [row for row in catalog.quarantined() if "lower of spot and on-demand" in row.reason]
    assert len(minima) == 30
    assert {row.offer.provider for row in minima} >= {"runpod", "nebius", "hyperstack", "verda"}
    assert {row.offer.price_as_of for row in minima} == {"2025-11-16"}


def test_of_two_prices_for_one_machine_the_dearer_is_kept(catalog: Catalog, offers: list[Offer]) -> None:
    name = "1xA4000-2vcpu-4gb"
    assert prices(offers, "cudocompute", name, "any") == {"0.32"}
    assert {row.offer.price for row in catalog.quarantined() if row.offer.instance_type == name} == {"0.3"}


def test_one_name_is_one_machine(types: Types, offers: list[Offer]) -> None:
    assert ("vast", "1x-A100_SXM4-32-65536") not in types
    assert types["paperspace", "1xV100-16GB"].accelerator == "V100-PCIe-16GB"
    assert types["paperspace", "1xV100-32GB"].accelerator == "V100-PCIe-32GB"
    assert prices(offers, "vast", "1x-A100_SXM4-32-65536-40GB", "us-georgia") == {"0.93"}


def test_undated_rows_carry_their_earliest_day_and_a_flag(offers: list[Offer]) -> None:
    undated = [offer for offer in offers if flags.DATE_UNCERTAIN in offer.flags]
    assert {offer.price_as_of for offer in undated} == {"2026-01-22"}
    assert {offer.provider for offer in undated} == {"aws"}
    assert len([offer for offer in undated if offer.purchase == "spot"]) == 82


def test_list_prices_of_machines_not_sold_on_demand_are_flagged(offers: list[Offer]) -> None:
    flagged = [offer for offer in offers if flags.NOT_SOLD_ON_DEMAND in offer.flags]
    assert {offer.purchase for offer in flagged} == {"on_demand"}
    assert {offer.instance_type for offer in flagged} == {
        "a3-highgpu-1g",
        "a3-highgpu-2g",
        "a3-highgpu-4g",
        "a3-ultragpu-8g",
        "a4-highgpu-8g",
    }
    assert len(flagged) == 79


def test_an_azure_spot_price_has_its_own_source_and_day(offers: list[Offer]) -> None:
    here = [offer for offer in offers if offer[:3] == ("azure", "Standard_NC24ads_A100_v4", "eastus")]
    assert {(offer.purchase, offer.price_as_of) for offer in here} == {
        ("on_demand", "2026-06-18"),
        ("spot", "2026-05-20"),
    }
    assert len({offer.price_source for offer in here}) == 2
    assert {offer.purchase for offer in here if flags.SPOT_INDICATIVE in offer.flags} == {"spot"}


def test_a_composed_price_is_dated_by_its_older_part(offers: list[Offer]) -> None:
    composed = [offer for offer in offers if flags.COMPOSED in offer.flags]
    assert {offer.price_as_of for offer in composed} == {"2026-05-20"}
    assert all("+" in offer.instance_type for offer in composed)


def test_a_regional_price_stands_once_in_each_known_zone(offers: list[Offer]) -> None:
    zones = {
        offer.zone: offer
        for offer in offers
        if offer[:3] == ("aws", "p5.48xlarge", "us-east-1") and offer.purchase == "on_demand"
    }
    assert None not in zones
    assert zones["use1-az4"].price_as_of == "2026-07-20"
    assert flags.DATE_UNCERTAIN not in zones["use1-az4"].flags
    assert zones["use1-atl2-az1"].price_as_of == "2026-01-22", "a regional price never describes a local zone"
    assert zones["us-east-1-atl-1"].price_as_of == "2026-01-21"


def test_spot_above_on_demand_is_flagged(offers: list[Offer]) -> None:
    flagged = [offer for offer in offers if flags.SPOT_ABOVE_ON_DEMAND in offer.flags]
    assert [(offer.instance_type, offer.zone) for offer in flagged] == [("p4de.24xlarge", "use1-az4")]


@pytest.mark.parametrize(
    ("provider", "instance_type", "word"),
    [
        ("aws", "inf1.xlarge", "inference"),
        ("aws", "inf2.xlarge", "inference"),
        ("aws", "dl2q.24xlarge", "inference"),
        ("aws", "f2.6xlarge", "FPGA"),
        ("aws", "vt1.3xlarge", "transcoder"),
        ("aws", "g2.2xlarge", "K520"),
        ("aws", "p2.xlarge", "K80"),
        ("aws", "g4ad.xlarge", "ROCm"),
        ("aws", "t3.large", "burstable"),
        ("azure", "Standard_NC6s_v3", "retired"),
        ("azure", "Standard_NV12s_v3", "retired"),
        ("azure", "Standard_NV4as_v4", "retired"),
    ],
)
def test_a_machine_that_cannot_be_ranked_says_why(types: Types, provider: str, instance_type: str, word: str) -> None:
    assert word in types[provider, instance_type].unranked


def test_ported_stacks_are_not_unranked(types: Types) -> None:
    for key in (("aws", "trn1.32xlarge"), ("aws", "dl1.24xlarge"), ("gcp", "tpu-v5litepod-8")):
        assert types[key].unranked == ""


@pytest.mark.parametrize(
    ("provider", "instance_type", "link", "network_gbit_s", "rdma"),
    [
        ("aws", "p5.48xlarge", "nvswitch", 3200, True),
        ("aws", "p3.16xlarge", "nvlink_mesh", 25, False),
        ("aws", "g5.48xlarge", "pcie4", 100, False),
        ("aws", "trn1.32xlarge", "neuronlink", 800, True),
        ("aws", "dl1.24xlarge", "ethernet_on_chip", 400, True),
        ("azure", "Standard_NC48ads_A100_v4", "nvlink_bridge", 40, False),
        ("azure", "Standard_NC96ads_A100_v4", "pcie4", 80, False),
        ("azure", "Standard_ND96isr_MI300X_v5", "xgmi", 3200, True),
        ("azure", "Standard_ND96is_H100_v5", "nvswitch", None, False),
        ("gcp", "a3-highgpu-8g", "nvswitch", 800, False),
        ("gcp", "tpu-v5litepod-8", "ici", None, False),
        ("lambda", "gpu_1x_a10", "none", None, False),
    ],
)
def test_link_and_network(
    types: Types, provider: str, instance_type: str, link: str, network_gbit_s: float | None, rdma: bool
) -> None:
    machine = types[provider, instance_type]
    assert (machine.link, machine.network_gbit_s, machine.rdma) == (link, network_gbit_s, rdma)


def test_cpu_machines_are_there_and_can_be_ranked(types: Types, offers: list[Offer]) -> None:
    machine = types["aws", "c7i.48xlarge"]
    assert (machine.accelerator, machine.num_gpus, machine.cpu, machine.unranked) == ("", 0, "SapphireRapids", "")
    cpu_offers = [offer for offer in offers if not types[offer[:2]].accelerator]
    assert len(cpu_offers) > 1000
