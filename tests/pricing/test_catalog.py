"""Opening snapshots, whole and broken, and what a front door asks of one."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pricing.catalog import PACKAGED, Catalog
from pricing.errors import PricingError, UnknownPlaceError, near_misses
from pricing.published import open_catalog


def emptied(tmp_path: Path, *tables: str) -> Path:
    """A copy of the snapshot without the rows of ``tables``."""
    path = tmp_path / "snapshot.sqlite"
    shutil.copyfile(PACKAGED, path)
    connection = sqlite3.connect(path)
    for table in tables:
        connection.execute(f"delete from {table}")
    connection.commit()
    connection.close()
    return path


def test_a_missing_snapshot_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PricingError, match=r"nothing\.sqlite is missing$"):
        open_catalog(tmp_path / "nothing.sqlite")


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, b"SQLite format 3\x00" + bytes(500)])
def test_a_corrupt_snapshot_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "snapshot.sqlite"
    path.write_bytes(content)
    with pytest.raises(PricingError, match="cannot be read") as raised:
        open_catalog(path)
    assert "\n" not in str(raised.value)


def test_a_truncated_snapshot_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.sqlite"
    path.write_bytes(PACKAGED.read_bytes()[:40_000])
    with pytest.raises(PricingError, match="cannot be read"):
        open_catalog(path).offers()


def test_a_directory_in_its_place_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PricingError, match="missing"):
        open_catalog(tmp_path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PricingError, match="has schema None"):
        open_catalog(emptied(tmp_path, "meta"))


def test_an_empty_snapshot_has_no_offers(tmp_path: Path) -> None:
    catalog = open_catalog(emptied(tmp_path, "offers", "provenances", "machines", "places"))
    assert catalog.offers() == []
    assert catalog.providers() == []


def test_a_path_with_special_characters_opens(tmp_path: Path) -> None:
    odd = tmp_path / "50% of #1 ?"
    odd.mkdir()
    path = odd / "snapshot.sqlite"
    shutil.copyfile(PACKAGED, path)
    assert open_catalog(path).providers() == open_catalog().providers()


def test_the_snapshot_is_never_written_to(catalog: Catalog) -> None:
    before = PACKAGED.stat()
    catalog.offers()
    assert [path.name for path in PACKAGED.parent.glob("snapshot.sqlite*")] == ["snapshot.sqlite"]
    assert PACKAGED.stat().st_mtime_ns == before.st_mtime_ns


@settings(max_examples=40, deadline=None)
@given(offset=st.integers(min_value=0), value=st.binary(min_size=1, max_size=64))
def test_damage_anywhere_is_a_sentence_or_harmless(offset: int, value: bytes) -> None:
    content = bytearray(PACKAGED.read_bytes())
    start = offset % (len(content) - len(value))
    content[start : start + len(value)] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.sqlite"
        path.write_bytes(bytes(content))
        with contextlib.suppress(PricingError):
            damaged = open_catalog(path)
            damaged.offers()
            damaged.instance_types()
            damaged.quarantined()
            damaged.sources()
            damaged.interruptions().of("aws", "p5.48xlarge", "us-east-1")


def test_only_the_purchases_asked_for_are_read(catalog: Catalog) -> None:
    assert {offer.purchase for offer in catalog.offers()} == {"on_demand", "spot"}
    reserved = catalog.offers(["reserved"])
    assert {offer.purchase for offer in reserved} == {"reserved"}
    assert all("commitment_1_year" in offer.flags for offer in reserved)


def test_offers_and_sources_agree(catalog: Catalog) -> None:
    sources = [source for source in catalog.sources() if source.offers]
    everything = catalog.offers(["on_demand", "spot", "reserved"])
    assert min(source.oldest for source in sources) == min(offer.price_as_of for offer in everything)
    assert max(source.newest for source in sources) == max(offer.price_as_of for offer in everything)
    assert sum(source.offers for source in sources) == len(everything)
    assert all(source.origin and source.licence for source in sources)


def test_regions_by_provider(catalog: Catalog) -> None:
    regions = catalog.regions()
    assert set(regions) == set(catalog.providers())
    assert "us-east-1" in regions["aws"]
    assert "us-central1" in regions["gcp"]
    assert not [region for known in regions.values() for region in known if "," in region or "(" in region]


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("us-*", ("us-*",)),
        ("US-EAST-1", ("us-east-1",)),
        (" eastus, europe-west4 ,", ("eastus", "europe-west4")),
        ("use1-az4", ("use1-az4",)),
        ("us-central1-a", ("us-central1-a",)),
        ("*", ("*",)),
    ],
)
def test_a_known_region_passes(catalog: Catalog, text: str, patterns: tuple[str, ...]) -> None:
    assert catalog.check_regions(text) == patterns


@pytest.mark.parametrize(
    ("text", "suggestion"), [("us-esat-1", "us-east-1"), ("us-*, europe-wets4", "europe-west4"), ("eastuss", "eastus")]
)
def test_an_unknown_region_gets_suggestions(catalog: Catalog, text: str, suggestion: str) -> None:
    with pytest.raises(UnknownPlaceError) as raised:
        catalog.check_regions(text)
    assert suggestion in raised.value.suggestions
    assert suggestion in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("text", ["", " , ", "moon-base-1"])
def test_a_region_like_no_other_gets_none(catalog: Catalog, text: str) -> None:
    with pytest.raises(UnknownPlaceError, match=r"^no prices for the region '[^']*'$"):
        catalog.check_regions(text)


def test_providers_are_checked(catalog: Catalog) -> None:
    assert catalog.check_provider("AWS") == "aws"
    with pytest.raises(UnknownPlaceError, match="did you mean azure"):
        catalog.check_provider("azzure")


def test_near_misses_keep_the_spelling_of_the_table() -> None:
    assert near_misses("LAMDA", ["lambda", "aws"]) == ["lambda"]


def test_opening_imports_neither_the_planner_nor_anything_heavy() -> None:
    code = (
        "import sys; from pricing.published import open_catalog; c = open_catalog(); c.offers(); c.instance_types();"
        "heavy = {'planner', 'numpy', 'pydantic', 'httpx', 'boto3', 'textual', 'statistics', 'csv'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGED.parents[2], check=True
    )
    assert done.stdout.strip() == "[]"
