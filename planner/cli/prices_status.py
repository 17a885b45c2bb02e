"""``gpuplanner prices status``: how old prices are, where they come from, what failed, and what was set apart."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from datetime import date
from typing import Any

from planner.cli.listing import SCHEMA_VERSION, write_records
from planner.cli.prices_catalog import as_planner_error, opened_catalog, say
from planner.cli.table import Column, markdown, render, terminal_width, use_color, wrapped
from planner.profiler.this_machine import store_path
from planner.units import UNKNOWN
from pricing.age import SPOT_STALE_AFTER_DAYS, STALE_AFTER_DAYS, age_days, is_stale
from pricing.catalog import Catalog, PriceSource
from pricing.errors import PricingError
from pricing.sanity import PURCHASES
from pricing.store import Reading, open_store

_SOURCES = (
    Column("source", width=60, least=20),
    Column("offers", "right"),
    Column("oldest"),
    Column("newest"),
    Column("days old", "right"),
)
_READINGS = (
    Column("feed", width=26, least=14),
    Column("region", width=18, least=10),
    Column("offers", "right"),
    Column("last read"),
    Column("last failure"),
)


def run(arguments: argparse.Namespace) -> int:
    today = date.today()
    readings = _readings()
    catalog = opened_catalog()
    try:
        sources = [source for source in catalog.sources() if source.offers]
        reasons = Counter(row.reason for row in catalog.quarantined())
        stale = _stale(catalog, today)
    except PricingError as error:
        raise as_planner_error(error) from error
    if arguments.output == "json":
        _write_json(catalog, sources, readings, reasons, stale, today)
    elif arguments.output == "csv":
        write_records("readings", [reading._asdict() for reading in readings], "csv")
    else:
        _write_words(catalog, sources, readings, reasons, stale, today, arguments.output)
    return 0


def _readings() -> list[Reading]:
    """What was tried so far; nothing where there is no store yet. A damaged store is set aside here, and said."""
    path = store_path()
    if path is None or not path.is_file():
        return []
    try:
        with open_store(path) as store:
            for notice in store.notices:
                say(notice)
            return store.readings()
    except PricingError as error:
        say(str(error))
        return []


def _stale(catalog: Catalog, today: date) -> int:
    return sum(is_stale(offer.purchase, offer.price_as_of, today) for offer in catalog.offers(PURCHASES))


def _write_words(
    catalog: Catalog,
    sources: list[PriceSource],
    readings: list[Reading],
    reasons: Counter[str],
    stale: int,
    today: date,
    output: str,
) -> None:
    def table(columns: tuple[Column, ...], cells: list[tuple[str, ...]]) -> list[str]:
        return markdown(columns, cells) if output == "markdown" else render(columns, cells, color=use_color())

    def hanging(text: str) -> list[str]:
        return [text] if output == "markdown" else wrapped(text, terminal_width(), "    ")

    total = sum(source.offers for source in sources)
    lines = [
        *hanging(f"{total:,} offers in {catalog.path}"),
        *hanging(
            f"{stale:,} of them are old: spot after {SPOT_STALE_AFTER_DAYS} days, others after {STALE_AFTER_DAYS}"
        ),
        "",
        *table(_SOURCES, [_source_cells(source, today) for source in sources]),
        "",
    ]
    if readings:
        lines += [*table(_READINGS, [_reading_cells(reading) for reading in readings]), ""]
        for reading in readings:
            if reading.problem:
                lines += hanging(f"- {reading.feed}, {reading.region or 'all'}: {reading.problem}")
    else:
        lines += [*hanging("nothing was refreshed on this machine yet: gpuplanner prices refresh"), ""]
    lines.append(f"{reasons.total():,} prices set apart, never ranked")
    for reason, count in reasons.most_common():
        lines += hanging(f"  {count:,}: {reason}")
    sys.stdout.write("\n".join(lines) + "\n")


def _source_cells(source: PriceSource, today: date) -> tuple[str, ...]:
    return (
        source.name,
        f"{source.offers:,}",
        source.oldest,
        source.newest,
        str(age_days(source.newest, today)),
    )


def _reading_cells(reading: Reading) -> tuple[str, ...]:
    return (
        reading.feed,
        reading.region or "all",
        f"{reading.offers:,}",
        reading.read_at[:16].replace("T", " ") or "never",
        reading.tried_at[:16].replace("T", " ") if reading.problem else UNKNOWN,
    )


def _write_json(
    catalog: Catalog,
    sources: list[PriceSource],
    readings: list[Reading],
    reasons: Counter[str],
    stale: int,
    today: date,
) -> None:
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "path": str(catalog.path),
        "offers": sum(source.offers for source in sources),
        "stale_offers": stale,
        "sources": [source._asdict() | {"newest_age_days": age_days(source.newest, today)} for source in sources],
        "readings": [reading._asdict() for reading in readings],
        "quarantined": [{"reason": reason, "count": count} for reason, count in reasons.most_common()],
        "notices": list(catalog.notices),
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")
