"""AWS by boto3 against a loopback server that speaks its protocols, and the facts of machines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, PartialCredentialsError

from pricing.errors import FeedError, OfflineError
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.providers.aws_api import (
    AwsMachines,
    AwsPriceQuery,
    AwsSpotHistory,
    Client,
    boto3_clients,
    product_rows,
)
from pricing.providers.aws_facts import instance_type
from pricing.providers.base import Known, Note
from tests.pricing.loopback import Loopback, Reply, Request
from tests.pricing.payloads import product
from tests.pricing.reading import prices, read

P5: dict[str, Any] = {
    "InstanceType": "p5.48xlarge",
    "GpuInfo": {"Gpus": [{"Name": "H100", "Count": 8, "MemoryInfo": {"SizeInMiB": 81920}}]},
    "VCpuInfo": {"DefaultVCpus": 192},
    "MemoryInfo": {"SizeInMiB": 2097152},
    "InstanceStorageInfo": {"TotalSizeInGB": 30400},
    "NetworkInfo": {"NetworkPerformance": "3200 Gigabit", "EfaSupported": True},
}


class Pages:
    """A client whose operations answer with the pages given, or raise what is given in their place."""

    def __init__(self, zones: object = None, **operations: list[Any]) -> None:
        self.operations = operations
        self.zones = zones or {"AvailabilityZones": [{"ZoneName": "us-east-1a", "ZoneId": "use1-az4"}]}
        self.asked: list[Mapping[str, Any]] = []

    def get_paginator(self, operation: str) -> Any:
        pages, asked = self.operations.get(operation, [{}]), self.asked

        class Paginator:
            def paginate(self, **arguments: Any) -> Iterator[Any]:
                asked.append(arguments)
                for page in pages:
                    if isinstance(page, Exception):
                        raise page
                    yield page

        return Paginator()

    def describe_availability_zones(self, **arguments: Any) -> Mapping[str, Any]:
        if isinstance(self.zones, Exception):
            raise self.zones
        assert isinstance(self.zones, dict)
        return self.zones


def by(client: Pages) -> Any:
    def clients(service: str, region: str) -> Client:
        return client

    return clients


def denied(code: str = "AccessDeniedException") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "User: arn:aws:iam::123:user/secret-name"}}, "GetProducts")


# --- the price list ---


def test_one_price_a_machine_over_pages(known: Known) -> None:
    pages = [
        {"PriceList": [json.dumps(product())]},
        {"PriceList": [json.dumps(product("0.5260000000", instanceType="g4dn.xlarge"))]},
    ]
    client = Pages(get_products=pages)
    found = read(AwsPriceQuery("us-east-1", known, by(client)))
    assert prices(found) == {("p5.48xlarge", "on_demand"): "55.04", ("g4dn.xlarge", "on_demand"): "0.526"}
    asked = {each["Field"]: each["Value"] for each in client.asked[0]["Filters"]}
    assert asked == {
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "regionCode": "us-east-1",
        "productFamily": "Compute Instance",
        "tenancy": "Shared",
    }
    metal = {each["Field"]: each["Value"] for each in client.asked[1]["Filters"]}
    assert (metal["productFamily"], metal["tenancy"]) == ("Compute Instance (bare metal)", "Dedicated")


def test_a_machine_without_terms_has_no_price() -> None:
    """skypilot#4657: trn1 or p5e without an OnDemand term show no on-demand price, never $0."""
    assert list(product_rows(json.dumps(product(None, instanceType="trn1.32xlarge")))) == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"capacitystatus": "UnusedCapacityReservation"},
        {"capacitystatus": "AllocatedCapacityReservation"},
        {"marketoption": "CapacityBlock"},
        {"operation": "RunInstances:0g00:CB"},
        {"tenancy": "Host"},
        {"tenancy": "Dedicated"},
        {"operatingSystem": "Windows"},
        {"preInstalledSw": "SQL Web"},
        {"instanceType": ""},
    ],
    ids=lambda attributes: " ".join(attributes.values()),
)
def test_decoys_are_no_price(attributes: dict[str, str]) -> None:
    """opencost PR#694, gpuhunt#36, gcpinstances.info#8: reservations, capacity blocks and hosts at $0."""
    assert list(product_rows(json.dumps(product("0.4680000000", **attributes)))) == []


def test_yuan_are_told_from_dollars(known: Known) -> None:
    (row,) = product_rows(json.dumps(product(currency="CNY", regionCode="cn-north-1")))
    assert row.currency == "CNY"
    client = Pages(get_products=[{"PriceList": [json.dumps(product(currency="CNY", regionCode="cn-north-1"))]}])
    assert [type(each) for each in read(AwsPriceQuery("cn-north-1", known, by(client)))] == [Note]


def test_reserved_rates_are_of_a_year_without_upfront() -> None:
    document = product(None, instanceType="g4dn.xlarge")
    dimensions = {
        "a": {"unit": "Hrs", "pricePerUnit": {"USD": "0.331"}},
        "b": {"unit": "Quantity", "pricePerUnit": {"USD": "1161"}},
    }
    wanted = {"LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": "No Upfront"}
    document["terms"] = {
        "Reserved": {
            "1": {"priceDimensions": dimensions, "termAttributes": wanted},
            "2": {"priceDimensions": dimensions, "termAttributes": wanted | {"LeaseContractLength": "3yr"}},
            "3": {"priceDimensions": dimensions, "termAttributes": wanted | {"PurchaseOption": "All Upfront"}},
            "4": None,
        }
    }
    assert [(row.purchase, row.price) for row in product_rows(json.dumps(document))] == [("reserved", "0.331")]


@pytest.mark.parametrize("element", ["", "{", "[1]", "null", "[" * 100_000])
def test_an_element_that_is_no_product_is_one_sentence(element: str) -> None:
    with pytest.raises(FeedError, match="AWS price list"):
        list(product_rows(element))


def test_odd_members_are_no_price() -> None:
    for document in ({}, {"product": 5, "terms": []}, {"product": {"attributes": None}}):
        assert list(product_rows(json.dumps(document))) == []
    odd = product()
    odd["terms"]["OnDemand"]["x"] = {"priceDimensions": {"y": 5, "z": {"unit": "Hrs", "pricePerUnit": {"USD": 55}}}}
    assert len(list(product_rows(json.dumps(odd)))) == 1


# --- spot ---


def spot(
    machine: str, price: str, zone: str = "us-east-1a", at: str = "2026-11-30T09:00:00", **more: str
) -> dict[str, str]:
    row = {"InstanceType": machine, "SpotPrice": price, "AvailabilityZone": zone, "Timestamp": at}
    return row | {"ProductDescription": "Linux/UNIX"} | more


def test_spot_prices_by_zone_id_over_pages(known: Known) -> None:
    """skypilot#236: a region's last page was missed; skypilot#1438: the zone is shown, by the id all accounts share."""
    pages = [
        {"SpotPriceHistory": [spot("g4dn.xlarge", "0.20")]},
        {"SpotPriceHistory": [spot("p5.48xlarge", "19.1"), spot("g4dn.xlarge", "0.19", at="2026-11-29T00:00:00")]},
    ]
    found = read(AwsSpotHistory("us-east-1", known, by(Pages(describe_spot_price_history=pages))))
    assert {(each.instance_type, each.zone, each.price) for each in found if isinstance(each, Offer)} == {
        ("g4dn.xlarge", "use1-az4", "0.2"),
        ("p5.48xlarge", "use1-az4", "19.1"),
    }


def test_spot_rows_of_other_products_zones_and_machines_are_left_out(known: Known) -> None:
    rows = [
        spot("g4dn.xlarge", "0.00001", ProductDescription="Linux/UNIX (Amazon VPC)"),
        spot("m1.xlarge", "0.08"),
        spot("g4dn.xlarge", "0.2", zone="us-east-1z"),
    ]
    client = Pages(describe_spot_price_history=[{"SpotPriceHistory": rows}])
    assert read(AwsSpotHistory("us-east-1", known, by(client))) == [
        Note("1 spot prices of zones that the account does not name are left out")
    ]


def test_a_spot_price_that_is_none_is_set_apart(known: Known) -> None:
    client = Pages(describe_spot_price_history=[{"SpotPriceHistory": [spot("g4dn.xlarge", "0")]}])
    (row,) = read(AwsSpotHistory("us-east-1", known, by(client)))
    assert isinstance(row, Quarantined)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (denied(), "describe_availability_zones: AccessDeniedException"),
        (EndpointConnectionError(endpoint_url="http://x"), "no network"),
    ],
)
def test_zones_that_cannot_be_named_end_the_reading(known: Known, error: Exception, words: str) -> None:
    with pytest.raises(FeedError, match=words):
        read(AwsSpotHistory("us-east-1", known, by(Pages(zones=error))))


# --- machines ---


def described(**changes: Any) -> dict[str, Any]:
    return P5 | changes


def gpus(count: int, mib: int = 81920, name: str = "H100", **more: Any) -> dict[str, Any]:
    return {"Gpus": [{"Name": name, "Count": count, "MemoryInfo": {"SizeInMiB": mib}} | more]}


def test_live_facts_are_laid_over_the_table(known: Known) -> None:
    """What the API measures counts; the form factor, which it does not say, stays the table's. News alone is told."""
    changed = described(VCpuInfo={"DefaultVCpus": 200}, InstanceStorageInfo={"TotalSizeInGB": 40000})
    client = Pages(describe_instance_types=[{"InstanceTypes": [changed]}])
    (machine,) = read(AwsMachines("us-east-1", known, by(client)))
    table = known.types["aws", "p5.48xlarge"]
    assert machine == table._replace(vcpus=200.0, local_disk_gb=40000.0)
    assert table.accelerator == "H100-SXM"
    assert read(AwsMachines("us-east-1", known, by(Pages(describe_instance_types=[{"InstanceTypes": [P5]}])))) == []


def test_p5_4xlarge_has_one_accelerator_whatever_the_api_says(known: Known) -> None:
    """skypilot#6722."""
    found = instance_type(described(InstanceType="p5.4xlarge", GpuInfo=gpus(0)), known.types["aws", "p5.4xlarge"])
    assert found is not None
    assert found.num_gpus == 1


def test_shares_of_an_accelerator_are_shares(known: Known) -> None:
    share = gpus(0, 2861, "L4", LogicalGpuCount=1, GpuPartitionSize=0.125)
    found = instance_type(described(InstanceType="g6f.xlarge", GpuInfo=share), known.types["aws", "g6f.xlarge"])
    assert found is not None
    assert (found.num_gpus, found.accelerator) == (0.125, "L4")


def test_l4_and_l40s_have_their_nominal_memory(known: Known) -> None:
    """Cyclenerd/aws-pricing#1, aws-cli#8970: 22 GB, or 1,430 GB in all."""
    for machine, mib, gib in (("g6.48xlarge", 22888, 24), ("g6e.48xlarge", 45776, 48), ("g6.48xlarge", 183105, 24)):
        found = instance_type(described(InstanceType=machine, GpuInfo=gpus(8, mib)), known.types["aws", machine])
        assert found is not None
        assert (found.num_gpus, found.memory_gib_per_gpu) == (8, gib)
    unknown = instance_type(described(InstanceType="g99.xlarge", GpuInfo=gpus(1, 22888, "L4")), None)
    assert unknown is not None
    assert unknown.memory_gib_per_gpu == 24


def test_neuron_chips_are_accelerators(known: Known) -> None:
    chips = {"NeuronDevices": [{"Name": "Trainium", "Count": 16, "MemoryInfo": {"SizeInMiB": 32768}}]}
    facts = {name: value for name, value in P5.items() if name != "GpuInfo"} | {
        "InstanceType": "trn1.32xlarge",
        "NeuronInfo": chips,
        "NetworkInfo": {"NetworkPerformance": "8x 100 Gigabit", "EfaSupported": True},
    }
    found = instance_type(facts, known.types["aws", "trn1.32xlarge"])
    assert found is not None
    assert (found.num_gpus, found.network_gbit_s) == (16, 800)


def test_up_to_is_what_the_card_sustains() -> None:
    network = {"NetworkPerformance": "Up to 10 Gigabit", "NetworkCards": [{"BaselineBandwidthInGbps": 2.5}]}
    found = instance_type(described(InstanceType="new.xlarge", NetworkInfo=network), None)
    assert found is not None
    assert (found.network_gbit_s, found.network) == (2.5, "ENA")
    silent = instance_type(described(InstanceType="new.xlarge", NetworkInfo={"NetworkPerformance": "High"}), None)
    assert silent is not None
    assert silent.network_gbit_s is None


def test_a_new_machine_is_kept_unranked() -> None:
    """ec2instances.info#705: the price survives without a specification, and the reader sees why it is not ranked."""
    found = instance_type(described(InstanceType="p9.48xlarge", GpuInfo=gpus(8, 294912, "Rubin")), None)
    assert found is not None
    assert (found.accelerator, found.num_gpus, found.memory_gib_per_gpu) == ("Rubin", 8, 288)
    assert "Rubin" in found.unranked


def test_a_new_machine_without_accelerators_is_nobody_s_business() -> None:
    facts = {name: value for name, value in P5.items() if name != "GpuInfo"}
    assert instance_type(facts | {"InstanceType": "m9.large"}, None) is None


def test_descriptions_that_cannot_be_read_are_counted(known: Known) -> None:
    broken = [{}, {"InstanceType": "p5.48xlarge"}, {"InstanceType": "x", "GpuInfo": 5}]
    client = Pages(describe_instance_types=[{"InstanceTypes": broken}])
    assert read(AwsMachines("us-east-1", known, by(client))) == [
        Note("3 instance types are not described as documented")
    ]


# --- what goes wrong ---


def test_an_error_shows_its_code_and_not_its_message(known: Known) -> None:
    for source in (AwsPriceQuery, AwsMachines):
        client = Pages(get_products=[{}, denied()], describe_instance_types=[denied()])
        with pytest.raises(FeedError, match="AccessDeniedException") as raised:
            read(source("us-east-1", known, by(client)))
        assert "secret-name" not in str(raised.value)


def test_no_network_is_offline(known: Known) -> None:
    client = Pages(get_products=[EndpointConnectionError(endpoint_url="http://x")])
    with pytest.raises(OfflineError):
        read(AwsPriceQuery("us-east-1", known, by(client)))
    client = Pages(get_products=[PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY")])
    with pytest.raises(FeedError, match="PartialCredentialsError"):
        read(AwsPriceQuery("us-east-1", known, by(client)))


def test_pages_without_end_are_given_up(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pricing.providers.aws_api.PAGES_AT_MOST", 3)
    with pytest.raises(FeedError, match="more than 3 pages"):
        read(AwsPriceQuery("us-east-1", known, by(Pages(get_products=[{}] * 9))))


# --- the real boto3 ---


@pytest.fixture
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> pytest.MonkeyPatch:
    """No credentials but those a test gives, and no way to this machine's metadata."""
    nowhere = str(tmp_path_factory.mktemp("aws") / "none")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", nowhere)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


def test_without_credentials_there_are_no_clients(isolated: pytest.MonkeyPatch) -> None:
    assert boto3_clients() is None


def test_credentials_that_do_not_work_are_one_sentence(isolated: pytest.MonkeyPatch) -> None:
    isolated.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(FeedError, match="AWS credentials cannot be used"):
        boto3_clients()


def test_products_come_by_boto3_page_by_page(server: Loopback, known: Known, isolated: pytest.MonkeyPatch) -> None:
    isolated.setenv("AWS_ACCESS_KEY_ID", "planted-id")
    isolated.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    isolated.setenv("AWS_ENDPOINT_URL_PRICING", server.url)

    def answer(request: Request) -> Reply:
        asked = json.loads(request.body)
        family = {each["Field"]: each["Value"] for each in asked["Filters"]}["productFamily"]
        elements = [json.dumps(product())] if asked.get("NextToken") and family == "Compute Instance" else []
        following = {} if asked.get("NextToken") else {"NextToken": "more"}
        document = {"FormatVersion": "aws_v1", "PriceList": elements} | following
        return Reply(json.dumps(document).encode(), headers={"Content-Type": "application/x-amz-json-1.1"})

    server.answers["/"] = answer
    clients = boto3_clients()
    assert clients is not None
    found = read(AwsPriceQuery("us-east-1", known, clients))
    assert prices(found) == {("p5.48xlarge", "on_demand"): "55.04"}
    assert server.count("/") == 4
    assert not any(b"planted-secret" in request.body for request in server.requests)


def test_reading_can_be_cancelled(known: Known) -> None:
    async def cancelled() -> None:
        client = Pages(get_products=[{}] * 1000)
        source = AwsPriceQuery("us-east-1", known, by(client))
        task = asyncio.ensure_future(_drain(source))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


async def _drain(source: AwsPriceQuery) -> None:
    from pricing.http import Http

    async with Http() as http:
        async for _ in source.read(http, lambda progress: None, ""):
            pass


def _xml(action: str, inner: str) -> Reply:
    body = f'<?xml version="1.0"?><{action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">{inner}</{action}Response>'
    return Reply(body.encode(), headers={"Content-Type": "text/xml;charset=UTF-8"})


def _ec2(request: Request) -> Reply:
    """EC2's own protocol: spot prices on three pages, the last of which has the machine that tools have missed."""
    asked = dict(parse_qsl(request.body.decode()))
    match asked["Action"]:
        case "DescribeAvailabilityZones":
            zone = "<item><zoneName>us-west-2a</zoneName><zoneId>usw2-az2</zoneId></item>"
            return _xml("DescribeAvailabilityZones", f"<availabilityZoneInfo>{zone}</availabilityZoneInfo>")
        case "DescribeSpotPriceHistory":
            page = int(asked.get("NextToken") or 0)
            assert asked["ProductDescription.1"] == "Linux/UNIX"
            machine, price = (("g4dn.xlarge", "0.21"), ("p4d.24xlarge", "12.5"), ("p3.16xlarge", "9.1"))[page]
            row = (
                f"<item><instanceType>{machine}</instanceType><productDescription>Linux/UNIX</productDescription>"
                f"<spotPrice>{price}</spotPrice><timestamp>2026-11-30T09:00:00.000Z</timestamp>"
                "<availabilityZone>us-west-2a</availabilityZone></item>"
            )
            token = f"<nextToken>{page + 1}</nextToken>" if page < 2 else "<nextToken></nextToken>"
            return _xml("DescribeSpotPriceHistory", f"<spotPriceHistorySet>{row}</spotPriceHistorySet>{token}")
        case _:
            gpu = (
                "<item><name>Rubin</name><count>8</count><memoryInfo><sizeInMiB>294912</sizeInMiB></memoryInfo></item>"
            )
            machine = (
                f"<item><instanceType>p9.48xlarge</instanceType><gpuInfo><gpus>{gpu}</gpus></gpuInfo>"
                "<vCpuInfo><defaultVCpus>192</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>2097152</sizeInMiB>"
                "</memoryInfo><networkInfo><networkPerformance>3200 Gigabit</networkPerformance>"
                "<efaSupported>true</efaSupported></networkInfo></item>"
            )
            return _xml("DescribeInstanceTypes", f"<instanceTypeSet>{machine}</instanceTypeSet>")


def test_spot_prices_and_machines_come_by_boto3_page_by_page(
    server: Loopback, known: Known, isolated: pytest.MonkeyPatch
) -> None:
    """skypilot#236: p3.16xlarge in us-west-2 was on a page that nobody asked for."""
    isolated.setenv("AWS_ACCESS_KEY_ID", "planted-id")
    isolated.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    isolated.setenv("AWS_ENDPOINT_URL_EC2", server.url)
    server.answers["/"] = _ec2
    clients = boto3_clients()
    assert clients is not None
    found = read(AwsSpotHistory("us-west-2", known, clients))
    assert {(each.instance_type, each.zone, each.price) for each in found if isinstance(each, Offer)} == {
        ("g4dn.xlarge", "usw2-az2", "0.21"),
        ("p4d.24xlarge", "usw2-az2", "12.5"),
        ("p3.16xlarge", "usw2-az2", "9.1"),
    }
    (machine,) = read(AwsMachines("us-west-2", known, clients))
    assert isinstance(machine, InstanceType)
    assert (machine.instance_type, machine.num_gpus, machine.network_gbit_s) == ("p9.48xlarge", 8, 3200)
