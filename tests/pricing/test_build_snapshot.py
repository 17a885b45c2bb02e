"""The builder on a small collection: every fault mended, flagged or quarantined, the same bytes on every run."""

from __future__ import annotations

import csv
import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pricing import flags
from pricing.catalog import Catalog
from pricing.offer import Offer
from pricing.published import open_catalog

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = Path(__file__).parent / "collection"
NEIGHBOURS = ("links.csv", "aws_reserved_1yr.csv", "aws_spot_advisor_gpu.csv", "spot_stats.csv")
KARPENTER = "aws/karpenter-provider-aws zz_generated.pricing_aws.go"


def collection(folder: Path, offers: str = "") -> Path:
    """The small collection, its prices replaced by the lines of ``offers`` if given; accelerators as the planner's."""
    data = folder / "data"
    data.mkdir(parents=True)
    shipped = (COLLECTION / "offers.csv").read_text(encoding="utf-8")
    text = shipped.splitlines()[0] + "\n" + offers if offers else shipped
    (data / "offers.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in NEIGHBOURS:
        shutil.copyfile(COLLECTION / name, data / name)
    with (ROOT / "planner" / "data" / "accelerators.csv").open(encoding="utf-8", newline="") as file:
        known = [f"{row['key']},{row['memory_gib']}" for row in csv.DictReader(file)]
    (data / "accelerators.csv").write_text("\n".join(["key,memory_gb", *known]), encoding="utf-8")
    return folder


def build(shared: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    out.mkdir(exist_ok=True)
    command = [sys.executable, str(ROOT / "tools" / "build_snapshot.py"), "--shared", str(shared), "--out", str(out)]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder with the built files, and what the builder reported."""
    folder = tmp_path_factory.mktemp("built")
    done = build(collection(folder / "shared"), folder / "out")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture(scope="module")
def small(built: tuple[Path, str]) -> Catalog:
    return open_catalog(built[0] / "out" / "snapshot.sqlite")


def the(offers: list[Offer], instance_type: str, purchase: str = "on_demand") -> Offer:
    (found,) = [offer for offer in offers if (offer.instance_type, offer.purchase) == (instance_type, purchase)]
    return found


def test_a_second_run_writes_the_same_bytes(built: tuple[Path, str]) -> None:
    folder, _ = built
    assert build(folder / "shared", folder / "again").returncode == 0
    for name in ("snapshot.sqlite", "instance_types.csv"):
        assert (folder / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_check_passes_on_its_own_work_and_fails_on_anything_else(built: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = built
    assert build(folder / "shared", folder / "out", "--check").returncode == 0
    other = build(folder / "shared", tmp_path / "empty", "--check")
    assert other.returncode == 1
    assert "snapshot.sqlite is not what the builder writes" in other.stderr
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_regional_price_replaces_older_zonal_ones_and_fills_the_known_zones(small: Catalog) -> None:
    p5 = [o for o in small.offers() if o.instance_type == "p5.48xlarge" and o.purchase == "on_demand"]
    assert [(o.region, o.zone, o.price, o.price_as_of) for o in p5] == [
        ("eu-west-2", None, "71.552", "2026-07-20"),
        ("us-east-1", "us-east-1-atl-1", "60", "2026-01-22"),
        ("us-east-1", "use1-az1", "55.04", "2026-07-20"),
        ("us-east-1", "use1-az2", "55.04", "2026-07-20"),
    ]


def test_undated_spot_is_flagged_and_compared_with_on_demand(small: Catalog) -> None:
    spot = {o.zone: o.flags for o in small.offers() if o.instance_type == "p5.48xlarge" and o.purchase == "spot"}
    assert spot == {
        "use1-az1": (flags.DATE_UNCERTAIN, flags.SPOT_ABOVE_ON_DEMAND),
        "use1-az2": (flags.DATE_UNCERTAIN,),
    }


def test_two_sources_in_one_row_are_told_apart(small: Catalog) -> None:
    offers = small.offers()
    on_demand, spot = (the(offers, "Standard_NV6ads_A10_v5", purchase) for purchase in ("on_demand", "spot"))
    assert (on_demand.price_as_of, spot.price_as_of) == ("2026-06-18", "2026-05-20")
    assert "karpenter" in on_demand.price_source
    assert "SkyPilot" in spot.price_source
    assert (on_demand.flags, spot.flags) == ((), (flags.SPOT_INDICATIVE,))


def test_zero_and_nan_are_no_prices(small: Catalog) -> None:
    kept_apart = [row for row in small.quarantined() if row.offer.instance_type == "Standard_NC40ads_H100_v5"]
    assert [row.offer.price for row in kept_apart] == ["0.0", "NaN"]
    assert small.instance_types()["azure", "Standard_NC40ads_H100_v5"].accelerator == "H100-NVL"


def test_a_list_price_is_flagged_on_the_on_demand_side_only(small: Catalog) -> None:
    offers = small.offers()
    assert flags.NOT_SOLD_ON_DEMAND in the(offers, "a3-highgpu-1g").flags
    assert flags.NOT_SOLD_ON_DEMAND not in the(offers, "a3-highgpu-1g", "spot").flags


def test_quarantine_names_the_fault(small: Catalog) -> None:
    reasons = {(row.offer.provider, row.offer.purchase): row for row in small.quarantined()}
    assert "one GPU" in reasons["crusoe", "spot"].reason
    assert reasons["crusoe", "on_demand"].offer.price_as_of == "2026-10-01"
    assert reasons["crusoe", "on_demand"].accelerator == "H100-SXM"
    assert "lower of spot and on-demand" in reasons["nebius", "on_demand"].reason
    assert reasons["cudocompute", "on_demand"].offer.price == "0.3"


def test_machines_of_one_name_are_told_apart(small: Catalog) -> None:
    names = {name for provider, name in small.instance_types() if provider in ("cudocompute", "paperspace")}
    assert names == {"1xA4000-2vcpu-4gb", "1xA4000-4vcpu-8gb", "1xV100-16GB", "1xV100-32GB"}
    assert the(small.offers(), "1xA4000-2vcpu-4gb").price == "0.32"


def test_memory_and_shares_are_mended(small: Catalog) -> None:
    types = small.instance_types()
    assert types["vast", "8x-H100_SXM-32-65536"].memory_gib_per_gpu == 80
    assert types["fluidstack", "8xH100"].memory_gib_per_gpu == 80
    sixth = types["azure", "Standard_NV6ads_A10_v5"]
    assert sixth.num_gpus == pytest.approx(1 / 6)
    assert sixth.memory_gib_per_gpu == pytest.approx(4)


def test_regions_can_be_typed(small: Catalog) -> None:
    assert small.regions()["vast"] == ["us-unstated", "vn-vietnam"]
    assert small.regions()["fluidstack"] == ["any"]


def test_an_accelerator_nobody_knows_is_kept_unranked_and_reported(small: Catalog, built: tuple[Path, str]) -> None:
    machine = small.instance_types()["runpod", "1xH900"]
    assert (machine.accelerator, machine.memory_gib_per_gpu) == ("H900", 500)
    assert "not in the table" in machine.unranked
    assert the(small.offers(), "1xH900").price == "9"
    assert "unranked: runpod 1xH900" in built[1]


def test_networks_come_from_trusted_rows_only(small: Catalog) -> None:
    types = small.instance_types()
    p5, gb200 = types["aws", "p5.48xlarge"], types["aws", "p6e-gb200.36xlarge"]
    assert (p5.network_gbit_s, p5.rdma) == (3200, True)
    assert "stas00/ml-engineering" in p5.source
    assert "67007727601" not in p5.source
    assert (gb200.num_gpus, gb200.network, gb200.vcpus) == (4, "EFA v4", None)
    assert types["azure", "Standard_ND128isr_GB300_v6"].network == "InfiniBand XDR", "from the provider, not memory"


def test_reserved_prices_of_known_machines(small: Catalog) -> None:
    assert [(o.instance_type, o.price, o.zone) for o in small.offers(["reserved"])] == [("p5.48xlarge", "34.5", None)]


def test_measured_interruptions_leave_cpu_traces_of_aws_out(small: Catalog) -> None:
    found = small.interruptions()
    assert found.of("aws", "p5.48xlarge", "us-east-1").high_per_hour == pytest.approx(0.38)
    assert found.of("gcp", "any", "any").per_hour == pytest.approx(0.03)


def test_the_report_counts_faults(built: tuple[Path, str]) -> None:
    for line in ("per_gpu_price: 1", "minimum_of_spot_on_demand: 1", "not_a_price: 2", "two_prices_one_machine: 1"):
        assert line in built[1]


@pytest.mark.parametrize(
    ("offers", "problem"),
    [
        (f"aws,p5.48xlarge,H100,8,80,192,2048,us-east-1,,55.04,,{KARPENTER},in summer", "not a day"),
        (f"aws,p5.48xlarge,H100,8,80,192,2048,us-east-1,,55.04,,{KARPENTER},2031-01-01", "in the future"),
        ("aws,p5.48xlarge,H100,8,80,192,2048,us-east-1,,55.04,,hearsay,2026-07-20", "no source that starts like"),
        (
            f"x,big,H100,8,80,96,999,r,,9,,{KARPENTER},2026-07-20\nx,big,H200,8,80,96,999,r,,9,,{KARPENTER},2026-07-20",
            "is two machines",
        ),
    ],
)
def test_a_collection_that_cannot_be_right_writes_nothing(tmp_path: Path, offers: str, problem: str) -> None:
    done = build(collection(tmp_path / "shared", offers), tmp_path / "out")
    assert done.returncode == 1
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_missing_collection_is_one_sentence(tmp_path: Path) -> None:
    done = build(tmp_path / "nowhere", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("the snapshot cannot be built")
    assert "Traceback" not in done.stderr
