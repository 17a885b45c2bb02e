"""All providers' feeds on one loopback server, in their real shapes, and the sources that read them."""

from __future__ import annotations

from pathlib import Path

from pricing.endpoints import Endpoints
from pricing.providers.aws_bulk import AwsBulk
from pricing.providers.aws_spot import AwsSpotAdvisor, AwsSpotPrice
from pricing.providers.azure import AzureRetail
from pricing.providers.base import Known, Source
from pricing.providers.gcp import COMPUTE, OLDER_TPUS, GcpBilling
from pricing.providers.gcp_credentials import ApiKey
from tests.pricing.loopback import Loopback, Reply, Request, json_reply
from tests.pricing.payloads import a2_skus, advisor, azure_item, azure_page, bulk_file, bulk_row, spot_js

KEY = "planted-api-key"
ADVISOR, SPOT, AZURE = "/advisor.json", "/spot.js", "/api/retail/prices"
SKUS, TPUS = f"/v1/services/{COMPUTE}/skus", f"/v1/services/{OLDER_TPUS}/skus"


def bulk_path(region: str) -> str:
    return f"/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"


def serve_aws(server: Loopback, *regions: str) -> None:
    """G4dn and P5 in each region, with the decoys that surround them."""
    for region in regions:
        place = {"Region_Code": region}
        content = bulk_file(
            bulk_row(**place),
            bulk_row(**place, CapacityStatus="UnusedCapacityReservation", PricePerUnit="1.0"),
            bulk_row(**place, Instance_Type="g4dn.xlarge", PricePerUnit="0.6000000000"),
            bulk_row(**place, Instance_Type="g4dn.xlarge", Tenancy="Host", PricePerUnit="0.0000000000"),
        )
        server.answers[bulk_path(region)] = lambda request, content=content: Reply(content)  # type: ignore[misc]
    server.answers[ADVISOR] = lambda request: json_reply(advisor({region: {"g4dn.xlarge": 1} for region in regions}))
    server.answers[SPOT] = lambda request: Reply(spot_js({region: {"g4dn.xlarge": "0.2"} for region in regions}))


def serve_gcp(server: Loopback, pages: int = 7, regions: tuple[str, ...] = ("us-central1",)) -> None:
    skus = a2_skus(regions)

    def answer(request: Request) -> Reply:
        number = int(request.query.get("pageToken", "0"))
        following = str(number + 1) if number + 1 < pages else ""
        return json_reply({"skus": skus[number : number + 1], "nextPageToken": following})

    server.answers[SKUS] = answer
    server.answers[TPUS] = lambda request: json_reply({"skus": []})


def serve_azure(server: Loopback, pages: int = 2) -> None:
    """Each region has one machine on its last page."""

    def answer(request: Request) -> Reply:
        region = request.query["$filter"].partition("armRegionName eq '")[2].partition("'")[0]
        number = int(request.query.get("$skip", "0"))
        if number + 1 < pages:
            wanted = request.query["$filter"]
            return json_reply(azure_page([], f"{server.url}{AZURE}?$filter={wanted}&$skip={number + 1}"))
        return json_reply(azure_page([azure_item(armRegionName=region, retailPrice=4.0)]))

    server.answers[AZURE] = answer


def sources(
    server: Loopback,
    known: Known,
    aws: tuple[str, ...] = ("us-east-1",),
    azure: tuple[str, ...] = ("eastus",),
    gcp: bool = True,
) -> list[Source]:
    """The public AWS feeds, Azure's regions and GCP's catalogue as served above."""
    found: list[Source] = [AwsSpotAdvisor(known, f"{server.url}{ADVISOR}")]
    found.append(AwsSpotPrice(None, known, f"{server.url}{SPOT}"))
    found += [AwsBulk(region, known, server.url) for region in aws]
    found += [AzureRetail(region, known, f"{server.url}{AZURE}") for region in azure]
    if gcp:
        found.append(GcpBilling((), known, server.url, ApiKey(KEY)))
    return found


def serve_all(server: Loopback) -> None:
    serve_aws(server, "us-east-1")
    serve_gcp(server)
    serve_azure(server)


def environment(server: Loopback, home: Path) -> dict[str, str]:
    """What a command needs to read these feeds and no others."""
    return {
        "GPUPLANNER_AWS_BULK_URL": server.url,
        "GPUPLANNER_AWS_SPOT_ADVISOR_URL": f"{server.url}{ADVISOR}",
        "GPUPLANNER_AWS_SPOT_PRICE_URL": f"{server.url}{SPOT}",
        "GPUPLANNER_GCP_BILLING_URL": server.url,
        "GPUPLANNER_AZURE_RETAIL_URL": f"{server.url}{AZURE}",
        "GPUPLANNER_GCP_API_KEY": KEY,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(home / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(home / "none"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "HOME": str(home),
    }


def where(server: Loopback) -> Endpoints:
    return Endpoints(
        server.url, f"{server.url}{ADVISOR}", f"{server.url}{SPOT}", server.url, "", f"{server.url}{AZURE}"
    )
