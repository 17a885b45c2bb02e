"""The public AWS spot feeds."""

from __future__ import annotations

import json

import pytest

from pricing import flags
from pricing.errors import FeedError
from pricing.offer import Offer
from pricing.providers.aws_spot import AwsSpotAdvisor, AwsSpotPrice, advisor_steps, spot_prices
from pricing.providers.base import Known, Mark, Step
from tests.pricing.loopback import Loopback, Reply, json_reply
from tests.pricing.payloads import advisor, spot_js
from tests.pricing.reading import read


def test_steps_become_rates_and_never_prices(server: Loopback, known: Known) -> None:
    server.answers["/advisor"] = lambda request: json_reply(
        advisor({"us-east-1": {"p5.48xlarge": 4, "m1.tiny": 0}, "eu-west-1": {"g5.xlarge": 9}}), ETag='"a"'
    )
    found = read(AwsSpotAdvisor(known, f"{server.url}/advisor"))
    assert found == [Step("us-east-1", "p5.48xlarge", 4), Mark('"a"')]


@pytest.mark.parametrize("document", [[], {}, {"spot_advisor": []}, None, 7])
def test_another_document_is_one_sentence(known: Known, document: object) -> None:
    with pytest.raises(FeedError, match="AWS spot advisor"):
        list(advisor_steps(document, known))


def test_odd_members_are_left_out(known: Known) -> None:
    document = {"spot_advisor": {"a": None, "b": {"Linux": 5}, "c": {"Linux": {"p5.48xlarge": None}}}}
    assert list(advisor_steps(document, known)) == []


def test_prices_come_with_today_s_region_names(server: Loopback, known: Known) -> None:
    content = spot_js(
        {
            "us-east": {"g4dn.xlarge": "0.1578", "p5.48xlarge": "N/A*"},
            "apac-tokyo": {"g4dn.xlarge": "0.2"},
            "us-west-2": {"g4dn.xlarge": "0.3", "m1.tiny": "0.01"},
        }
    )
    server.answers["/spot.js"] = lambda request: Reply(content)
    found = read(AwsSpotPrice(("us-east-1", "us-west-2"), known, f"{server.url}/spot.js"))
    offers = [each for each in found if isinstance(each, Offer)]
    assert [(offer.region, offer.price, offer.flags) for offer in offers] == [
        ("us-east-1", "0.1578", (flags.SPOT_INDICATIVE,)),
        ("us-west-2", "0.3", (flags.SPOT_INDICATIVE,)),
    ]
    assert {offer.purchase for offer in offers} == {"spot"}
    everywhere = read(AwsSpotPrice(None, known, f"{server.url}/spot.js"))
    assert "ap-northeast-1" in {each.region for each in everywhere if isinstance(each, Offer)}


@pytest.mark.parametrize(
    "content",
    [b"", b"callback", b"callback()", b"callback([]);", b'callback({"config": {}});', b"<html>(no)</html>"],
)
def test_another_file_is_one_sentence(content: bytes) -> None:
    with pytest.raises(FeedError, match="AWS public spot prices"):
        list(spot_prices(content))


def test_windows_prices_are_left_out() -> None:
    document = json.loads(spot_js({"us-east": {"g4dn.xlarge": "1"}})[9:-2])
    sizes = document["config"]["regions"][0]["instanceTypes"][0]["sizes"]
    sizes[0]["valueColumns"] = [{"name": "mswin", "prices": {"USD": "9"}}, {"name": "linux", "prices": None}, 5]
    assert list(spot_prices(b"callback(" + json.dumps(document).encode() + b")")) == []
