"""AWS with the user's own credentials: the price list by query, spot prices by zone, and what each machine is.

boto3 finds credentials, regions, proxies and endpoints by its own rules (AWS_PROFILE, AWS_ENDPOINT_URL_PRICING ...).
It blocks, so each page is fetched in a thread. Errors show AWS's code, never its message, which may quote the request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from pricing.errors import FeedError, OfflineError
from pricing.http import Http
from pricing.offer import InstanceType, Offer
from pricing.providers.aws_bulk import FAMILIES, SOURCE, PriceListRows, Row, is_accelerated, is_shared
from pricing.providers.aws_facts import instance_type
from pricing.providers.base import Found, Known, Note, Progress, Report, members, name_of, offer_or_refusal, text_of

PROVIDER = "aws"
SPOT_SOURCE = "AWS spot price history"
PRICING_REGION = "us-east-1"
LINUX = "Linux/UNIX"
PAGES_AT_MOST = 2000
NOT_ALLOWED = ("AccessDeniedException", "AccessDenied", "UnauthorizedOperation")

_FILTERS = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


class Client(Protocol):
    """The part of a boto3 client that is used."""

    def get_paginator(self, operation: str) -> Any: ...

    def describe_availability_zones(self, **arguments: Any) -> Mapping[str, Any]: ...


ClientFactory = Callable[[str, str], Client]


def boto3_clients() -> ClientFactory | None:
    """Clients by (service, region) with the credentials boto3 finds; None where it finds none. Raises FeedError."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            return None
    except BotoCoreError as error:
        raise FeedError(f"AWS credentials cannot be used ({type(error).__name__})") from None
    config = Config(connect_timeout=10, read_timeout=30, retries={"mode": "standard", "total_max_attempts": 4})

    def client(service: str, region: str) -> Client:
        made: Client = session.client(service, region_name=region, config=config)  # type: ignore[call-overload]
        return made

    return client


class DeniedError(FeedError):
    """The account may not do this."""


async def ask(operation: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What ``call`` returns, awaited from a thread. Raises FeedError, DeniedError or OfflineError."""
    from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

    try:
        return await asyncio.to_thread(call, *arguments, **named)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "unknown")
        kind = DeniedError if code in NOT_ALLOWED else FeedError
        raise kind(f"AWS {operation}: {code}") from None
    except EndpointConnectionError:
        raise OfflineError("there is no network to AWS") from None
    except BotoCoreError as error:
        raise FeedError(f"AWS {operation}: {type(error).__name__}") from None


async def pages(client: Client, operation: str, arguments: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
    """The pages of a paginated operation. Raises FeedError or OfflineError."""
    remaining = iter(client.get_paginator(operation).paginate(**arguments))
    for _ in range(PAGES_AT_MOST):
        page = await ask(operation, next, remaining, None)
        if page is None:
            return
        yield page
    raise FeedError(f"AWS {operation}: more than {PAGES_AT_MOST} pages")


class AccountSource:
    """A feed that the user's account reads for one region, and that prices what is offered there."""

    provider = PROVIDER

    def __init__(self, region: str, known: Known, clients: ClientFactory) -> None:
        self.region = region
        self._known = known
        self._clients = clients

    def covers(self, offer: Offer) -> bool:
        return offer.region == self.region


class AwsPriceQuery(AccountSource):
    """On-demand and 1-year reserved prices of one region by the Price List Query API."""

    feed = "aws price query"
    source = SOURCE
    purchases = ("on_demand", "reserved")
    is_whole = True

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        rows, number = PriceListRows(self.region, self._known), 0
        client = await asyncio.to_thread(self._clients, "pricing", PRICING_REGION)
        for family, tenancy in zip(FAMILIES, ("Shared", "Dedicated"), strict=True):
            wanted = _FILTERS | {"regionCode": self.region, "productFamily": family, "tenancy": tenancy}
            filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in wanted.items()]
            query = {"ServiceCode": "AmazonEC2", "Filters": filters}
            async for page in pages(client, "get_products", query):
                for element in page.get("PriceList", ()):
                    for row in product_rows(element):
                        rows.add(row)
                number += 1
                report(Progress(name_of(self), number, None, "pages"))
        for found in rows.found():
            yield found


def product_rows(element: str) -> Iterator[Row]:
    """The prices of an hour in one element of PriceList, a JSON text; nothing for what is no plain Linux machine.

    Raises FeedError where the element is not JSON.
    """
    try:
        document = members(json.loads(element), SOURCE)
    except (ValueError, TypeError, RecursionError):
        raise FeedError(f"{SOURCE}: an element that is not JSON") from None
    product, terms = _record(document, "product"), _record(document, "terms")
    attributes = _record(product, "attributes")
    machine = text_of(attributes, "instanceType")
    plain = (
        product.get("productFamily") in FAMILIES
        and all((text_of(attributes, name) or value) == value for name, value in _FILTERS.items())
        and not text_of(attributes, "operation").endswith(":CB")
        and is_shared(text_of(attributes, "tenancy"), machine)
    )
    if not plain or not machine:
        return
    for purchase, price, currency in _hourly_prices(terms):
        yield Row(
            instance_type=machine,
            region_code=text_of(attributes, "regionCode"),
            location_type=text_of(attributes, "locationType"),
            purchase=purchase,
            price=price,
            currency=currency,
            is_accelerated=is_accelerated(text_of(attributes, "instanceFamily")),
        )


def _hourly_prices(terms: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """(purchase, price, currency): China's lists have CNY in the place of USD."""
    for kind, purchase in (("OnDemand", "on_demand"), ("Reserved", "reserved")):
        for term in _record(terms, kind).values():
            if not isinstance(term, dict) or (purchase == "reserved" and not _is_plain_reservation(term)):
                continue
            for dimension in _record(term, "priceDimensions").values():
                if isinstance(dimension, dict) and dimension.get("unit") == "Hrs":
                    for currency, price in _record(dimension, "pricePerUnit").items():
                        if isinstance(price, str):
                            yield purchase, price, currency


def _is_plain_reservation(term: Mapping[str, object]) -> bool:
    wanted = {"LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": "No Upfront"}
    attributes = _record(term, "termAttributes")
    return all(attributes.get(name) == value for name, value in wanted.items())


def _record(record: Mapping[str, object], key: str) -> dict[str, object]:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


class AwsSpotHistory(AccountSource):
    """The spot price of each machine in each zone of a region now. Zones are ids: names differ between accounts."""

    feed = "aws spot price history"
    source = SPOT_SOURCE
    purchases = ("spot",)
    is_whole = False

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        client = await asyncio.to_thread(self._clients, "ec2", self.region)
        zones = await self._zone_ids(client)
        query = {"StartTime": datetime.now(UTC), "ProductDescriptions": [LINUX]}
        latest: dict[tuple[str, str], tuple[str, object]] = {}
        number = lost = 0
        async for page in pages(client, "describe_spot_price_history", query):
            for row in page.get("SpotPriceHistory", ()):
                machine, zone = row.get("InstanceType", ""), zones.get(row.get("AvailabilityZone", ""))
                if row.get("ProductDescription") != LINUX or not self._known.has_type(PROVIDER, machine):
                    continue
                lost += zone is None
                stamp = str(row.get("Timestamp", ""))
                if zone is not None and stamp >= latest.get((machine, zone), ("", None))[0]:
                    latest[machine, zone] = stamp, row.get("SpotPrice")
            number += 1
            report(Progress(name_of(self), number, None, "pages"))
        for (machine, zone), (_, price) in latest.items():
            place = (self.region, zone)
            yield offer_or_refusal(PROVIDER, machine, place, "spot", price, self._known, SPOT_SOURCE)
        if lost:
            yield Note(f"{lost} spot prices of zones that the account does not name are left out")

    async def _zone_ids(self, client: Client) -> dict[str, str]:
        """Zone ids by the account's names."""
        answer = await ask("describe_availability_zones", client.describe_availability_zones)
        return {zone["ZoneName"]: zone["ZoneId"] for zone in answer.get("AvailabilityZones", ()) if zone.get("ZoneId")}


class AwsMachines(AccountSource):
    """What the instance types of a region are made of. No prices: new machines become known before they are priced."""

    feed = "aws instance types"
    source = "Amazon EC2 DescribeInstanceTypes"
    purchases = ()
    is_whole = False

    def covers(self, offer: Offer) -> bool:
        return False

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        client = await asyncio.to_thread(self._clients, "ec2", self.region)
        number = unreadable = 0
        async for page in pages(client, "describe_instance_types", {}):
            for described in page.get("InstanceTypes", ()):
                try:
                    machine = self._machine(described)
                except (LookupError, TypeError, ValueError, AttributeError):
                    unreadable += 1
                    continue
                if machine is not None:
                    yield machine
            number += 1
            report(Progress(name_of(self), number, None, "pages"))
        if unreadable:
            yield Note(f"{unreadable} instance types are not described as documented")

    def _machine(self, described: Mapping[str, Any]) -> InstanceType | None:
        known = self._known.types.get((PROVIDER, described["InstanceType"]))
        machine = instance_type(described, known)
        return None if machine == known else machine
