"""Where the providers' feeds are, so that a mirror or a loopback server can stand in for each."""

from collections.abc import Mapping
from typing import NamedTuple


class Endpoints(NamedTuple):
    """Whole addresses, but ``aws_bulk`` is the part before /offers/v1.0/aws and ``gcp_billing`` before /v1/services."""

    aws_bulk: str = "https://pricing.us-east-1.amazonaws.com"
    aws_spot_advisor: str = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
    aws_spot_price: str = "https://spot-price.s3.amazonaws.com/spot.js"
    gcp_billing: str = "https://cloudbilling.googleapis.com"
    gcp_token: str = "https://oauth2.googleapis.com/token"
    azure_retail: str = "https://prices.azure.com/api/retail/prices"


def endpoints(environment: Mapping[str, str]) -> Endpoints:
    """The public addresses, each replaced by GPUPLANNER_<NAME>_URL where that is set."""
    found = {
        name: value.rstrip("/")
        for name in Endpoints._fields
        if (value := environment.get(f"GPUPLANNER_{name.upper()}_URL", "").strip())
    }
    return Endpoints(**found)
