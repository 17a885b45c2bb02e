"""Other clouds through gpuhunt: its quirks, and its absence."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from pricing import flags
from pricing.errors import FeedError
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.providers import gpuhunt as ours
from pricing.providers.base import Found, Known, Note
from pricing.providers.gpuhunt import GpuHunt, Item, accelerator_of, load_items
from tests.pricing.reading import laid_over, read, refresh

pytest.importorskip("gpuhunt")


A10 = Item("gpu_1x_a10", "us-east-1", 0.75, 30, 200.0, 1, "A10", 24.0, False)


def found(known: Known, *items: Item, provider: str = "lambda") -> list[Found]:
    return read(GpuHunt(provider, known, lambda name: items))


def offers(rows: list[Found]) -> dict[tuple[str, str, str], str]:
    return {(row.instance_type, row.region, row.purchase): row.price for row in rows if isinstance(row, Offer)}


def machines(rows: list[Found]) -> dict[str, InstanceType]:
    return {row.instance_type: row for row in rows if isinstance(row, InstanceType)}


def test_a_known_machine_stays_what_the_table_says(known: Known) -> None:
    """dstack#1118, #2486: a list says nothing about what can be had now, and the row says so."""
    rows = found(known, A10)
    assert offers(rows) == {("gpu_1x_a10", "us-east-1", "on_demand"): "0.75"}
    assert machines(rows)["gpu_1x_a10"] == known.types["lambda", "gpu_1x_a10"]
    assert [row.flags for row in rows if isinstance(row, Offer)] == [(flags.AVAILABILITY_UNKNOWN,)]


def test_one_name_for_several_machines_gets_the_count_in_front(known: Known) -> None:
    one = Item("NVIDIA L4", "CA", 0.4, 8, 50, 1, "L4", 24, False)
    rows = found(known, one, one._replace(gpu_count=4, price=1.6), provider="runpod")
    assert offers(rows) == {
        ("1x-NVIDIA L4", "ca", "on_demand"): "0.4",
        ("4x-NVIDIA L4", "ca", "on_demand"): "1.6",
    }
    assert machines(rows)["4x-NVIDIA L4"].num_gpus == 4


@pytest.mark.parametrize(
    ("name", "gpu", "memory", "key", "assumed"),
    [
        ("gpu_8x_h100_sxm5", "H100", 80, "H100-SXM", False),
        ("NVIDIA H100 80GB HBM3", "H100", 80, "H100-SXM", False),
        ("NVIDIA H100 PCIe", "H100", 80, "H100-PCIe", False),
        ("h100-1x", "H100", 80, "H100-PCIe", True),
        ("x", "A100", 40, "A100-40GB-PCIe", True),
        ("x", "L4", 24, "L4", False),
        ("x", "Rubin", 288, "", False),
    ],
)
def test_form_factors_are_read_from_names_or_assumed_slower(
    name: str, gpu: str, memory: float, key: str, assumed: bool
) -> None:
    assert accelerator_of(A10._replace(instance_name=name, gpu_name=gpu, gpu_memory=memory)) == (key, assumed)


def test_every_accelerator_of_the_table_is_one_of_ours() -> None:
    from planner.hardware.catalog import accelerators

    assert {key for _, _, _, key in ours._accelerators()} <= set(accelerators())


def test_an_unknown_accelerator_is_kept_unranked(known: Known) -> None:
    rows = found(known, A10._replace(instance_name="new", gpu_name="Rubin", gpu_memory=288))
    assert "Rubin" in machines(rows)["new"].unranked


def test_a_marketplace_keeps_the_cheapest_ask_of_a_kind_and_place(known: Known) -> None:
    ask = Item("33869598", "Denmark, DK", 0.3, 16, 64, 1, "RTX3090", 24, False)
    rows = found(known, ask, ask._replace(instance_name="4", price=0.2), ask._replace(price=0.25), provider="vast")
    assert offers(rows) == {("1x-RTX3090", "denmark-dk", "on_demand"): "0.2"}
    (offer,) = [row for row in rows if isinstance(row, Offer)]
    assert flags.MARKETPLACE_ASK in offer.flags


def test_spot_is_spot_and_zero_is_no_price(known: Known) -> None:
    """skypilot#4914: RunPod's spot was billed above on-demand; the flag is set where rows are compared."""
    rows = found(known, A10._replace(spot=True), A10._replace(price=0.0, location="b"))
    assert offers(rows) == {("gpu_1x_a10", "us-east-1", "spot"): "0.75"}
    assert len([row for row in rows if isinstance(row, Quarantined)]) == 1


def test_cpu_machines_and_unreadable_items(known: Known) -> None:
    cpu = A10._replace(instance_name="cpu", gpu_count=0, gpu_name=None, gpu_memory=None)
    odd = A10._replace(instance_name="odd", cpu="many")  # type: ignore[arg-type]
    rows = found(known, cpu, odd)
    assert machines(rows)["cpu"].accelerator == ""
    assert rows[-1] == Note("1 machines are not described as documented")


def test_spot_above_on_demand_is_flagged_in_the_catalogue(known: Known, tmp_path: Path) -> None:
    store = tmp_path / "prices.sqlite"
    items = (A10, A10._replace(spot=True, price=0.9))
    assert refresh(store, GpuHunt("lambda", known, lambda name: items)).is_complete
    spot = [row for row in laid_over(store).offers() if row.provider == "lambda" and row.purchase == "spot"]
    assert [row.flags for row in spot] == [(flags.AVAILABILITY_UNKNOWN, flags.SPOT_ABOVE_ON_DEMAND)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the library leaves its file open
def test_catalogues_in_a_folder_are_read_without_a_network(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself the library goes to the network even then."""
    columns = "instance_name location price cpu memory gpu_count gpu_name gpu_memory spot disk_size gpu_vendor flags"
    with (tmp_path / "lambdalabs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns.split())
        writer.writerow(["gpu_1x_a10", "us-east-1", "0.75", "30", "200", "1", "A10", "24", "False", "", "nvidia", ""])
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(tmp_path))
    assert offers(read(GpuHunt("lambda", known))) == {("gpu_1x_a10", "us-east-1", "on_demand"): "0.75"}
    with pytest.raises(FeedError, match=r"catalogue of oci cannot be read \(FileNotFoundError\)"):
        load_items("oci")


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUHUNT_CATALOG_DIR", raising=False)
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", "http://127.0.0.1:1")
    for provider in ("lambdalabs", "vastai"):
        with pytest.raises(FeedError, match=f"gpuhunt: the catalogue of {provider} cannot be"):
            load_items(provider)


def test_without_the_extra_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    with pytest.raises(FeedError, match="pip install 'gpuplanner"):
        load_items("runpod")
