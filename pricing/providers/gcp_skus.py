"""Google Cloud's SKUs: what one unit of a part (a core, a GiB of memory, a GPU, a TPU) costs per hour, by region.

The catalogue holds many SKUs that look like the plain price of a part and are not: capacity booked for a fixed time,
commitments, sole tenancy, workstation licences. They are told apart by their descriptions; the place is taken from
``serviceRegions``, never from the words "Americas" or "Iowa".
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from pricing.providers.base import text_of

HOURS_PER_MONTH = 730
SSD = "ssd backed local storage"

# What a description may not contain to be the price of a part in an ordinary machine.
DECOYS = (
    "dws",
    "defined duration",
    "calendar mode",
    "capacity optimized",
    "flex",
    "reserved",
    "commitment",
    "committed",
    "sole tenancy",
    "custom",
    "premium",
    "suspended",
    "vws",
    "virtual workstation",
    "upgrade",
    "extended",
)
_SPOT_WORDS = (" attached to spot preemptible vms", " attached to preemptible vms", "spot preemptible ", "preemptible ")
_UNITS = {"h": 1, "GiBy.h": 1, "GiBy.mo": HOURS_PER_MONTH}


class Part(NamedTuple):
    """A part in the words of its SKU, folded: 'a2 instance core', 'a100 80gb gpu', 'tpu v5e', 'tpu v3 pod'."""

    name: str
    spot: bool


class Rates:
    """USD per hour of one unit of each part, by region."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, Part], Decimal] = {}
        self.gpus: set[str] = set()

    def add(self, sku: object) -> None:
        """Take a SKU into account; the dearest of several for one part counts, whatever their order."""
        if not isinstance(sku, dict):
            return
        category = sku.get("category")
        category = category if isinstance(category, dict) else {}
        part = part_of(text_of(sku, "description"), text_of(category, "usageType"))
        regions = sku.get("serviceRegions")
        if part is None or not isinstance(regions, list):
            return
        rate = _usd_per_hour(sku)
        if rate is None:
            return
        if text_of(category, "resourceGroup") == "GPU":
            self.gpus.add(part.name)
        for region in regions:
            if isinstance(region, str):
                held = self._rates.get((region, part), rate)
                self._rates[region, part] = max(held, rate)

    def rate(self, region: str, names: tuple[str, ...], spot: bool) -> Decimal | None:
        """The rate of the part under the first of its names that has one in the region."""
        for name in names:
            rate = self._rates.get((region, Part(name, spot)))
            if rate is not None:
                return rate
        return None

    def regions(self) -> set[str]:
        return {region for region, _ in self._rates}


def part_of(description: str, usage_type: str) -> Part | None:
    """Which part of an ordinary machine the SKU prices; None for everything else."""
    text = description.lower()
    if usage_type not in ("OnDemand", "Preemptible") or any(decoy in text for decoy in DECOYS):
        return None
    spot = usage_type == "Preemptible" or "preemptible" in text
    for words in _SPOT_WORDS:
        text = text.replace(words, "")
    text = text.partition(" running in ")[0].replace("nvidia ", "").replace("tesla ", "")
    return Part(_tpu(text) or " ".join(text.split()), spot)


def _tpu(text: str) -> str:
    """'tpu v2', with ' pod' for the price within a pod; '' for what is no TPU. Written TPU-v2, TpuV6e, Tpu-V5p ..."""
    if not text.startswith("tpu"):
        return ""
    version = text.removeprefix("tpu").lstrip("- ").split()[0:1]
    if not version or not version[0].startswith("v"):
        return ""
    name, _, rest = version[0].partition("-")
    return f"tpu {name}" + (" pod" if "pod" in rest or "pod" in text.split()[1:] else "")


def _usd_per_hour(sku: Mapping[str, object]) -> Decimal | None:
    """The rate of the last tier in USD; None where there is none above zero or it is in another unit or currency."""
    infos = sku.get("pricingInfo")
    expression = infos[-1].get("pricingExpression") if isinstance(infos, list) and _is_record(infos[-1:]) else None
    if not isinstance(expression, dict):
        return None
    hours = _UNITS.get(text_of(expression, "usageUnit"))
    tiers = expression.get("tieredRates")
    price = tiers[-1].get("unitPrice") if isinstance(tiers, list) and _is_record(tiers[-1:]) else None
    if hours is None or not isinstance(price, dict) or price.get("currencyCode") != "USD":
        return None
    units, nanos = price.get("units", "0"), price.get("nanos", 0)
    if not (isinstance(units, str | int) and str(units).isdecimal() and len(str(units)) < 10 and type(nanos) is int):
        return None
    rate = (Decimal(int(units)) + Decimal(nanos) / 10**9) / hours
    return rate if rate > 0 and 0 <= nanos < 10**9 else None


def _is_record(last: list[object]) -> bool:
    return bool(last) and isinstance(last[0], dict)
