"""Mend, flag or quarantine what is known to be wrong with the collected price rows, each fault by name.

A row carries an on-demand and a spot price of one place; each becomes an offer of its own with its own source and day.
The faults of the collection, and what is done about each:

per_gpu_price               quarantined: the price is of one GPU, not of a machine one can rent
minimum_of_spot_on_demand   quarantined: the lowest of spot and on-demand, nobody knows which
not_a_price                 quarantined: 0, NaN and the like are what feeds write where there is no price
two_prices_one_machine      the dearer one kept, the other quarantined: the source does not say where each holds
one_name_many_machines      mended: what tells the machines apart is put into the name
memory_is_machine_total     mended: divided by the number of GPUs (Vast)
memory_divided              mended: multiplied back (Fluidstack)
two_sources_in_one_row      mended: the Azure spot price gets its own source and day
undated, month_only         the earliest possible day, flagged
list_price_only             flagged: not sold as plain on-demand
local_ssd_left_out          flagged
region_is_prose             mended: 'Florida, US, NA' becomes us-florida, '(all)' becomes all
fraction_rounded            mended: 0.167 of a GPU is a sixth
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from price_snapshot.rows import Row, Source, source_name
from pricing import flags, sanity
from pricing.offer import Offer

PER_GPU = "the price is of one GPU; machines of this provider and their prices are not in the source"
MINIMUM = "the lower of spot and on-demand, and the source does not say which"
NOT_A_PRICE = "the source states no price above zero"
TWO_PRICES = "two prices for one machine and no place to tell them apart; the dearer one is kept"


@dataclass(frozen=True, slots=True)
class Sorted:
    """The rows after sorting: what is offered, what is kept apart and why, and how often each fault was met."""

    offers: list[Offer]
    quarantined: list[tuple[Row, Offer, str]]
    machines: list[Row]
    faults: Counter[str]


def sort_rows(rows: Iterable[Row], sources: list[Source]) -> Sorted:
    """Mend every row, then split it into offers or quarantine it."""
    faults: Counter[str] = Counter()
    mended = _tell_apart([_mend(row, faults) for row in rows], faults)
    result = Sorted([], [], [], faults)
    seen: set[tuple[object, ...]] = set()
    for row in sorted(mended, key=_dearer_first):
        reason = _whole_row_fault(row, faults)
        for offer in _offers(row, sources, faults):
            key = (offer.provider, offer.instance_type, offer.region, offer.zone, offer.purchase)
            if reason:
                result.quarantined.append((row, offer, reason))
            elif not sanity.is_price(offer.price):
                faults["not_a_price"] += 1
                result.quarantined.append((row, offer, NOT_A_PRICE))
            elif key in seen:
                faults["two_prices_one_machine"] += 1
                result.quarantined.append((row, offer, TWO_PRICES))
            else:
                seen.add(key)
                result.offers.append(offer)
        if not reason:
            result.machines.append(row)
    return result


def _mend(row: Row, faults: Counter[str]) -> Row:
    memory, label = row.memory_gib_per_gpu, row.label
    if row.provider == "vast" and memory is not None:
        memory = memory / row.num_gpus
        faults["memory_is_machine_total"] += row.num_gpus > 1
    if row.provider == "fluidstack" and memory is not None:
        memory = memory * row.num_gpus
        faults["memory_divided"] += row.num_gpus > 1
    if row.label == "V100" and memory == 32:
        label = "V100-32GB"
    num_gpus = _exact_share(row.num_gpus)
    faults["fraction_rounded"] += num_gpus != row.num_gpus
    if memory is not None and num_gpus != row.num_gpus:
        memory = round(memory / row.num_gpus) * num_gpus
    region = _region(row.region)
    faults["region_is_prose"] += region != row.region
    return replace(row, label=label, memory_gib_per_gpu=memory, num_gpus=num_gpus, region=region)


def _exact_share(num_gpus: float) -> float:
    """0.167 and 0.333 are a sixth and a third, rounded by the source; counts of whole GPUs stay."""
    if num_gpus == 0 or num_gpus >= 1:
        return num_gpus
    return float(Fraction(1, round(1 / num_gpus)))


def _region(text: str) -> str:
    """A region one can type: '(all)' -> 'all', 'New York, US, NA' -> 'us-new-york', ', US, NA' -> 'us-unstated'."""
    if text.startswith("("):
        return text.strip("()")
    if "," not in text:
        return text
    place, country, _continent = (part.strip() for part in text.split(","))
    return f"{country}-{place or 'unstated'}".lower().replace(" ", "-")


def _tell_apart(rows: list[Row], faults: Counter[str]) -> list[Row]:
    """Put what differs into the name where one name stands for several machines, so that a name is one machine."""
    shapes: dict[tuple[str, str], set[tuple[object, ...]]] = {}
    for row in rows:
        if not _is_per_gpu(row):
            shapes.setdefault((row.provider, row.instance_type), set()).add(_shape(row))
    named = []
    for row in rows:
        variants = shapes.get((row.provider, row.instance_type), set())
        if len(variants) > 1:
            faults["one_name_many_machines"] += 1
            row = replace(row, instance_type=row.instance_type + _distinction(row, variants))
        named.append(row)
    return named


def _shape(row: Row) -> tuple[object, ...]:
    return (row.label, row.num_gpus, row.memory_gib_per_gpu, row.vcpus, row.memory_gib)


def _distinction(row: Row, variants: set[tuple[object, ...]]) -> str:
    """'-80GB' where the GPUs differ in memory, else '-2vcpu-4gb' for the host."""
    if len({variant[2] for variant in variants}) > 1:
        return f"-{row.memory_gib_per_gpu:g}GB"
    return f"-{row.vcpus:g}vcpu-{row.memory_gib:g}gb"


def _is_per_gpu(row: Row) -> bool:
    return row.instance_type.startswith("per-gpu")


def _whole_row_fault(row: Row, faults: Counter[str]) -> str:
    if "MIN of on-demand AND spot" in row.source:
        faults["minimum_of_spot_on_demand"] += 1
        return MINIMUM
    if _is_per_gpu(row):
        faults["per_gpu_price"] += 1
        return PER_GPU
    return ""


def _dearer_first(row: Row) -> tuple[str, str, str, str, float]:
    dearest = max((float(text) for text in (row.on_demand, row.spot) if sanity.is_price(text)), default=0.0)
    return (row.provider, row.instance_type, row.region, row.zone or "", -dearest)


def _offers(row: Row, sources: list[Source], faults: Counter[str]) -> Iterator[Offer]:
    for purchase, price in (("on_demand", row.on_demand), ("spot", row.spot)):
        if not price:
            continue
        source, dated = _provenance(row, purchase, faults)
        as_of, marks = _earliest_day(dated, faults)
        marks += _marks(row, purchase, faults)
        yield Offer(
            provider=row.provider,
            instance_type=row.instance_type,
            region=row.region,
            zone=row.zone,
            purchase=purchase,
            price=price,
            usd_per_hour=float(price),
            flags=tuple(sorted(marks)),
            price_as_of=as_of,
            price_source=source_name(source, sources),
        )


def _provenance(row: Row, purchase: str, faults: Counter[str]) -> tuple[str, str]:
    """The source text and day of one price: a combined Azure row dates its spot price inside the source text."""
    combined = " (on-demand) + "
    if combined not in row.source:
        return row.source, row.source_date
    on_demand, spot = row.source.split(combined)
    if purchase == "on_demand":
        return on_demand, row.source_date
    faults["two_sources_in_one_row"] += 1
    words = spot.removesuffix(" (spot)").split()
    return " ".join(words[:-1]), words[-1]


def _earliest_day(dated: str, faults: Counter[str]) -> tuple[str, list[str]]:
    """'2026-01-22..2026-06 (undated)' -> 2026-01-22, '2026-10' -> 2026-10-01, both flagged."""
    first = dated.split("..")[0]
    if len(first) == len("2026-10"):
        faults["month_only"] += 1
        return f"{first}-01", [flags.DATE_UNCERTAIN]
    if first != dated:
        faults["undated"] += 1
        return first, [flags.DATE_UNCERTAIN]
    return first, []


def _marks(row: Row, purchase: str, faults: Counter[str]) -> list[str]:
    marks = []
    if "LIST PRICE ONLY" in row.source and purchase == "on_demand":
        faults["list_price_only"] += 1
        marks.append(flags.NOT_SOLD_ON_DEMAND)
    if "local SSD not included" in row.source:
        faults["local_ssd_left_out"] += 1
        marks.append(flags.LOCAL_SSD_NOT_INCLUDED)
    if row.source.startswith("composed"):
        marks.append(flags.COMPOSED)
    if row.provider == "azure" and purchase == "spot":
        marks.append(flags.SPOT_INDICATIVE)
    if row.provider == "vast":
        marks.append(flags.MARKETPLACE_ASK)
    if row.region.startswith("us-gov-"):
        marks.append(flags.GOVERNMENT_REGION)
    return marks
