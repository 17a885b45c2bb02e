"""Names of accelerators as drivers, clouds, benchmarks and people write them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.errors import UnknownNameError
from planner.hardware.accelerator import GIB
from planner.hardware.catalog import accelerator, accelerators, resolve, same_name, with_memory

with (Path(__file__).parent / "spellings.csv").open(newline="", encoding="utf-8") as file:
    SPELLINGS = list(csv.DictReader(file))


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row['source']}:{row['name']}") for row in SPELLINGS])
def test_spellings_of_measured_tables_and_price_lists(row: dict[str, str]) -> None:
    if row["key"]:
        assert resolve(row["name"]).accelerator.key == row["key"]
    else:
        with pytest.raises(UnknownNameError) as failure:
            resolve(row["name"])
        assert not failure.value.suggestions


def test_nearly_all_measured_rows_resolve() -> None:
    measured = [row for row in SPELLINGS if row["source"] == "throughput"]
    resolved = sum(int(row["rows"]) for row in measured if row["key"])
    assert resolved / sum(int(row["rows"]) for row in measured) >= 0.97


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("4090 laptop", "RTX4090-Laptop"),
        ("3080ti mobile", "RTX3080Ti-Laptop"),
        ("RTX 3080 Max-Q", "RTX3080-Laptop"),
        ("NVIDIA GeForce RTX 2070 with Max-Q Design", "RTX2070-MaxQ"),
        ("a100 80", "A100-80GB-SXM"),
        ("A100 SXM 80GB", "A100-80GB-SXM"),
        ("A100-PCIE-80GB", "A100-80GB-PCIe"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB-SXM"),
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM"),
        ("nvidia-h100-mega-80gb", "H100-SXM"),
        ("h100nvl", "H100-NVL"),
        ("H100 PCIe", "H100-PCIe"),
        ("NVIDIA GH200 480GB", "GH200-96GB"),
        ("Standard_NC24ads_A100_v4", "A100-80GB-PCIe"),
        ("nvidia-tesla-t4", "T4"),
        ("T4g", "T4G"),
        ("RTX A6000", "RTXA6000"),
        ("rtx 6000 ada generation", "RTX6000-Ada"),
        ("Quadro RTX 8000", "QuadroRTX8000"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000-Server"),
        ("RTXPRO6000WS", "RTXPRO6000"),
        ("NVIDIA GeForce RTX 3090", "RTX3090"),
        ("3090 ti", "RTX3090Ti"),
        ("RTX 4070 Ti Super", "RTX4070Ti-SUPER"),
        ("1080ti", "GTX1080Ti"),
        ("titan xp", "TITAN-Xp"),
        ("gtx titan x", "TITAN-X-Maxwell"),
        ("7900 xtx", "RX7900XTX"),
        ("AMD Instinct MI300X", "MI300X"),
        ("mi250x", "MI250X-GCD"),
        ("v5e", "TPUv5e"),
        ("tpu-v5litepod-8", "TPUv5e"),
        ("tpu-v6e-8", "TPUv6e"),
        ("trn1", "Trainium"),
        ("K80", "K80"),
        ("M3 Max 30-core", "M3-Max-30c"),
        ("Apple M2 Ultra (76-core GPU)", "M2-Ultra-76c"),
        ("dgx spark", "GB10"),
        ("NVIDIA A10-24Q", "A10"),
    ],
)
def test_names_people_write(name: str, key: str) -> None:
    assert resolve(name).accelerator.key == key


@pytest.mark.parametrize("name", ["h100", "A100", "V100", "RTX6000", "P100", "RTX 3080", "M3 Max"])
def test_an_ambiguous_name_says_what_it_was_taken_for(name: str) -> None:
    resolution = resolve(name)
    assert resolution.assumption is not None
    assert resolution.accelerator.key in resolution.assumption
    assert resolution.alternatives
    assert all(key in resolution.assumption for key in resolution.alternatives)


def test_memory_decides_between_versions() -> None:
    assert resolve("RTX 3080", memory_gib=12).accelerator.key == "RTX3080-12GB"
    assert resolve("RTX 3080", memory_gib=12).assumption is None
    assert resolve("A100", memory_gib=79.3).accelerator.key == "A100-80GB-SXM"
    assert resolve("RTX 4060 Ti", memory_gib=15.7).accelerator.key == "RTX4060Ti-16GB"


def test_a_version_that_is_in_no_table_is_said() -> None:
    resolution = resolve("gtx 1060 3gb")
    assert resolution.accelerator.key == "GTX1060-6GB"
    assert "no 3 GB version" in str(resolution.assumption)
    assert "no laptop version" in str(resolve("RTX 3060 Ti laptop").assumption)
    assert "no MIG version" in str(resolve("NVIDIA A100-SXM4-40GB MIG 1g.5gb").assumption)


def test_cloud_name_of_the_turing_card_and_its_namesakes() -> None:
    resolution = resolve("RTX6000")
    assert resolution.accelerator.key == "QuadroRTX6000"
    assert resolution.alternatives == ("RTX6000-Ada", "RTXPRO6000")


def test_a_key_means_itself() -> None:
    for key in accelerators():
        assert resolve(key).accelerator.key == key
        assert resolve(key.lower()).accelerator.key == key
    assert resolve("RTX3080").assumption is None
    assert resolve("RTX3080").alternatives == ("RTX3080-12GB",)


def test_a_mac_has_the_memory_that_is_said() -> None:
    said = resolve("Apple M4 Max 40-core 64GB")
    assert said.assumption is None
    assert said.accelerator.memory_bytes == 64 * GIB
    assert said.accelerator.usable_memory_bytes == 48 * GIB
    assert "128 GB of shared memory" in str(resolve("M4 Max 40-core").assumption)
    small = with_memory(accelerator("M4-Pro-20c"), 24)
    assert small.usable_memory_bytes == pytest.approx(16 * GIB)


def test_another_memory_size_keeps_the_usable_share() -> None:
    card = accelerator("RTX3090")
    doubled = with_memory(card, 48)
    assert doubled.memory_bytes == 48 * GIB
    assert doubled.usable_memory_bytes == pytest.approx(2 * (card.usable_memory_bytes or 0))
    unknown = with_memory(accelerator("B100"), 192)
    assert unknown.usable_memory_bytes == 192 * GIB


def test_near_misses_are_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean RTX3090"):
        resolve("rtx 3099")
    with pytest.raises(UnknownNameError, match="did you mean H100-SXM"):
        resolve("h199")
    with pytest.raises(UnknownNameError, match="did you mean RTX3090"):
        accelerator("RTX309")


def test_all_parts_of_one_name() -> None:
    assert {part.key for part in same_name("GeForce RTX 2060")} == {
        "RTX2060",
        "RTX2060-12GB",
        "RTX2060-Laptop",
        "RTX2060-MaxQ",
    }
    assert same_name("no such card") == ()


@example("0/¹")  # a digit to str.isdigit, not to int
@given(st.text(max_size=40))
def test_any_text_resolves_or_is_refused_in_one_sentence(name: str) -> None:
    try:
        assert resolve(name).accelerator.key in accelerators()
    except UnknownNameError as error:
        refusal = str(error)
    else:
        return
    assert "\n" not in refusal.replace(repr(name), "")


def test_one_row_is_parsed_on_demand() -> None:
    accelerators.cache_clear()
    table = accelerators()
    assert accelerator("RTX3090").name == "NVIDIA GeForce RTX 3090"
    assert len(table) > 200
    assert list(table.__dict__["_parsed"]) == ["RTX3090"]
