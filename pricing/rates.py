"""What a provider charges beside the machine: in which steps time is billed, disk by GB and month, traffic out by GB.

Rates are of one region a provider (the source says which); a rate that is not known is None, never 0. A rate of 0 is a
published one: the thing is included or free.
"""

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pricing.errors import PricingError

PACKAGED = Path(__file__).parent / "data" / "rates.csv"
HOURS_PER_MONTH = 730.0
SECONDS_PER_HOUR = 3600.0


class Rate(NamedTuple):
    """One published rate: per GB above ``above_gb`` in a month, or of the whole (``above_gb`` 0)."""

    above_gb: float
    value: float
    as_of: str
    source: str


class Billing(NamedTuple):
    """Time is billed in steps of ``grain_s``, at least ``minimum_s``; ``source`` says where that is written."""

    grain_s: float
    minimum_s: float
    as_of: str
    source: str

    def billed_hours(self, running_s: float) -> float:
        """Hours on the bill of one machine that ran ``running_s`` seconds; a machine never started costs nothing."""
        if running_s <= 0:
            return 0.0
        steps = math.ceil(running_s / self.grain_s - 1e-9)
        return max(steps * self.grain_s, self.minimum_s) / SECONDS_PER_HOUR


# Where a provider's step is not known, the dearest usual one keeps the estimate on the safe side.
WHOLE_HOURS = Billing(SECONDS_PER_HOUR, SECONDS_PER_HOUR, "", "the provider's billing step is not known: whole hours")


def billing(provider: str) -> Billing:
    """How the provider bills time; whole hours where that is not known."""
    grain, minimum = _rates(provider, "billing_grain"), _rates(provider, "billing_minimum")
    if not grain or not minimum:
        return WHOLE_HOURS
    return Billing(grain[0].value, minimum[0].value, grain[0].as_of, grain[0].source)


def disk_rate(provider: str) -> Rate | None:
    """USD per GB and month (730 h) of an ordinary SSD volume; None where not known."""
    rates = _rates(provider, "disk")
    return rates[0] if rates else None


def object_storage_rate(provider: str) -> Rate | None:
    """USD per GB and month (730 h) of the provider's ordinary object storage; None where not known."""
    rates = _rates(provider, "object_storage")
    return rates[0] if rates else None


def egress_rates(provider: str) -> tuple[Rate, ...]:
    """USD per GB out to the internet, by amount in a month, from the first GB up; empty where not known."""
    return _rates(provider, "egress")


def egress_usd(provider: str, gigabytes: float) -> float | None:
    """What sending ``gigabytes`` out in one month costs, each tier at its own rate; None where not known."""
    rates = egress_rates(provider)
    if not rates:
        return None
    ends = [*(rate.above_gb for rate in rates[1:]), math.inf]
    return sum(
        max(0.0, min(gigabytes, end) - rate.above_gb) * rate.value for rate, end in zip(rates, ends, strict=True)
    )


def dearest_disk_rate() -> float:
    """The highest rate known of any provider, USD per GB and month (730 h)."""
    return max(rates[0].value for (_, kind), rates in _table(PACKAGED).items() if kind == "disk")


def dearest_egress_usd(gigabytes: float) -> float:
    """What sending ``gigabytes`` out costs at the provider, of those known, where that is dearest."""
    known = (egress_usd(provider, gigabytes) for provider, kind in _table(PACKAGED) if kind == "egress")
    return max((usd for usd in known if usd is not None), default=math.inf)


@cache
def _table(path: Path) -> dict[tuple[str, str], tuple[Rate, ...]]:
    found: dict[tuple[str, str], list[Rate]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                rate = Rate(float(row["above_gb"] or 0), float(row["value"]), row["as_of"], row["source"])
                found.setdefault((row["provider"], row["kind"]), []).append(rate)
    except (OSError, KeyError, ValueError) as error:
        raise PricingError(f"the table of rates {path} cannot be read: {error}") from error
    return {key: tuple(sorted(rates)) for key, rates in found.items()}


def _rates(provider: str, kind: str) -> tuple[Rate, ...]:
    return _table(PACKAGED).get((provider, kind), ())
