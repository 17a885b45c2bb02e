"""Azure's retail prices: one region's virtual machines, page after page, no account needed.

A machine's price is told from the many rows that look like it: Windows, Low Priority, dedicated hosts, cloud services,
tiered meters and meters that have ended are left out; a reservation states the sum over its term, not an hour. Spot
prices of this feed are indicative, and say so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

from pricing import flags
from pricing.errors import FeedError
from pricing.http import Http
from pricing.offer import Offer, Quarantined
from pricing.providers.base import (
    Found,
    Known,
    Progress,
    Report,
    dearer,
    members,
    name_of,
    offer_or_refusal,
    price_text,
    text_of,
)

PROVIDER = "azure"
SOURCE = "Azure retail prices"
API_VERSION = "2023-01-01-preview"
PURCHASES = ("on_demand", "spot", "savings_plan")
PAGES_AT_MOST = 500
HOURS_PER_YEAR = 8760

_OTHER_PRODUCTS = ("windows", "dedicated", "cloudservices", "cloud services")


class AzureRetail:
    """The virtual machines of one region."""

    provider = PROVIDER
    feed = "azure retail prices"
    purchases = PURCHASES
    source = SOURCE
    is_whole = True

    def __init__(self, region: str, known: Known, url: str) -> None:
        self.region = region
        self._known = known
        self._url = url

    def covers(self, offer: Offer) -> bool:
        return offer.region == self.region

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        """Every page to the last, then the offers: the dearest primary meter of each machine and way to buy."""
        found = AzureItems(self.region, self._known)
        url, params = self._url, self._first_page()
        for number in range(1, PAGES_AT_MOST + 1):
            page, _ = await http.json(url, params)
            page = members(page, SOURCE)
            items = page.get("Items")
            if not isinstance(items, list):
                raise FeedError(f"{SOURCE}: a page without Items")
            for item in items:
                found.add(item)
            following = page.get("NextPageLink")
            report(Progress(name_of(self), number, None if following else number, "pages"))
            if not following:
                break
            url, params = self._next_page(following)
        else:
            raise FeedError(f"{SOURCE}: more than {PAGES_AT_MOST} pages")
        for row in found.rows():
            yield row

    def _first_page(self) -> dict[str, str]:
        wanted = (
            f"serviceName eq 'Virtual Machines' and armRegionName eq '{self.region}' and priceType eq 'Consumption'"
        )
        return {"api-version": API_VERSION, "$filter": wanted}

    def _next_page(self, link: object) -> tuple[str, dict[str, str]]:
        """The next page on the configured address: a link elsewhere keeps only its query, so a mirror stays one."""
        if not isinstance(link, str):
            raise FeedError(f"{SOURCE}: a next page that is no address")
        try:
            there, here = urlsplit(link), urlsplit(self._url)
            if (there.scheme, there.netloc) == (here.scheme, here.netloc):
                return link, {}
            return self._url, dict(parse_qsl(there.query, keep_blank_values=True))
        except ValueError:
            raise FeedError(f"{SOURCE}: a next page that is no address") from None


class AzureItems:
    """The items of all pages of a region, reduced to one row a machine and way to buy, whatever their order."""

    def __init__(self, region: str, known: Known) -> None:
        self._region = region
        self._known = known
        self._offers: dict[tuple[str, str], dict[bool, Offer]] = {}
        self._refused: dict[tuple[str, str], Quarantined] = {}

    def add(self, item: object) -> None:
        """Take an item into account; what is not the plain price of a machine in this region is left out."""
        if not isinstance(item, dict) or not _is_machine(item, self._known.today):
            return
        if (text_of(item, "armRegionName") or self._region) != self._region:
            return
        machine = text_of(item, "armSkuName")
        if not self._known.has_type(PROVIDER, machine) and not machine.startswith("Standard_N"):
            return
        primary = item.get("isPrimaryMeterRegion") is not False
        for purchase, price in _prices(item):
            self._keep(machine, purchase, price, primary)

    def _keep(self, machine: str, purchase: str, price: object, primary: bool) -> None:
        marks = {"spot": [flags.SPOT_INDICATIVE], "on_demand": []}.get(purchase, [flags.COMMITMENT_1_YEAR])
        if self._region.startswith("usgov"):
            marks = [*marks, flags.GOVERNMENT_REGION]
        row = offer_or_refusal(PROVIDER, machine, (self._region, None), purchase, price, self._known, SOURCE, marks)
        if isinstance(row, Quarantined):
            self._refused[machine, purchase] = row
        else:
            held = self._offers.setdefault((machine, purchase), {})
            held[primary] = dearer(held.get(primary), row)

    def rows(self) -> Iterator[Offer | Quarantined]:
        """The offers, then the rows without a price that no other row makes up for."""
        for held in self._offers.values():
            yield held[True] if True in held else held[False]
        for key, row in self._refused.items():
            if key not in self._offers:
                yield row


def _is_machine(item: dict[str, object], today: date) -> bool:
    """Whether the item is the price of an hour (or a reservation) of a Linux virtual machine that is in force."""
    product = text_of(item, "productName").lower()
    names = f"{text_of(item, 'skuName')} {text_of(item, 'meterName')}".lower()
    minimum = item.get("tierMinimumUnits", 0)
    return (
        bool(text_of(item, "armSkuName"))
        and (text_of(item, "serviceName") or "Virtual Machines") == "Virtual Machines"
        and (text_of(item, "type") or text_of(item, "priceType")) in ("Consumption", "Reservation")
        and (text_of(item, "currencyCode") or "USD") == "USD"
        and text_of(item, "unitOfMeasure") == "1 Hour"
        and "low priority" not in names
        and not any(word in product for word in _OTHER_PRODUCTS)
        and isinstance(minimum, int | float)
        and minimum == 0
        and _is_in_force(item, today)
    )


def _is_in_force(item: dict[str, object], today: date) -> bool:
    start, end = _day(item.get("effectiveStartDate")), _day(item.get("effectiveEndDate"))
    if end is None:
        return True
    return end >= today and (start is None or end >= start)


def _day(value: object) -> date | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).astimezone(UTC).date()
    except (ValueError, OverflowError):
        return None


def _prices(item: dict[str, object]) -> Iterator[tuple[str, object]]:
    """The ways to buy that one item prices, each with its price of an hour."""
    if text_of(item, "type") == "Reservation":
        # The whole term's sum, although the unit says "1 Hour". Longer terms are left out.
        total = price_text(item.get("retailPrice"))
        if text_of(item, "reservationTerm") == "1 Year" and total is not None:
            yield "reserved", round(Decimal(total) / HOURS_PER_YEAR, 6)
        return
    is_spot = any(text_of(item, name).endswith(" Spot") for name in ("skuName", "meterName"))
    yield "spot" if is_spot else "on_demand", item.get("retailPrice")
    plans = item.get("savingsPlan")
    for plan in plans if isinstance(plans, list) and not is_spot else ():
        if isinstance(plan, dict) and plan.get("term") == "1 Year" and price_text(plan.get("retailPrice")):
            yield "savings_plan", plan["retailPrice"]
