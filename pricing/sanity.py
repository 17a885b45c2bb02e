"""What must be true of price rows: checked when a snapshot is built, in the tests, and on a refresh.

A breach is a row that cannot be sold as it stands and must not get into a table; a flag is a row that is kept and
looked at with suspicion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from statistics import median

from pricing import flags
from pricing.age import age_days
from pricing.errors import PricingError
from pricing.offer import InstanceType, Offer

PURCHASES = ("on_demand", "spot", "reserved", "savings_plan", "capacity_block")

# A price below half of the median region is an error of the source far more often than a bargain: an H100 listed as
# on-demand at $4.20 that costs $9.80 was another product, capacity booked for a fixed window. So few spot
# prices lie as low (one in seventy of the snapshot) that one is of a moment at best.
FAR_BELOW_MEDIAN = 0.5
LEAST_FOR_A_MEDIAN = 3

_NO_DIGITS = str.maketrans("", "", "0123456789")


def breaches(
    offers: Iterable[Offer], types: Mapping[tuple[str, str], InstanceType], newest_day: date | None = None
) -> list[str]:
    """One sentence for each row that breaks an invariant; no rows, no breaches.

    ``newest_day`` is the last day a price may be dated (None: not checked).
    """
    found = []
    seen: set[tuple[str, str, str, str | None, str]] = set()
    for offer in offers:
        name = f"{offer.provider} {offer.instance_type} {offer.zone or offer.region} {offer.purchase}"
        key = offer[:5]
        if key in seen:
            found.append(f"{name}: a second price for the same place")
        seen.add(key)
        found += [f"{name}: {problem}" for problem in row_problems(offer, types, newest_day)]
    return found


def row_problems(
    offer: Offer, types: Mapping[tuple[str, str], InstanceType], newest_day: date | None = None
) -> list[str]:
    """What is wrong with one row by itself, a phrase each."""
    problems = []
    if (offer.provider, offer.instance_type) not in types:
        problems.append("the instance type is not in the table, so nobody knows what machine it is")
    if not is_price(offer.price) or float(offer.price) != offer.usd_per_hour:
        problems.append(f"{offer.price!r} is not a price above zero")
    if offer.purchase not in PURCHASES:
        problems.append(f"{offer.purchase!r} is not a way to buy")
    if offer.instance_type.startswith("per-gpu"):
        problems.append("a price of one GPU is not a price of a machine")
    if not offer.price_source:
        problems.append("no source")
    unknown = [flag for flag in offer.flags if flag not in flags.MEANING]
    if unknown:
        problems.append(f"unknown flag {unknown[0]!r}")
    try:
        age = age_days(offer.price_as_of, newest_day or date.max)
    except PricingError as error:
        return [*problems, str(error)]
    if age < 0:
        problems.append(f"seen on {offer.price_as_of}, which is in the future")
    return problems


def is_price(text: str) -> bool:
    """Whether ``text`` is a decimal above zero and finite: '0.0' and 'NaN' are what feeds write for 'no price'."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return False
    return value.is_finite() and value > 0


def machine_problems(machine: InstanceType, nominal_memory_gib: Mapping[str, float]) -> list[str]:
    """What is wrong with one instance type, given the memory in GiB of one whole accelerator by its key.

    The memory must be that of one accelerator (or of the share sold), never of the whole machine.
    """
    name = f"{machine.provider} {machine.instance_type}"
    problems = []
    if not machine.accelerator:
        if machine.num_gpus:
            problems.append(f"{name}: {machine.num_gpus:g} accelerators without a name")
        return problems
    if machine.num_gpus <= 0:
        problems.append(f"{name}: {machine.accelerator} without a count")
    nominal = nominal_memory_gib.get(machine.accelerator)
    if nominal is None:
        if not machine.unranked:
            problems.append(f"{name}: the accelerator {machine.accelerator!r} is unknown and not marked unranked")
        return problems
    expected = nominal * min(1.0, machine.num_gpus)
    memory = machine.memory_gib_per_gpu
    if memory is not None and abs(memory - expected) > 0.1 * expected:
        problems.append(f"{name}: {memory:g} GiB per accelerator, where {machine.accelerator} has {expected:g}")
    return problems


def with_flags(offers: Iterable[Offer]) -> list[Offer]:
    """The same rows, with the flags that only a comparison of rows can set."""
    rows = list(offers)
    on_demand = {offer[:4]: offer.usd_per_hour for offer in rows if offer.purchase == "on_demand"}
    medians, shares = _median_of_regions(rows), _usual_spot_shares(rows, on_demand)
    return [_flagged(offer, on_demand, medians, shares) for offer in rows]


def with_size_flags(offers: Iterable[Offer], types: Mapping[tuple[str, str], InstanceType]) -> list[Offer]:
    """The same rows, flagged where a machine costs less than one of its series with fewer accelerators, in one place.

    A series is one accelerator under one name but for the digits; the smaller machine must not have the larger host.
    """
    rows = list(offers)
    series: dict[tuple[object, ...], list[tuple[float, float, float]]] = {}
    places: list[tuple[tuple[object, ...], tuple[float, float, float]] | None] = []
    for offer in rows:
        machine = types.get(offer[:2])
        if machine is None or machine.num_gpus < 1:
            places.append(None)
            continue
        name = machine.instance_type.translate(_NO_DIGITS)
        place = (offer.provider, offer.region, offer.zone, offer.purchase, machine.accelerator, name)
        size = (machine.num_gpus, machine.vcpus or 0.0, offer.usd_per_hour)
        places.append((place, size))
        series.setdefault(place, []).append(size)
    return [
        _with_flag(offer, flags.CHEAPER_THAN_SMALLER) if found and _is_below_a_smaller(*found, series) else offer
        for offer, found in zip(rows, places, strict=True)
    ]


def _is_below_a_smaller(
    place: tuple[object, ...],
    size: tuple[float, float, float],
    series: Mapping[tuple[object, ...], list[tuple[float, float, float]]],
) -> bool:
    num_gpus, vcpus, usd = size
    return any(count < num_gpus and host <= vcpus and price > usd for count, host, price in series[place])


def _with_flag(offer: Offer, flag: str) -> Offer:
    return offer._replace(flags=tuple(sorted({*offer.flags, flag})))


def _flagged(
    offer: Offer,
    on_demand: Mapping[tuple[str, str, str, str | None], float],
    medians: Mapping[tuple[str, str, str], float],
    shares: Mapping[str, float],
) -> Offer:
    marks = set(offer.flags)
    middle = medians.get((offer.provider, offer.instance_type, offer.purchase))
    if offer.purchase == "spot":
        here = _on_demand_here(offer, on_demand)
        if here is not None and offer.usd_per_hour > here:
            marks.add(flags.SPOT_ABOVE_ON_DEMAND)
        if middle is None and here is not None and offer.provider in shares:
            middle = shares[offer.provider] * here
    if middle is not None and offer.usd_per_hour < FAR_BELOW_MEDIAN * middle:
        marks.add(flags.FAR_BELOW_MEDIAN)
    return offer._replace(flags=tuple(sorted(marks)))


def _on_demand_here(offer: Offer, on_demand: Mapping[tuple[str, str, str, str | None], float]) -> float | None:
    """The price on demand in the zone of an offer, else in its region; None where it is not sold so."""
    regional = on_demand.get((offer.provider, offer.instance_type, offer.region, None))
    return on_demand.get(offer[:4], regional)


def _usual_spot_shares(
    offers: Iterable[Offer], on_demand: Mapping[tuple[str, str, str, str | None], float]
) -> dict[str, float]:
    """What a provider's spot prices are of its prices on demand: the median of its machines' medians.

    A machine whose spot is sold in too few regions for a median of its own is held against it. Providers with as few
    machines have none.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for offer in offers:
        here = _on_demand_here(offer, on_demand) if offer.purchase == "spot" else None
        if here is not None:
            machines = found.setdefault(offer.provider, {})
            machines.setdefault(offer.instance_type, []).append(offer.usd_per_hour / here)
    return {
        provider: median(median(shares) for shares in machines.values())
        for provider, machines in found.items()
        if len(machines) >= LEAST_FOR_A_MEDIAN
    }


def _median_of_regions(offers: Iterable[Offer]) -> dict[tuple[str, str, str], float]:
    """Median over regions of a machine's lowest price under a purchase option, where at least three regions sell it."""
    lowest: dict[tuple[str, str, str], dict[str, float]] = {}
    for offer in offers:
        regions = lowest.setdefault((offer.provider, offer.instance_type, offer.purchase), {})
        regions[offer.region] = min(offer.usd_per_hour, regions.get(offer.region, offer.usd_per_hour))
    return {machine: median(prices.values()) for machine, prices in lowest.items() if len(prices) >= LEAST_FOR_A_MEDIAN}
