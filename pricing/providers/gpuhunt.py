"""Lambda, RunPod, Vast.ai and others through the gpuhunt library, which is an extra: gpuplanner[clouds].

gpuhunt names a GPU without its form factor. Where the machine's own name does not tell, the slower form factor is
taken and said. One of its names may stand for several machines: the count is put in front. Prices of a marketplace are
asks: the cheapest of each kind and place is kept, flagged. None of these feeds says whether a machine can be had.
"""

import asyncio
import csv
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from pricing import flags
from pricing.errors import FeedError, PricingError
from pricing.http import Http
from pricing.offer import InstanceType, Offer
from pricing.providers.base import Found, Known, Note, Progress, Report, name_of, offer_or_refusal

# Our name of a provider and gpuhunt's.
PROVIDERS = {
    "cloudrift": "cloudrift",
    "lambda": "lambdalabs",
    "nebius": "nebius",
    "oraclecloud": "oci",
    "runpod": "runpod",
    "vast": "vastai",
    "verda": "verda",
}
MARKETPLACES = frozenset({"vast"})
ABSENT = "prices of other clouds need the gpuhunt library: pip install 'gpuplanner[clouds]'"
ACCELERATORS = Path(__file__).parent.parent / "data" / "gpuhunt_accelerators.csv"
SILENCE_S = 30.0


class Item(NamedTuple):
    """What is used of gpuhunt's CatalogItem; the price is of the whole instance."""

    instance_name: str
    location: str
    price: float
    cpu: int | None
    memory: float | None
    gpu_count: int
    gpu_name: str | None
    gpu_memory: float | None
    spot: bool


Load = Callable[[str], Iterable[Item]]


class GpuHunt:
    """All machines of one provider as gpuhunt knows them."""

    region = None
    purchases = ("on_demand", "spot")
    is_whole = True

    def __init__(self, provider: str, known: Known, load: Load | None = None) -> None:
        self.provider = provider
        self.feed = f"{provider} (gpuhunt)"
        self.source = f"{provider} prices (gpuhunt)"
        self._known = known
        self._load = load or load_items

    def covers(self, offer: Offer) -> bool:
        return offer.price_source == self.source

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        items = list(await asyncio.to_thread(self._load, PROVIDERS[self.provider]))
        report(Progress(name_of(self), 1, 1, "pages"))
        counts = _counts(items)
        cheapest: dict[tuple[str | None, ...], Offer] = {}
        unreadable = 0
        for item in items:
            try:
                machine = self._machine(item, len(counts[item.instance_name]) > 1)
                found = self._offer(item, machine)
            except (TypeError, ValueError, AttributeError):
                unreadable += 1
                continue
            yield machine
            if isinstance(found, Offer):
                held = cheapest.setdefault(found[:5], found)
                if found.usd_per_hour < held.usd_per_hour:
                    cheapest[found[:5]] = found
            else:
                yield found
        for offer in cheapest.values():
            yield offer
        if unreadable:
            yield Note(f"{unreadable} machines are not described as documented")

    def _machine(self, item: Item, several: bool) -> InstanceType:
        """The table's machine of this name, or one from what gpuhunt says of it."""
        name = self._name(item, several)
        known = self._known.types.get((self.provider, name))
        if known is not None:
            return known
        accelerator, assumed = accelerator_of(item)
        count = float(item.gpu_count)
        return InstanceType(
            provider=self.provider,
            instance_type=name,
            accelerator=accelerator or (item.gpu_name or "" if count else ""),
            num_gpus=count,
            memory_gib_per_gpu=float(item.gpu_memory) if count and item.gpu_memory else None,
            link="none" if count <= 1 else "",
            network_gbit_s=None,
            network="",
            vcpus=float(item.cpu) if item.cpu else None,
            cpu="",
            memory_gib=float(item.memory) if item.memory else None,
            local_disk_gb=None,
            unranked="" if accelerator or not count else f"the accelerator {item.gpu_name!r} is not in our table",
            source="gpuhunt" + ("; the form factor is not said: the slower one is taken" if assumed else ""),
        )

    def _name(self, item: Item, several: bool) -> str:
        if self.provider in MARKETPLACES:
            return f"{item.gpu_count}x-{item.gpu_name}"
        return f"{item.gpu_count}x-{item.instance_name}" if several else item.instance_name

    def _offer(self, item: Item, machine: InstanceType) -> Found:
        marks = [flags.AVAILABILITY_UNKNOWN]
        if self.provider in MARKETPLACES:
            marks.append(flags.MARKETPLACE_ASK)
        region = "-".join(item.location.lower().replace(",", " ").split()) or "any"
        purchase = "spot" if item.spot else "on_demand"
        place = (region, None)
        return offer_or_refusal(
            self.provider, machine.instance_type, place, purchase, item.price, self._known, self.source, marks
        )


def _counts(items: Iterable[Item]) -> dict[str, set[int]]:
    """How many accelerators the machines of each name have."""
    counts: dict[str, set[int]] = {}
    for item in items:
        counts.setdefault(item.instance_name, set()).add(item.gpu_count)
    return counts


def accelerator_of(item: Item) -> tuple[str, bool]:
    """The key of the accelerator, '' where it is in no table, and whether its form factor is assumed."""
    rows = [row for row in _accelerators() if row[0] == item.gpu_name and abs(row[1] - (item.gpu_memory or 0)) <= 2]
    name = item.instance_name.lower()
    for _, _, words, key in rows:
        if words and words in name:
            return key, False
    if not rows:
        return "", False
    return rows[-1][3], len(rows) > 1 and "pcie" not in name


@cache
def _accelerators() -> list[tuple[str, float, str, str]]:
    try:
        with ACCELERATORS.open(encoding="utf-8", newline="") as file:
            return [
                (row["gpu_name"], float(row["memory_gib"]), row["words"], row["accelerator"])
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError) as error:
        raise PricingError(f"the table of accelerators {ACCELERATORS} cannot be read: {error}") from error


def is_installed() -> bool:
    """Whether the extra is there, without importing it."""
    from importlib.util import find_spec

    return find_spec("gpuhunt") is not None


def load_items(provider: str) -> list[Item]:
    """Every item of one of gpuhunt's providers. Raises FeedError where the library or its data cannot be had.

    With GPUHUNT_CATALOG_DIR its catalogues are read from there and the network is left alone; by itself the library
    would still go there.
    """
    try:
        gpuhunt = import_module("gpuhunt")
    except ImportError:
        raise FeedError(ABSENT) from None
    logging.getLogger("gpuhunt").addHandler(logging.NullHandler())
    catalog = gpuhunt.Catalog(balance_resources=False, auto_reload=False)
    try:
        with _bounded_sockets():
            if provider == "vastai":
                catalog.add_provider(import_module("gpuhunt.providers.vastai").VastAIProvider.from_env())
            elif "GPUHUNT_CATALOG_DIR" not in os.environ:
                catalog.load()
                if provider not in catalog.catalog:
                    raise FeedError(f"gpuhunt: the catalogue of {provider} cannot be had")
            found = catalog.query(provider=provider)
        return [Item._make(getattr(item, name) for name in Item._fields) for item in found]
    except FeedError:
        raise
    except Exception as error:
        raise FeedError(f"gpuhunt: the catalogue of {provider} cannot be read ({type(error).__name__})") from None


@contextmanager
def _bounded_sockets() -> Iterator[None]:
    """The library sets no timeout of its own: none of its sockets may stay silent for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENCE_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
