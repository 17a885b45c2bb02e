"""``gpuplanner prices list``: offers, filtered and sorted, each with the day it was seen."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import date
from typing import Any

from planner.cli.listing import SCHEMA_VERSION, first, write_records, write_table
from planner.cli.prices_catalog import as_planner_error, opened_catalog, places, say
from planner.cli.table import Column
from planner.hardware.selection import Selection, parse_selection
from planner.plan.clouds import cloud_machine
from planner.units import UNKNOWN
from pricing import flags
from pricing.age import is_stale
from pricing.catalog import Catalog
from pricing.errors import PricingError
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.query import OfferQuery, in_regions, matches
from pricing.sanity import PURCHASES

_COLUMNS = (
    Column("provider", width=10),
    Column("machine", width=26, least=14),
    Column("where", width=18, least=10),
    Column("buy", width=12),
    Column("$/h", "right"),
    Column("$/GPU-h", "right", drop=2),
    Column("devices", width=24, least=9),
    Column("GiB", "right", drop=4),
    Column("vCPUs", "right", drop=5),
    Column("seen", drop=1),
    Column("flags", width=40, least=12, drop=3),
)
Row = tuple[Offer, InstanceType]


def run(arguments: argparse.Namespace) -> int:
    today = date.today()
    catalog = opened_catalog()
    query = _query(arguments, catalog)
    selection = parse_selection(arguments.gpus) if arguments.gpus else None
    try:
        kinds = catalog.instance_types()
        offers = catalog.offers(PURCHASES if arguments.purchase else ("on_demand", "spot"))
        quarantined = catalog.quarantined() if arguments.output == "json" else []
    except PricingError as error:
        raise as_planner_error(error) from error
    found = list(_found(offers, kinds, query, selection, today))
    found.sort(key=lambda row: _place_in(arguments.sort, row))
    shown = first(found, arguments.max_rows)
    if arguments.output == "json":
        apart = [row for row in quarantined if _is_asked(row.offer, query)]
        _write_json(shown, [_apart(row, kinds) for row in apart], today)
    elif arguments.output == "csv":
        write_records("offers", [_record(offer, kind, today) for offer, kind in shown], "csv")
    else:
        write_table(_COLUMNS, [_cells(*row, today) for row in shown], len(found), "offers", arguments.output)
    _say_ages(shown, today)
    return 0


def _query(arguments: argparse.Namespace, catalog: Catalog) -> OfferQuery:
    providers, regions = places(catalog, arguments.provider, arguments.region)
    return OfferQuery(
        providers=providers,
        regions=regions,
        purchases=(arguments.purchase,) if arguments.purchase else (),
        min_gpus=arguments.num_gpus,
        max_gpus=arguments.num_gpus,
        min_memory_gib_per_gpu=arguments.min_memory,
        max_usd_per_hour=arguments.max_price,
    )


def _found(
    offers: list[Offer],
    kinds: dict[tuple[str, str], InstanceType],
    query: OfferQuery,
    selection: Selection | None,
    today: date,
) -> Iterator[Row]:
    wanted: dict[tuple[str, str], bool] = {}
    for offer in offers:
        kind = kinds[offer[:2]]
        if selection is not None and offer[:2] not in wanted:
            wanted[offer[:2]] = kind.num_gpus > 0 and selection.matches(cloud_machine(kind)[0])
        if wanted.get(offer[:2], True) and matches(offer, kind, query, today):
            yield offer, kind


def _place_in(order: str, row: Row) -> tuple[object, ...]:
    offer, kind = row
    each = _per_gpu(offer, kind)
    if order == "usd_per_gpu_hour":
        return (each is None, each or 0.0, offer[:5])
    if order == "price_as_of":
        return (offer.price_as_of, offer.usd_per_hour, _text(offer))
    return (offer.usd_per_hour, _text(offer))


def _text(offer: Offer) -> tuple[str, ...]:
    return tuple(part or "" for part in offer[:5])


def _per_gpu(offer: Offer, kind: InstanceType) -> float | None:
    return offer.usd_per_hour / kind.num_gpus if kind.num_gpus else None


def _is_asked(offer: Offer, query: OfferQuery) -> bool:
    return (not query.providers or offer.provider in query.providers) and (
        not query.regions or in_regions(offer.region, offer.zone, query.regions)
    )


def _all_flags(offer: Offer, today: date) -> list[str]:
    return [*offer.flags, *([flags.STALE] if is_stale(offer.purchase, offer.price_as_of, today) else [])]


def _cells(offer: Offer, kind: InstanceType, today: date) -> tuple[str, ...]:
    each = _per_gpu(offer, kind)
    stale = is_stale(offer.purchase, offer.price_as_of, today)
    return (
        offer.provider,
        offer.instance_type,
        offer.zone or offer.region,
        offer.purchase.replace("_", "-"),
        f"{offer.usd_per_hour:.4f}",
        UNKNOWN if each is None else f"{each:.4f}",
        f"{kind.num_gpus:g} x {kind.accelerator}" if kind.num_gpus else kind.cpu or UNKNOWN,
        _number(kind.memory_gib_per_gpu),
        _number(kind.vcpus),
        offer.price_as_of + ("!" if stale else ""),
        " ".join(offer.flags),
    )


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:g}"


def _record(offer: Offer, kind: InstanceType | None, today: date) -> dict[str, Any]:
    return {
        "provider": offer.provider,
        "instance_type": offer.instance_type,
        "region": offer.region,
        "zone": offer.zone,
        "purchase": offer.purchase,
        "usd_per_hour": offer.usd_per_hour,
        "usd_per_gpu_hour": _per_gpu(offer, kind) if kind else None,
        "accelerator": kind.accelerator or None if kind else None,
        "num_gpus": kind.num_gpus if kind else None,
        "memory_gib_per_gpu": kind.memory_gib_per_gpu if kind else None,
        "vcpus": kind.vcpus if kind else None,
        "memory_gib": kind.memory_gib if kind else None,
        "flags": _all_flags(offer, today),
        "price_as_of": offer.price_as_of,
        "price_source": offer.price_source,
    }


def _apart(row: Quarantined, kinds: dict[tuple[str, str], InstanceType]) -> dict[str, Any]:
    """A quarantined row: its price is what the source stated, null where that is no number."""
    record = _record(row.offer, kinds.get(row.offer[:2]), date.max)
    usd = row.offer.usd_per_hour
    return record | {
        "usd_per_hour": usd if usd == usd else None,  # NaN is no JSON
        "usd_per_gpu_hour": None,
        "accelerator": row.accelerator or None,
        "num_gpus": row.num_gpus,
        "flags": list(row.offer.flags),
        "reason": row.reason,
    }


def _write_json(rows: list[Row], quarantined: list[dict[str, Any]], today: date) -> None:
    document = {
        "schema_version": SCHEMA_VERSION,
        "prices_as_of": min((offer.price_as_of for offer, _ in rows), default=None),
        "offers": [_record(offer, kind, today) for offer, kind in rows],
        "quarantined": quarantined,
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _say_ages(rows: list[Row], today: date) -> None:
    stale = sum(is_stale(offer.purchase, offer.price_as_of, today) for offer, _ in rows)
    if stale:
        say(
            f"{stale} of these {len(rows)} prices are old (spot after 3 days, others after 30; marked !):"
            " gpuplanner prices refresh"
        )
