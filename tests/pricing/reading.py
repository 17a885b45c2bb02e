"""Reading one source from a loopback server, with limits that suit a test."""

from __future__ import annotations

import asyncio
import sqlite3
import ssl
import tempfile
from functools import cache
from pathlib import Path

import httpx

from pricing.catalog import Catalog
from pricing.http import Http, Limits
from pricing.offer import Offer
from pricing.providers.base import Found, Progress, Source
from pricing.published import open_catalog
from pricing.refresh import Refresher, Summary, what_is_known
from pricing.sanity import PURCHASES
from pricing.store import open_store
from pricing.tables import SCHEMA, Contents, fill
from tests.pricing.conftest import NOW

QUICK = Limits(
    connect_s=1.0, silence_s=0.3, grace_s=0.5, least_bytes_per_s=1000.0, tries=2, first_wait_s=0.01, longest_wait_s=0.5
)


_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_REGIONS = ("us-east-1", "us-east-2", "eastus", "us-central1")


def plain_transport() -> httpx.AsyncHTTPTransport:
    """httpx's own transport without loading a list of certificates, which takes longer than most tests."""
    return httpx.AsyncHTTPTransport(verify=_NO_CERTIFICATES)


@cache
def small() -> Catalog:
    """A snapshot with the shipped GPU rows of four regions: a refresh over it takes a tenth of the time."""
    shipped = open_catalog()
    types = shipped.instance_types()
    path = Path(tempfile.mkdtemp(prefix="gpuplanner-test-")) / "snapshot.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    contents = Contents(
        offers=[offer for offer in shipped.offers(PURCHASES) if offer.region in _REGIONS and types[offer[:2]].num_gpus],
        types=types.values(),
        quarantined=(),
        sources=shipped.rows("sources"),
        interruptions=shipped.rows("interruptions"),
        measured=shipped.rows("measured_interruptions"),
        meta=dict(shipped.rows("meta")),
    )
    fill(connection, contents)
    connection.commit()
    connection.close()
    return open_catalog(path)


def laid_over(store: Path) -> Catalog:
    """The small snapshot under the store's prices."""
    return open_catalog(small().path, store=store)


def read(source: Source, limits: Limits = QUICK, secrets: tuple[str, ...] = ()) -> list[Found]:
    """Everything the source yields. Raises what it raises."""

    async def whole() -> list[Found]:
        async with Http(limits, secrets, plain_transport()) as http:
            return [found async for found in source.read(http, lambda progress: None, "")]

    return asyncio.run(whole())


def prices(found: list[Found]) -> dict[tuple[str, str], str]:
    """Prices by machine and purchase of what was read of one region."""
    return {(each.instance_type, each.purchase): each.price for each in found if isinstance(each, Offer)}


def refresh(store: Path, *sources: Source, secrets: tuple[str, ...] = (), limits: Limits = QUICK) -> Summary:
    """One refresh of the store over the packaged snapshot; sources are read as they are."""

    async def whole() -> Summary:
        packaged = small()
        with open_store(store) as opened:
            async with Http(limits, secrets, plain_transport()) as http:
                known = what_is_known(packaged, NOW)
                return await Refresher(opened, packaged, known, http, NOW).run(sources, _ignore)

    return asyncio.run(whole())


def _ignore(progress: Progress) -> None:
    assert progress.done >= 0
