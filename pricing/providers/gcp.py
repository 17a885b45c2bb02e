"""Google Cloud's billing catalogue: every SKU of Compute Engine and of the older TPUs, put together to machines.

A SKU in a region does not mean that the machine is sold there: prices are composed only for the places where the
machine is known to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator

from pricing import flags
from pricing.errors import FeedError
from pricing.http import Http
from pricing.offer import Offer
from pricing.providers.base import Found, Known, Note, Progress, Report, members, name_of, offer_or_refusal, text_of
from pricing.providers.gcp_credentials import GcpCredentials
from pricing.providers.gcp_machines import FAMILIES, price, recipe
from pricing.providers.gcp_skus import Rates
from pricing.query import in_regions

PROVIDER = "gcp"
SOURCE = "GCP price list"
COMPUTE = "6F81-5844-456A"
OLDER_TPUS = "E000-3F24-B8AA"
PAGE_SIZE = "5000"
PAGES_AT_MOST = 200


class GcpBilling:
    """Whole-machine prices in every region that matches ``patterns`` (all where empty)."""

    provider = PROVIDER
    feed = "gcp price list"
    source = SOURCE
    region = None
    purchases = ("on_demand", "spot")
    is_whole = True

    def __init__(self, patterns: tuple[str, ...], known: Known, url: str, credentials: GcpCredentials) -> None:
        self._patterns = patterns
        self._known = known
        self._url = url
        self._credentials = credentials

    def covers(self, offer: Offer) -> bool:
        machine = self._known.types.get(offer[:2])
        return self._is_asked(offer.region) and machine is not None and recipe(machine) is not None

    def _is_asked(self, region: str) -> bool:
        return not self._patterns or in_regions(region, None, self._patterns)

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        """Every page of both services to the last, then the machines."""
        rates, pages = Rates(), 0
        for service in (COMPUTE, OLDER_TPUS):
            try:
                async for skus in self._pages(http, service):
                    for sku in skus:
                        rates.add(sku)
                    pages += 1
                    report(Progress(name_of(self), pages, None, "pages"))
            except FeedError as error:
                if service == COMPUTE or error.status != 404:
                    raise
                yield Note("the service of TPU v2, v3 and v4 is not there: their prices are as before")
        report(Progress(name_of(self), pages, pages, "pages"))
        for found in self._machines(rates):
            yield found

    async def _pages(self, http: Http, service: str) -> AsyncIterator[list[object]]:
        url, token, seen = f"{self._url}/v1/services/{service}/skus", "", {""}
        for _ in range(PAGES_AT_MOST):
            signed, headers = await self._credentials.sign(http)
            params = {"pageSize": PAGE_SIZE, "currencyCode": "USD"} | ({"pageToken": token} if token else {}) | signed
            page, _ = await http.json(url, params, headers, credentials=True)
            page = members(page, SOURCE)
            skus = page.get("skus", [])
            if not isinstance(skus, list):
                raise FeedError(f"{SOURCE}: a page without skus")
            yield skus
            token = text_of(page, "nextPageToken")
            if not token:
                return
            if token in seen:
                raise FeedError(f"{SOURCE}: the same page comes again and again")
            seen.add(token)
        raise FeedError(f"{SOURCE}: more than {PAGES_AT_MOST} pages")

    def _machines(self, rates: Rates) -> Iterator[Found]:
        """A price for each machine known to be sold in a region, on demand and spot; what lacks a part is noted."""
        lacking: Counter[str] = Counter()
        for provider, name, region in sorted(self._known.places):
            machine = self._known.types.get((provider, name))
            parts = recipe(machine) if provider == PROVIDER and machine is not None else None
            if parts is None or not self._is_asked(region):
                continue
            for purchase in self.purchases:
                total, missing = price(parts, rates, region, purchase == "spot")
                if total is None:
                    lacking[missing] += 1
                    continue
                marks = [flags.LOCAL_SSD_NOT_INCLUDED] if parts.lacks_ssd else []
                if purchase == "on_demand" and not parts.sold_on_demand:
                    marks.append(flags.NOT_SOLD_ON_DEMAND)
                yield offer_or_refusal(PROVIDER, name, (region, None), purchase, total, self._known, SOURCE, marks)
        for part, count in lacking.most_common():
            yield Note(f"{count} machine prices left as they were: no price of {part!r} in their region")
        unknown = sorted(rates.gpus - _KNOWN_GPUS)
        if unknown:
            yield Note(f"GPUs of no known machine: {', '.join(unknown[:8])}")


_KNOWN_GPUS = {name for family in FAMILIES for name in family.gpus} | {"t4 gpu", "v100 gpu", "p100 gpu", "p4 gpu"}
