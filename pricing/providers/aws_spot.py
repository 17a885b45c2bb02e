"""The public AWS spot feeds: how often spot machines are interrupted, and an indicative price by region.

The advisor's savings percentages are left alone: no price in dollars is made from a percentage.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

from pricing import flags
from pricing.errors import FeedError
from pricing.http import Http, parse_json
from pricing.offer import Offer
from pricing.providers.base import (
    Found,
    Known,
    Mark,
    Progress,
    Report,
    Step,
    members,
    name_of,
    offer_or_refusal,
    text_of,
)

PROVIDER = "aws"
SOURCE = "AWS public spot prices"
STEPS = 5

# The price file is older than the names of these regions.
_REGION_NAMES = {
    "us-east": "us-east-1",
    "us-west": "us-west-1",
    "eu-ireland": "eu-west-1",
    "apac-sin": "ap-southeast-1",
    "apac-syd": "ap-southeast-2",
    "apac-tokyo": "ap-northeast-1",
}


class AwsSpotAdvisor:
    """Interruption steps of every region."""

    provider = PROVIDER
    feed = "aws spot advisor"
    source = "AWS spot advisor"
    region = None
    purchases = ()
    is_whole = False

    def __init__(self, known: Known, url: str) -> None:
        self._known = known
        self._url = url

    def covers(self, offer: Offer) -> bool:
        return False

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        document, mark = await http.json(self._url, etag=etag)
        report(Progress(name_of(self), 1, 1, "pages"))
        for step in advisor_steps(document, self._known):
            yield step
        yield Mark(mark)


def advisor_steps(document: object, known: Known) -> Iterator[Step]:
    """The steps of known machines under Linux. Raises FeedError where the document is not the advisor's."""
    regions = members(members(document, "AWS spot advisor").get("spot_advisor"), "AWS spot advisor")
    for region, systems in regions.items():
        linux = systems.get("Linux") if isinstance(systems, dict) else None
        for machine, facts in (linux if isinstance(linux, dict) else {}).items():
            step = facts.get("r") if isinstance(facts, dict) else None
            if known.has_type(PROVIDER, machine) and type(step) is int and 0 <= step < STEPS:
                yield Step(region, machine, step)


class AwsSpotPrice:
    """Spot prices of the ``regions`` asked for (all where None), one a region and machine, flagged indicative."""

    provider = PROVIDER
    feed = "aws public spot prices"
    source = SOURCE
    region = None
    purchases = ("spot",)
    is_whole = False

    def __init__(self, regions: tuple[str, ...] | None, known: Known, url: str) -> None:
        self._regions = regions
        self._known = known
        self._url = url

    def covers(self, offer: Offer) -> bool:
        return self._is_asked(offer.region)

    def _is_asked(self, region: str) -> bool:
        return self._regions is None or region in self._regions

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        content, mark = await http.document(self._url, etag=etag)
        report(Progress(name_of(self), 1, 1, "pages"))
        for region, machine, price in spot_prices(content):
            if self._is_asked(region) and self._known.has_type(PROVIDER, machine):
                yield offer_or_refusal(
                    PROVIDER, machine, (region, None), "spot", price, self._known, SOURCE, [flags.SPOT_INDICATIVE]
                )
        yield Mark(mark)


def spot_prices(content: bytes) -> Iterator[tuple[str, str, str]]:
    """(region, instance type, price) of the Linux prices in ``callback({...});``; 'N/A*' is no price and left out."""
    start, end = content.find(b"("), content.rfind(b")")
    document = members(parse_json(content[start + 1 : end] if start >= 0 else b"", SOURCE), SOURCE)
    for region in _list(members(document.get("config"), SOURCE), "regions"):
        name = text_of(region, "region")
        for group in _list(region, "instanceTypes"):
            for size in _list(group, "sizes"):
                for column in _list(size, "valueColumns"):
                    prices = column.get("prices")
                    price = text_of(prices, "USD") if isinstance(prices, dict) else ""
                    if column.get("name") == "linux" and price and not price.startswith("N/A"):
                        yield _REGION_NAMES.get(name, name), text_of(size, "size"), price


def _list(record: Mapping[str, object], key: str) -> Iterator[dict[str, object]]:
    """The objects in the list under ``key``. Raises FeedError where there is no list."""
    values = record.get(key)
    if not isinstance(values, list):
        raise FeedError(f"{SOURCE}: expected a list of {key}")
    return (value for value in values if isinstance(value, dict))
