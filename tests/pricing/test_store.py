"""The store: what is laid over the snapshot, what survives, and what damage looks like."""

from __future__ import annotations

import multiprocessing
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pricing import flags
from pricing.catalog import PACKAGED, Catalog
from pricing.errors import PricingError
from pricing.offer import Offer, Quarantined
from pricing.published import open_catalog
from pricing.sanity import PURCHASES
from pricing.store import Observation, Store, known_prices, open_store
from pricing.store_file import StoreError
from tests.pricing.reading import laid_over, small
from tests.pricing.samples import MACHINE, OFFER, priced

SEEN = "2026-11-30T10:00:00+00:00"
T4 = OFFER._replace(instance_type="g4dn.xlarge", zone=None, price_as_of="2026-11-30", price_source="AWS price list")


def observation(*offers: Offer, seen_at: str = SEEN, region: str = "us-east-1") -> Observation:
    return Observation("aws price list", "aws", region, seen_at, offers)


def refreshed(path: Path, *seen: Observation) -> Catalog:
    with open_store(path) as store:
        for each in seen:
            store.apply(each, {})
        store.publish(small())
    return laid_over(path)


def price_of(catalog: Catalog, instance_type: str, region: str, purchase: str = "on_demand") -> dict[str | None, Offer]:
    return {
        offer.zone: offer
        for offer in catalog.offers(PURCHASES)
        if (offer.instance_type, offer.region, offer.purchase) == (instance_type, region, purchase)
    }


def test_without_a_store_the_snapshot_answers(tmp_path: Path) -> None:
    assert open_catalog(store=tmp_path / "none.sqlite").path == PACKAGED


def test_a_newer_observation_wins_and_the_rest_stays(tmp_path: Path) -> None:
    catalog = refreshed(tmp_path / "prices.sqlite", observation(priced(T4, "0.6")))
    assert price_of(catalog, "g4dn.xlarge", "us-east-1")[None].price == "0.6"
    assert price_of(catalog, "g4dn.xlarge", "us-east-2")[None].price == "0.526"
    assert len(catalog.offers()) == len(small().offers())
    assert catalog.notices == ()


def test_an_older_observation_loses_to_the_snapshot(tmp_path: Path) -> None:
    old = priced(T4, "0.6")._replace(price_as_of="2020-01-01")
    catalog = refreshed(tmp_path / "prices.sqlite", observation(old))
    assert price_of(catalog, "g4dn.xlarge", "us-east-1")[None].price == "0.526"


def test_a_regional_price_goes_to_every_zone_but_no_local_zone(tmp_path: Path) -> None:
    """The rule of a regional price: zones known to sell the machine, never an outpost with prices of its own."""
    p5 = priced(T4._replace(instance_type="p5.48xlarge"), "44.0")
    rows = price_of(refreshed(tmp_path / "prices.sqlite", observation(p5)), "p5.48xlarge", "us-east-1")
    assert {zone: row.price for zone, row in rows.items()} == {
        "us-east-1-atl-1": "55.04",
        "use1-atl2-az1": "55.04",
        **{f"use1-az{number}": "44.0" for number in range(1, 7)},
    }


def test_a_zonal_price_of_the_same_day_beats_a_regional_one(tmp_path: Path) -> None:
    spot = T4._replace(purchase="spot")
    seen = observation(priced(spot, "0.2"), priced(spot._replace(zone="use1-az2"), "0.3"))
    rows = price_of(refreshed(tmp_path / "prices.sqlite", seen), "g4dn.xlarge", "us-east-1", "spot")
    assert {zone: row.price for zone, row in rows.items()} == {"use1-az2": "0.3"}


def test_the_later_of_two_observations_wins_whatever_the_order(tmp_path: Path) -> None:
    late = observation(priced(T4, "0.7"), seen_at="2026-11-30T12:00:00+00:00")
    early = observation(priced(T4, "0.6"))
    for number, order in enumerate([(late, early), (early, late)]):
        catalog = refreshed(tmp_path / f"{number}.sqlite", *order)
        assert price_of(catalog, "g4dn.xlarge", "us-east-1")[None].price == "0.7"


def test_a_change_is_remembered_with_what_was_known(tmp_path: Path) -> None:
    with open_store(tmp_path / "prices.sqlite") as store:
        known = known_prices(small().offers(PURCHASES))
        changes = store.apply(observation(priced(T4, "0.6")), known)
        assert [(change.old_price, change.new_price) for change in changes] == [("0.526", "0.6")]
        assert store.apply(observation(priced(T4, "0.5260")), known) == []
        assert store.history() == changes
        assert store.history(since="2026-12-01") == []
        assert store.last_refresh() == SEEN


def test_a_regional_price_is_compared_with_its_zones() -> None:
    zones = [priced(OFFER, "5")._replace(zone=f"use1-az{number}") for number in (1, 2)]
    assert known_prices(zones)["aws", OFFER.instance_type, "us-east-1", None, "on_demand"] == "5"
    zones[1] = priced(zones[1], "6")
    assert ("aws", OFFER.instance_type, "us-east-1", None, "on_demand") not in known_prices(zones)


def test_not_seen_again_is_kept_with_a_flag(tmp_path: Path) -> None:
    gone = T4._replace(flags=(flags.NOT_SEEN,), price_as_of="2026-07-20")
    seen = observation()._replace(vanished=[gone])
    row = price_of(refreshed(tmp_path / "prices.sqlite", seen), "g4dn.xlarge", "us-east-1")[None]
    assert (row.price, row.price_as_of, row.flags) == (T4.price, "2026-07-20", (flags.NOT_SEEN,))


def test_refused_rows_and_live_facts_are_shown(tmp_path: Path) -> None:
    refused = Quarantined(priced(T4._replace(region="us-west-2"), "-1"), "T4", 1.0, "no price above zero")
    seen = observation()._replace(
        quarantined=[refused],
        types=[MACHINE._replace(instance_type="p9.xlarge")],
        steps=[("us-east-1", "g4dn.xlarge", 4)],
    )
    catalog = refreshed(tmp_path / "prices.sqlite", seen)
    assert refused in catalog.quarantined()
    assert catalog.instance_types()["aws", "p9.xlarge"].accelerator == "A100-40GB-SXM"
    assert catalog.interruptions().of("aws", "g4dn.xlarge", "us-east-1").as_of == "2026-11-30"


def test_confirming_dates_the_rows_anew_and_failing_keeps_them(tmp_path: Path) -> None:
    with open_store(tmp_path / "prices.sqlite") as store:
        store.apply(observation(priced(T4, "0.6"))._replace(etag='"1"'), {})
        assert store.etag("aws price list", "us-east-1") == '"1"'
        assert store.confirm("aws price list", "aws", "us-east-1", "2026-12-05T00:00:00+00:00") == 1
        store.note_failure("aws price list", "aws", "us-east-1", "2026-12-06T00:00:00+00:00", "timed out")
        store.note_failure("azure", "azure", "eastus", "2026-12-06T00:00:00+00:00", "no route")
        store.publish(small())
        aws, azure = store.readings()
        assert (aws.read_at[:10], aws.problem, aws.offers) == ("2026-12-05", "timed out", 1)
        assert (azure.read_at, azure.problem) == ("", "no route")
    row = price_of(laid_over(tmp_path / "prices.sqlite"), "g4dn.xlarge", "us-east-1")[None]
    assert (row.price, row.price_as_of) == ("0.6", "2026-12-05")


def test_history_ends_after_a_year_and_a_bit(tmp_path: Path) -> None:
    with open_store(tmp_path / "prices.sqlite") as store:
        store.apply(observation(priced(T4, "0.6"), seen_at="2025-01-01T00:00:00+00:00"), {})
        store.apply(observation(priced(T4, "0.7")), {})
        assert [change.new_price for change in store.history()] == ["0.7"]


def test_what_was_applied_but_not_published_shows_anyway(tmp_path: Path) -> None:
    """A process killed between the two leaves a view that is behind: opening brings it up to date."""
    path = tmp_path / "prices.sqlite"
    with open_store(path) as store:
        store.apply(observation(priced(T4, "0.6")), {})
    assert price_of(laid_over(path), "g4dn.xlarge", "us-east-1")[None].price == "0.6"


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    refreshed(tmp_path / "cache" / "prices.sqlite", observation(priced(T4, "0.6")))
    for path in (tmp_path / "cache").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


DAMAGE: dict[str, Callable[[Path], object]] = {
    "not a database": lambda path: path.write_bytes(b"<html>captive portal</html>" * 100),
    "header only": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "cut in the middle": lambda path: path.write_bytes(path.read_bytes()[:60_000]),
    "pages overwritten": lambda path: path.write_bytes(
        path.read_bytes()[:4096] + b"\xa5" * (path.stat().st_size - 8192) + path.read_bytes()[-4096:]
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_store_is_set_aside_and_the_snapshot_answers(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = tmp_path / "prices.sqlite"
    refreshed(path, observation(priced(T4, "0.6")))
    damage(path)
    catalog = laid_over(path)
    assert price_of(catalog, "g4dn.xlarge", "us-east-1")[None].price == "0.526"
    assert len(catalog.notices) == 1
    assert "damaged" in catalog.notices[0]
    assert [kept.name for kept in tmp_path.iterdir() if "damaged" in kept.name]
    with open_store(path) as store:
        assert store.readings() == []


def test_values_that_are_not_prices_count_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    refreshed(path, observation(priced(T4, "0.6")))
    connection = sqlite3.connect(path)
    connection.execute("update observed set price = 'x'")
    connection.execute("update observations set count = 99")
    connection.commit()
    connection.close()
    assert "damaged" in laid_over(path).notices[0]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    path.touch()
    assert laid_over(path).notices == ()


def test_tables_of_another_program_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("create table songs (title text)")
    connection.commit()
    connection.close()
    with open_store(path) as store:
        assert len(store.notices) == 1


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    refreshed(path, observation(priced(T4, "0.6")))
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.execute("update observations set count = 99")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="another version"):
        open_store(path)
    catalog = laid_over(path)
    assert "another version" in catalog.notices[0]
    assert path.exists()


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(tmp_path / "file" / "prices.sqlite")


def test_half_a_transaction_is_no_transaction(tmp_path: Path) -> None:
    with open_store(tmp_path / "prices.sqlite") as store:
        broken = observation(priced(T4, "0.6"))._replace(steps=[("us-east-1", "g4dn.xlarge", None)] * 2)  # type: ignore[list-item]
        with pytest.raises(sqlite3.Error):
            store.apply(broken, {})
        assert store.history() == []
        assert store.readings() == []


def _apply_many(path: Path, region: str) -> None:
    with open_store(path) as store:
        for number in range(20):
            rows = [priced(T4, f"0.{number + 1}")._replace(instance_type=f"g4dn.{size}") for size in range(20)]
            store.apply(observation(*(row._replace(region=region) for row in rows), region=region), {})
        store.publish(small())


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_apply_many, args=(path, region)) for region in ("us-east-1", "us-west-2")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    with open_store(path) as store:
        assert {(reading.region, reading.offers) for reading in store.readings()} == {
            ("us-east-1", 20),
            ("us-west-2", 20),
        }
        assert len(store.history()) == 2 * 20 * 20


def test_a_snapshot_that_cannot_be_read_is_still_an_error(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    refreshed(path, observation(priced(T4, "0.6")))
    broken = tmp_path / "snapshot.sqlite"
    broken.write_bytes(b"nothing")
    with pytest.raises(PricingError):
        open_catalog(broken, store=path)


def test_a_store_is_closed_after_use(tmp_path: Path) -> None:
    with open_store(tmp_path / "prices.sqlite") as store:
        assert isinstance(store, Store)
    with pytest.raises(sqlite3.ProgrammingError):
        store.readings()
