"""AWS Compute Savings Plans with the user's own credentials: the rates of a year without upfront, by region.

A plan is a promise to pay so many USD an hour for a year; each hour of a machine uses up as much of it as its rate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from pricing import flags
from pricing.errors import FeedError
from pricing.http import Http
from pricing.offer import Offer, Quarantined
from pricing.providers.aws_api import PAGES_AT_MOST, PROVIDER, AccountSource, ClientFactory, DeniedError, ask
from pricing.providers.base import Found, Known, Note, Progress, Report, dearer, name_of, offer_or_refusal

SOURCE = "AWS savings plan rates"
HOME_REGION = "us-east-1"
OPERATION = "describe_savings_plans_offering_rates"
SHORTEST_YEAR_S = 365 * 24 * 3600
LONGEST_YEAR_S = 366 * 24 * 3600

_QUERY = {
    "savingsPlanTypes": ["Compute"],
    "savingsPlanPaymentOptions": ["No Upfront"],
    "products": ["EC2"],
    "serviceCodes": ["AmazonEC2"],
}
_PROPERTIES = {"productDescription": "Linux/UNIX", "tenancy": "shared"}


class AwsSavingsPlans(AccountSource):
    """One rate a machine of one region. An account that may not read them gets a note, and what was known stays."""

    feed = "aws savings plans"
    source = SOURCE
    purchases = ("savings_plan",)
    is_whole = True

    def __init__(self, region: str, known: Known, clients: ClientFactory) -> None:
        super().__init__(region, known, clients)
        self._is_allowed = True

    def covers(self, offer: Offer) -> bool:
        return self._is_allowed and super().covers(offer)

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        client = await asyncio.to_thread(self._clients, "savingsplans", HOME_REGION)
        dearest: dict[str, Offer] = {}
        try:
            async for number, page in self._pages(client):
                for found in plan_rates(page, self.region, self._known):
                    if isinstance(found, Offer):
                        dearest[found.instance_type] = dearer(dearest.get(found.instance_type), found)
                    else:
                        yield found
                report(Progress(name_of(self), number, None, "pages"))
        except DeniedError:
            self._is_allowed = False
            yield Note("savings plans left out: the account may not DescribeSavingsPlansOfferingRates")
            return
        for offer in dearest.values():
            yield offer

    async def _pages(self, client: Any) -> AsyncIterator[tuple[int, Mapping[str, Any]]]:
        """Every page with its number; botocore has no paginator of this operation."""
        properties = _PROPERTIES | {"region": self.region}
        query: dict[str, Any] = {**_QUERY, "filters": [{"name": n, "values": [v]} for n, v in properties.items()]}
        for number in range(1, PAGES_AT_MOST + 1):
            page = await ask(OPERATION, getattr(client, OPERATION), **query)
            yield number, page
            if not page.get("nextToken"):
                return
            query["nextToken"] = page["nextToken"]
        raise FeedError(f"AWS {OPERATION}: more than {PAGES_AT_MOST} pages")


def plan_rates(page: Mapping[str, Any], region: str, known: Known) -> Iterator[Offer | Quarantined]:
    """The plain rates of known machines: of an hour, in USD, for a year. Raises FeedError on another shape."""
    try:
        for rate in page.get("searchResults", ()):
            properties = {each["name"]: each["value"] for each in rate.get("properties", ())}
            machine = properties.get("instanceType", "")
            if _is_plain(rate, properties) and properties.get("region") == region and known.has_type(PROVIDER, machine):
                place, marks = (region, None), [flags.COMMITMENT_1_YEAR]
                price = rate.get("rate")
                yield offer_or_refusal(PROVIDER, machine, place, "savings_plan", price, known, SOURCE, marks)
    except (AttributeError, LookupError, TypeError) as error:
        raise FeedError(f"{SOURCE}: not as documented ({type(error).__name__})") from None


def _is_plain(rate: Mapping[str, Any], properties: Mapping[str, object]) -> bool:
    plan = rate.get("savingsPlanOffering", {})
    return (
        rate.get("unit") == "Hrs"
        and plan.get("currency") == "USD"
        and plan.get("planType") == "Compute"
        and plan.get("paymentOption") == "No Upfront"
        and SHORTEST_YEAR_S <= plan.get("durationSeconds", 0) <= LONGEST_YEAR_S
        and rate.get("operation") == "RunInstances"
        and "BoxUsage" in rate.get("usageType", "")  # not of reserved capacity, hosts or Capacity Blocks
        and all(properties.get(name) == value for name, value in _PROPERTIES.items())
    )
