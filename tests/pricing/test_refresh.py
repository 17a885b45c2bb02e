"""A refresh: everything read at once, what failed kept apart, what changed told, and nothing lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pricing import flags
from pricing.catalog import Catalog
from pricing.http import Http
from pricing.offer import InstanceType, Offer
from pricing.providers.base import Found, Known, Mark, Progress, Report
from pricing.refresh import Refresher, what_is_known
from pricing.sanity import PURCHASES, breaches
from pricing.store import open_store
from tests.pricing.conftest import NOW
from tests.pricing.feeds import (
    AZURE,
    KEY,
    SKUS,
    bulk_path,
    serve_all,
    serve_aws,
    serve_azure,
    serve_gcp,
    sources,
)
from tests.pricing.loopback import Loopback, Reply, json_reply
from tests.pricing.payloads import azure_item, azure_page, bulk_file, bulk_row
from tests.pricing.reading import QUICK, laid_over, plain_transport, refresh, small
from tests.pricing.samples import MACHINE, OFFER, priced

T4 = ("aws", "g4dn.xlarge", "us-east-1")


def offer_of(store: Path, provider: str, machine: str, region: str, purchase: str = "on_demand") -> Offer:
    return next(
        offer
        for offer in laid_over(store).offers(PURCHASES)
        if offer[:3] == (provider, machine, region) and offer.purchase == purchase
    )


class Stated:
    """A source that yields what it was given."""

    provider = "aws"
    feed = "stated"
    source = "stated"
    region: str | None = "us-east-1"
    purchases: tuple[str, ...] = ("on_demand",)
    is_whole = True

    def __init__(self, *found: Found | Exception) -> None:
        self._found = found

    def covers(self, offer: Offer) -> bool:
        return offer.region == self.region

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        for each in self._found:
            if isinstance(each, Exception):
                raise each
            yield each


def test_all_feeds_at_once(server: Loopback, known: Known, tmp_path: Path) -> None:
    serve_all(server)
    store = tmp_path / "prices.sqlite"
    summary = refresh(store, *sources(server, known))
    assert summary.is_complete
    assert offer_of(store, *T4).price == "0.6"
    assert offer_of(store, *T4, "spot").price == "0.2"
    assert offer_of(store, "azure", "Standard_NC24ads_A100_v4", "eastus").price == "4"
    assert offer_of(store, "gcp", "a2-highgpu-1g", "us-central1").price_as_of == "2026-11-30"
    changed = {
        (change.instance_type, change.region): (change.old_price, change.new_price) for change in summary.changes
    }
    assert changed["g4dn.xlarge", "us-east-1"] in (("0.526", "0.6"), ("", "0.2"))
    assert changed["Standard_NC24ads_A100_v4", "eastus"] == ("3.673", "4")
    assert laid_over(store).interruptions().of("aws", "g4dn.xlarge", "us-east-1").as_of == "2026-11-30"


def test_thirty_seven_and_fifty_seven(server: Loopback, catalog: Catalog, known: Known, tmp_path: Path) -> None:
    """30 AWS regions, 7 GCP pages and 57 Azure regions, and the invariants on everything that comes of it."""
    regions = catalog.regions()
    aws = (*(region for region in regions["aws"] if not region.startswith("us-gov")),)[:30]
    aws += tuple(f"xx-new-{number}" for number in range(30 - len(aws)))
    azure = (*regions["azure"], *(f"newregion{number}" for number in range(57 - len(regions["azure"]))))
    serve_aws(server, *aws)
    serve_gcp(server, 7, ("us-central1", "us-east1", "europe-west4"))
    serve_azure(server, 2)
    store = tmp_path / "prices.sqlite"
    summary = refresh(store, *sources(server, known, aws, azure))
    assert summary.is_complete
    assert len(summary.outcomes) == 2 + 30 + 57 + 1
    assert server.count(SKUS) == 7
    assert server.count(AZURE) == 57 * 2
    refreshed = laid_over(store)
    offers = refreshed.offers(PURCHASES)
    assert breaches(offers, refreshed.instance_types(), NOW.date()) == []
    today = [offer for offer in offers if offer.price_as_of == "2026-11-30"]
    assert {offer.region for offer in today if offer.provider == "azure"} == set(azure)
    assert {offer.region for offer in today if offer.provider == "aws"} == set(aws)


def test_one_failure_stops_nobody_else(server: Loopback, known: Known, tmp_path: Path) -> None:
    """gpuhunt#251: one provider that failed blocked all catalogues."""
    serve_all(server)
    del server.answers[AZURE]
    store = tmp_path / "prices.sqlite"
    summary = refresh(store, *sources(server, known))
    (failed,) = [outcome for outcome in summary.outcomes if outcome.problem]
    assert failed.source == "azure retail prices eastus"
    assert "404" in failed.problem
    assert not summary.is_complete
    assert offer_of(store, *T4).price == "0.6"
    assert offer_of(store, "azure", "Standard_NC24ads_A100_v4", "eastus").price == "3.673"
    with open_store(store) as opened:
        assert [reading.problem for reading in opened.readings() if reading.provider == "azure"] == [failed.problem]


def test_a_fault_of_ours_is_one_source_s_problem(tmp_path: Path) -> None:
    summary = refresh(tmp_path / "prices.sqlite", Stated(KeyError("sku")), Stated(priced(OFFER, "20")))
    assert [outcome.problem for outcome in summary.outcomes] == ["the feed is not as expected (KeyError: 'sku')", ""]


def test_no_network_is_found_out_once_a_provider(tmp_path: Path) -> None:
    from pricing.errors import OfflineError

    calls = []

    class Far(Stated):
        async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
            calls.append(1)
            if calls:
                raise OfflineError("no network")
            yield Mark("")

    started = time.monotonic()
    summary = refresh(tmp_path / "prices.sqlite", *(Far() for _ in range(50)))
    assert {outcome.problem for outcome in summary.outcomes} == {"no network"}
    assert len(calls) <= 4
    assert time.monotonic() - started < 10


def test_what_breaks_an_invariant_is_set_apart_and_the_last_good_price_stays(
    server: Loopback, known: Known, tmp_path: Path
) -> None:
    store = tmp_path / "prices.sqlite"
    serve_all(server)
    refresh(store, *sources(server, known, gcp=False))
    server.answers[AZURE] = lambda request: json_reply(
        azure_page([azure_item(retailPrice=0.0), azure_item(armSkuName="Standard_ND96_Rubin_v7")])
    )
    summary = refresh(store, *sources(server, known, gcp=False))
    assert summary.is_complete
    azure = next(outcome for outcome in summary.outcomes if outcome.provider == "azure")
    assert azure.quarantined == 2
    row = offer_of(store, "azure", "Standard_NC24ads_A100_v4", "eastus")
    assert (row.price, row.flags) == ("4", ())
    reasons = {
        row.offer.instance_type: row.reason
        for row in laid_over(store).quarantined()
        if row.offer.price_as_of == "2026-11-30"
    }
    assert "no price above zero" in reasons["Standard_NC24ads_A100_v4"]
    assert "not in the table" in reasons["Standard_ND96_Rubin_v7"]


def test_what_is_not_seen_again_is_kept_and_flagged(server: Loopback, known: Known, tmp_path: Path) -> None:
    """skypilot#2780: a type that vanished from the list crashed a report that still needed its price."""
    store = tmp_path / "prices.sqlite"
    serve_all(server)
    refresh(store, *sources(server, known))
    server.answers[bulk_path("us-east-1")] = lambda request: Reply(bulk_file(bulk_row()))
    summary = refresh(store, *sources(server, known))
    assert summary.is_complete
    row = offer_of(store, *T4)
    assert (row.price, row.flags) == ("0.6", (flags.NOT_SEEN,))
    serve_all(server)
    refresh(store, *sources(server, known))
    assert offer_of(store, *T4).flags == ()


def test_an_empty_but_whole_answer_is_complete(server: Loopback, known: Known, tmp_path: Path) -> None:
    """Whatever the number of rows: a page with none, read to its end, is an answer."""
    store = tmp_path / "prices.sqlite"
    serve_all(server)
    server.answers[AZURE] = lambda request: json_reply(azure_page([]))
    summary = refresh(store, *sources(server, known))
    assert summary.is_complete
    row = offer_of(store, "azure", "Standard_NC24ads_A100_v4", "eastus")
    assert (row.price, row.flags) == ("3.673", (flags.NOT_SEEN,))


def test_an_indicative_feed_flags_only_its_own_rows(server: Loopback, known: Known, tmp_path: Path) -> None:
    """The public spot file lists few machines; the zonal spot prices of others are not called gone."""
    store = tmp_path / "prices.sqlite"
    serve_all(server)
    refresh(store, *sources(server, known))
    assert flags.NOT_SEEN not in offer_of(store, "aws", "p5.48xlarge", "us-east-1", "spot").flags


def test_a_file_that_has_not_changed_is_not_read_again(server: Loopback, known: Known, tmp_path: Path) -> None:
    store = tmp_path / "prices.sqlite"
    serve_all(server)
    content = bulk_file(bulk_row(Instance_Type="g4dn.xlarge", PricePerUnit="0.6"))
    server.answers[bulk_path("us-east-1")] = lambda request: (
        Reply(b"", 304) if request.headers.get("If-None-Match") else Reply(content, headers={"ETag": '"1"'})
    )
    refresh(store, *sources(server, known))
    with open_store(store) as opened:
        opened._connection.execute("update observed set price_as_of = '2026-11-01'")
    summary = refresh(store, *sources(server, known))
    (same,) = [outcome for outcome in summary.outcomes if outcome.unchanged]
    assert same.source == "aws price list us-east-1"
    assert summary.is_complete
    assert offer_of(store, *T4).price_as_of == "2026-11-30"


def test_a_file_that_broke_off_once_is_read_from_the_start(server: Loopback, known: Known, tmp_path: Path) -> None:
    serve_all(server)
    whole = bulk_file(bulk_row(Instance_Type="g4dn.xlarge", PricePerUnit="0.6"))
    replies = [Reply(whole, fault="broken off"), Reply(whole)]
    server.answers[bulk_path("us-east-1")] = lambda request: replies.pop(0)
    summary = refresh(tmp_path / "prices.sqlite", *sources(server, known))
    assert summary.is_complete
    assert replies == []


def test_two_prices_for_one_place_are_one_and_a_quarantined_one(tmp_path: Path) -> None:
    summary = refresh(tmp_path / "prices.sqlite", Stated(priced(OFFER, "20"), priced(OFFER, "30")))
    (outcome,) = summary.outcomes
    assert (outcome.offers, outcome.quarantined) == (1, 1)
    assert outcome.notes == ("1 set apart: a second price for the same place",)


def test_live_machines_are_known_before_their_prices_are_judged(tmp_path: Path) -> None:
    new: InstanceType = MACHINE._replace(instance_type="p9.48xlarge")
    price = priced(OFFER._replace(instance_type="p9.48xlarge"), "99")
    store = tmp_path / "prices.sqlite"
    summary = refresh(store, Stated(new, price))
    assert summary.outcomes[0].offers == 1
    assert offer_of(store, "aws", "p9.48xlarge", "us-east-1").price == "99"


def test_machines_are_read_before_the_prices_that_need_them(tmp_path: Path) -> None:
    new: InstanceType = MACHINE._replace(instance_type="p9.48xlarge")
    facts = Stated(new)
    facts.purchases = ()
    price = priced(OFFER._replace(instance_type="p9.48xlarge"), "99")
    summary = refresh(tmp_path / "prices.sqlite", Stated(price), facts)
    assert [(outcome.offers, outcome.quarantined) for outcome in summary.outcomes] == [(0, 0), (1, 0)]


def test_the_key_is_in_no_report_and_no_file(server: Loopback, known: Known, tmp_path: Path) -> None:
    serve_all(server)
    server.answers[SKUS] = lambda request: Reply(b"", 403)
    store = tmp_path / "prices.sqlite"
    summary = refresh(store, *sources(server, known), secrets=(KEY,))
    assert any(request.query.get("key") == KEY for request in server.requests)
    assert KEY not in str(summary)
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_progress_reaches_its_end(server: Loopback, known: Known, tmp_path: Path) -> None:
    serve_all(server)
    last: dict[str, Progress] = {}

    async def whole() -> None:
        packaged = small()
        with open_store(tmp_path / "prices.sqlite") as store:
            async with Http(QUICK, transport=plain_transport()) as http:
                refresher = Refresher(store, packaged, what_is_known(packaged, NOW), http, NOW)
                await refresher.run(sources(server, known), lambda progress: last.update({progress.source: progress}))

    asyncio.run(whole())
    assert {name: each.done == each.total for name, each in last.items()} == dict.fromkeys(last, True)
    assert len(last) == 5


def test_a_refresh_can_be_cancelled_and_keeps_what_was_read(server: Loopback, known: Known, tmp_path: Path) -> None:
    serve_all(server)
    server.silence_s = 5
    server.answers[AZURE] = lambda request: Reply(b"{}", fault="silent before the answer")
    store = tmp_path / "prices.sqlite"

    async def whole() -> None:
        packaged = small()
        with open_store(store) as opened:
            async with Http(QUICK._replace(silence_s=4), transport=plain_transport()) as http:
                refresher = Refresher(opened, packaged, what_is_known(packaged, NOW), http, NOW)
                task = asyncio.create_task(refresher.run(sources(server, known), lambda progress: None))
                await asyncio.sleep(1.5)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    started = time.monotonic()
    asyncio.run(whole())
    assert time.monotonic() - started < 4
    assert offer_of(store, *T4).price == "0.6"
