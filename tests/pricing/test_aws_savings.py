"""AWS savings plans: the plain rate of a year, over pages, through boto3 and a loopback server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pricing import flags
from pricing.errors import FeedError
from pricing.offer import Offer
from pricing.providers.aws_api import boto3_clients
from pricing.providers.aws_savings import AwsSavingsPlans
from pricing.providers.base import Known, Note
from tests.pricing.loopback import Loopback, Reply, Request, json_reply
from tests.pricing.payloads import plan_rate
from tests.pricing.reading import prices, read

PATH = "/DescribeSavingsPlansOfferingRates"
YEAR_S = 31_536_000


@pytest.fixture
def source(known: Known, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> AwsSavingsPlans:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SAVINGSPLANS", server.url)
    clients = boto3_clients()
    assert clients is not None
    return AwsSavingsPlans("us-east-1", known, clients)


def serve(server: Loopback, *pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answer with ``pages``; returns the questions as they come."""
    asked: list[dict[str, Any]] = []

    def answer(request: Request) -> Reply:
        question = json.loads(request.body)
        asked.append(question)
        number = int(question.get("nextToken", "0"))
        more = {"nextToken": str(number + 1)} if number + 1 < len(pages) else {}
        return json_reply({"searchResults": pages[number], **more})

    server.answers[PATH] = answer
    return asked


def test_pages_are_followed_to_the_last(server: Loopback, source: AwsSavingsPlans) -> None:
    asked = serve(server, [plan_rate()], [plan_rate("0.382", "g4dn.xlarge")])
    found = read(source)
    assert prices(found) == {("p4d.24xlarge", "savings_plan"): "14.02", ("g4dn.xlarge", "savings_plan"): "0.382"}
    assert all(each.flags == (flags.COMMITMENT_1_YEAR,) for each in found if isinstance(each, Offer))
    assert len(asked) == 2
    assert asked[0]["savingsPlanTypes"] == ["Compute"]
    assert asked[0]["savingsPlanPaymentOptions"] == ["No Upfront"]
    assert {each["name"]: each["values"] for each in asked[0]["filters"]} == {
        "productDescription": ["Linux/UNIX"],
        "tenancy": ["shared"],
        "region": ["us-east-1"],
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"durationSeconds": 3 * YEAR_S},
        {"paymentOption": "All Upfront"},
        {"planType": "EC2Instance"},
        {"currency": "CNY"},
        {"unit": "Request"},
        {"operation": "RunInstances:0002"},
        {"usageType": "UnusedBox:p4d.24xlarge"},
        {"usageType": "HostUsage:p4d"},
        {"productDescription": "Windows"},
        {"tenancy": "dedicated"},
        {"region": "eu-west-1"},
        {"instanceType": "p99.nobody"},
    ],
    ids=lambda changed: " ".join(f"{key}={value}" for key, value in changed.items()),
)
def test_other_plans_are_no_price(server: Loopback, source: AwsSavingsPlans, changed: dict[str, Any]) -> None:
    serve(server, [plan_rate("0.001", **changed)])
    assert read(source) == []


def test_of_two_rates_the_dearer_counts(server: Loopback, source: AwsSavingsPlans) -> None:
    serve(server, [plan_rate("14.02"), plan_rate("0.9")], [plan_rate("13")])
    assert prices(read(source)) == {("p4d.24xlarge", "savings_plan"): "14.02"}


def test_an_account_that_may_not_ask_keeps_what_was_known(
    server: Loopback, source: AwsSavingsPlans, offers: list[Offer]
) -> None:
    denied = {"message": "User: arn:aws:iam::123:user/secret-name is not authorized"}
    server.answers[PATH] = lambda request: Reply(
        json.dumps(denied).encode(), status=403, headers={"x-amzn-ErrorType": "AccessDeniedException"}
    )
    of_the_region = next(offer for offer in offers if offer[:1] == ("aws",) and offer.region == "us-east-1")
    assert source.covers(of_the_region)
    (note,) = read(source)
    assert isinstance(note, Note)
    assert "secret-name" not in note.text
    assert not source.covers(of_the_region), "what nobody said is not 'no longer sold'"


def test_another_refusal_is_a_failure(server: Loopback, source: AwsSavingsPlans) -> None:
    server.answers[PATH] = lambda request: Reply(
        b'{"message": "no"}', status=400, headers={"x-amzn-ErrorType": "ValidationException"}
    )
    with pytest.raises(FeedError, match="describe_savings_plans_offering_rates: ValidationException"):
        read(source)
