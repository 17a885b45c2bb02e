"""Small payloads in the providers' real shapes, to be changed by the test that uses them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

BULK_PREAMBLE = (
    '"FormatVersion","v1.0"\n"Disclaimer","This pricing list is for informational purposes only."\n'
    '"Publication Date","2026-11-28T00:00:00Z"\n"Version","20261128000000"\n"OfferCode","AmazonEC2"\n'
)
_BEFORE = (
    "SKU,OfferTermCode,RateCode,TermType,PriceDescription,EffectiveDate,StartingRange,EndingRange,Unit,PricePerUnit,"
    "Currency,RelatedTo,LeaseContractLength,PurchaseOption,OfferingClass,Product Family,serviceCode,Location,"
    "Location Type,Instance Type,Current Generation,Instance Family,vCPU,Physical Processor,Clock Speed,Memory,Storage,"
    "Network Performance,Processor Architecture,Storage Media,Volume Type,Max Volume Size,Max IOPS/volume,"
    "Max IOPS Burst Performance,Max throughput/volume,Provisioned,Tenancy,EBS Optimized,Operating System,License Model,"
    "Group,Group Description,Transfer Type,From Location,From Location Type,To Location,To Location Type,usageType,"
    "operation,AvailabilityZone,CapacityStatus,ClassicNetworkingSupport,Dedicated EBS Throughput,ECU,Elastic Graphics,"
    "Enhanced Networking Supported,From Region Code,GPU,GPU Memory,Instance,Instance Capacity,Intel AVX Available,"
    "MarketOption,Normalization Size Factor,Physical Cores,Pre Installed S/W,Processor Features,Product Type,"
    "Region Code,Resource Type,serviceName,SnapshotArchive Fee Type,To Region Code,Volume API Name,VPC"
)
BULK_COLUMNS = tuple(_BEFORE.split(","))

_PLAIN = {
    "SKU": "3D4V8UAYEMB38GU2",
    "TermType": "OnDemand",
    "EffectiveDate": "2026-09-01",
    "StartingRange": "0",
    "EndingRange": "Inf",
    "Unit": "Hrs",
    "PricePerUnit": "55.0400000000",
    "Currency": "USD",
    "Product Family": "Compute Instance",
    "serviceCode": "AmazonEC2",
    "Location": "US East (N. Virginia)",
    "Location Type": "AWS Region",
    "Instance Type": "p5.48xlarge",
    "Instance Family": "GPU instance",
    "vCPU": "192",
    "Memory": "2,048 GiB",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "License Model": "No License required",
    "usageType": "BoxUsage:p5.48xlarge",
    "operation": "RunInstances",
    "CapacityStatus": "Used",
    "GPU": "8",
    "GPU Memory": "640 GB HBM3",
    "MarketOption": "OnDemand",
    "Pre Installed S/W": "NA",
    "Region Code": "us-east-1",
}
RESERVED = {
    "TermType": "Reserved",
    "LeaseContractLength": "1yr",
    "PurchaseOption": "No Upfront",
    "OfferingClass": "standard",
}


def bulk_row(**changes: str) -> str:
    """One line of the bulk file; keywords name columns with _ for a blank (Instance_Type='g6.xlarge')."""
    cells = _PLAIN | {name.replace("_", " "): value for name, value in changes.items()}
    return bulk_line(cells)


def bulk_line(cells: dict[str, str]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(
        [cells.get(column, "") for column in BULK_COLUMNS]
    )
    return out.getvalue()


def bulk_file(*rows: str) -> bytes:
    header = ",".join(f'"{column}"' for column in BULK_COLUMNS)
    return f"{BULK_PREAMBLE}{header}\n{''.join(rows)}".encode()


def product(price: str | None = "55.0400000000", currency: str = "USD", **attributes: str) -> dict[str, Any]:
    """One element of GetProducts' PriceList, decoded; ``price`` None is a product without terms."""
    plain = {
        "capacitystatus": "Used",
        "instanceFamily": "GPU instance",
        "instanceType": "p5.48xlarge",
        "locationType": "AWS Region",
        "marketoption": "OnDemand",
        "operatingSystem": "Linux",
        "operation": "RunInstances",
        "preInstalledSw": "NA",
        "regionCode": "us-east-1",
        "tenancy": "Shared",
    }
    dimensions = {"A.B.C": {"unit": "Hrs", "beginRange": "0", "pricePerUnit": {currency: price}}}
    terms = {} if price is None else {"OnDemand": {"A.B": {"priceDimensions": dimensions, "termAttributes": {}}}}
    return {
        "product": {"productFamily": "Compute Instance", "attributes": plain | attributes, "sku": "A"},
        "serviceCode": "AmazonEC2",
        "terms": terms,
    }


def spot_js(prices: dict[str, dict[str, str]]) -> bytes:
    """The public spot price file: Linux prices by machine, by region as the file calls it."""
    regions = [
        {
            "region": region,
            "instanceTypes": [
                {
                    "type": "gpu",
                    "sizes": [
                        {
                            "size": machine,
                            "valueColumns": [
                                {"name": "linux", "prices": {"USD": price}},
                                {"name": "mswin", "prices": {"USD": "N/A*"}},
                            ],
                        }
                        for machine, price in machines.items()
                    ],
                }
            ],
        }
        for region, machines in prices.items()
    ]
    config = {"rate": "perhr", "valueColumns": ["linux", "mswin"], "currencies": ["USD"], "regions": regions}
    return f"callback({json.dumps({'vers': 0.01, 'config': config})});".encode()


def advisor(steps: dict[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "spot_advisor": {
            region: {"Linux": {machine: {"s": 70, "r": step} for machine, step in machines.items()}, "Windows": {}}
            for region, machines in steps.items()
        }
    }


def azure_item(**changes: object) -> dict[str, object]:
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": 3.673,
        "unitPrice": 3.673,
        "armRegionName": "eastus",
        "effectiveStartDate": "2022-06-01T00:00:00Z",
        "meterName": "NC24ads A100 v4",
        "productName": "Virtual Machines NCads A100 v4 Series",
        "skuName": "NC24ads A100 v4",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": "Standard_NC24ads_A100_v4",
    } | changes


def azure_page(items: list[dict[str, object]], following: str | None = None) -> dict[str, object]:
    return {"BillingCurrency": "USD", "Items": items, "NextPageLink": following, "Count": len(items)}


def sku(
    description: str,
    price: float | str,
    *,
    group: str = "GPU",
    usage: str = "OnDemand",
    unit: str = "h",
    regions: tuple[str, ...] = ("us-central1",),
    currency: str = "USD",
) -> dict[str, Any]:
    """A SKU of the billing catalogue at ``price`` per ``unit``."""
    units, _, fraction = f"{float(price):.9f}".partition(".")
    return {
        "description": description,
        "category": {"resourceFamily": "Compute", "resourceGroup": group, "usageType": usage},
        "serviceRegions": list(regions),
        "pricingInfo": [
            {
                "pricingExpression": {
                    "usageUnit": unit,
                    "tieredRates": [
                        {
                            "startUsageAmount": 0,
                            "unitPrice": {"currencyCode": currency, "units": units, "nanos": int(fraction)},
                        }
                    ],
                }
            }
        ],
    }


def a2_skus(regions: tuple[str, ...] = ("us-central1",)) -> list[dict[str, Any]]:
    """The parts of an A2 machine with A100-40GB, on demand and spot, as published in 2023-03 and 2026-08."""
    return [
        sku("A2 Instance Core running in Americas", 0.031611, group="CPU", regions=regions),
        sku("A2 Instance Ram running in Americas", 0.004237, group="RAM", unit="GiBy.h", regions=regions),
        sku("Nvidia Tesla A100 GPU running in Americas", 2.933908, regions=regions),
    ]


def plan_rate(price: str = "14.02", machine: str = "p4d.24xlarge", **changed: Any) -> dict[str, Any]:
    """One element of searchResults; ``changed`` replaces members of it, of its plan, or of its properties."""
    plan = {
        "offeringId": "0b47ba05-bc1e-4a4c-90e3-37e1b1b36d1e",
        "paymentOption": "No Upfront",
        "planType": "Compute",
        "durationSeconds": 31_536_000,
        "currency": "USD",
    }
    properties = {
        "region": "us-east-1",
        "instanceType": machine,
        "productDescription": "Linux/UNIX",
        "tenancy": "shared",
    }
    element = {
        "savingsPlanOffering": {**plan, **{key: value for key, value in changed.items() if key in plan}},
        "rate": price,
        "unit": "Hrs",
        "productType": "EC2",
        "serviceCode": "AmazonEC2",
        "usageType": f"BoxUsage:{machine}",
        "operation": "RunInstances",
    }
    element |= {key: value for key, value in changed.items() if key in element}
    properties |= {key: value for key, value in changed.items() if key in properties}
    return {**element, "properties": [{"name": key, "value": value} for key, value in properties.items()]}
