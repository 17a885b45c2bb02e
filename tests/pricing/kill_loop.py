"""Refresh a store again and again in children that are killed at random; check the store after each.

    python kill_loop.py STORE KILLS

Goes on until KILLS children were killed before they were done, and prints how many, and the newest price found. Run as
a process of its own: it forks, so it must have one thread only.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pricing.http import Http
from pricing.offer import Offer
from pricing.providers.base import Found, Report
from tests.pricing.reading import laid_over, refresh, small
from tests.pricing.samples import OFFER, priced

REGIONS = tuple(f"xx-region-{number}" for number in range(4))
MACHINES = 30


class Region:
    """Every machine of a region at one price: a reading that was half written shows as two."""

    provider = "aws"
    feed = "kill loop"
    source = "AWS price list"
    purchases = ("on_demand",)
    is_whole = True

    def __init__(self, region: str, price: int, types: list[str]) -> None:
        self.region: str | None = region
        self._price = price
        self._types = types

    def covers(self, offer: Offer) -> bool:
        return offer.region == self.region

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        for machine in self._types:
            row = OFFER._replace(instance_type=machine, region=self.region or "", zone=None, price_as_of="2026-11-30")
            yield priced(row, str(self._price))


def check(store: Path, newest: int, least: dict[str, int]) -> None:
    """Whole regions only, never older than before; the view opens."""
    connection = sqlite3.connect(store)
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    found = connection.execute(
        "select region, count(*), min(cast(price as integer)), max(cast(price as integer)) from observed"
        " group by region"
    ).fetchall()
    history = connection.execute("select region, count(*) from history group by region, new_price").fetchall()
    connection.close()
    assert {region for region, _, _, _ in found} >= set(least), "a region was lost"
    for region, count, low, high in found:
        assert count == MACHINES, f"{region} has {count} rows"
        assert low == high, f"{region} is half written: {low} and {high}"
        assert least.get(region, 0) <= low <= newest, f"{region} went back from {least.get(region)} to {low}"
        least[region] = low
    assert {count for _, count in history} <= {MACHINES}, "a half-written history"
    view = laid_over(store)
    assert view.notices == ()
    assert sum(offer.region in REGIONS for offer in view.offers()) == MACHINES * len(found)


def main(store: Path, kills: int) -> None:
    chance = random.Random(1)
    types = [name for provider, name in small().instance_types() if provider == "aws"][:MACHINES]
    least: dict[str, int] = {}
    killed = 0
    refresh(small().path.with_name("first.sqlite"), Region(REGIONS[0], 1, types))  # imports what it needs
    started = time.monotonic()
    refresh(store, *(Region(region, 1, types) for region in REGIONS))
    whole_s = time.monotonic() - started
    number = 1
    while killed < kills:
        number += 1
        child = os.fork()
        if child == 0:
            refresh(store, *(Region(region, number, types) for region in REGIONS))
            os._exit(0)
        time.sleep(chance.uniform(0.0, whole_s))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        check(store, number, least)
    sys.stdout.write(f"{killed} {max(least.values())}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
