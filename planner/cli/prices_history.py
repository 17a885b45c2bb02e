"""``gpuplanner prices history``: which prices changed, when, from what to what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from typing import Any

from planner.cli.listing import containing, first, write_records, write_table
from planner.cli.prices_catalog import as_planner_error, words
from planner.cli.table import Column
from planner.errors import InputError
from planner.profiler.this_machine import store_path
from planner.units import UNKNOWN
from pricing.errors import PricingError
from pricing.query import in_regions
from pricing.store import Change, open_store

LAST = "last"


def run(arguments: argparse.Namespace) -> int:
    providers, regions = words(arguments.provider), words(arguments.region)
    found = [
        change
        for change in _changes(arguments.since)
        if (not providers or change.provider in providers)
        and (not regions or in_regions(change.region, change.zone, regions))
    ]
    found = containing(arguments.name, found, [f"{change.provider} {change.instance_type}" for change in found])
    shown = first(found, arguments.max_rows)
    if arguments.output in ("json", "csv"):
        write_records("changes", [change_record(change) for change in shown], arguments.output)
    else:
        cells = [change_cells(change) for change in shown]
        write_table(change_columns(), cells, len(found), "changes of prices", arguments.output)
    return 0


def _changes(since: str | None) -> Sequence[Change]:
    """All changes since a day or the last refresh; none where nothing was ever refreshed. Raises InputError."""
    if since not in (None, LAST) and not _is_day(since or ""):
        raise InputError(f"--since takes a day as 2026-11-01, or {LAST}, not {since!r}")
    path = store_path()
    if path is None or not path.is_file():
        return ()
    try:
        with open_store(path) as store:
            return store.history(store.last_refresh() if since == LAST else since or "")
    except PricingError as error:
        raise as_planner_error(error) from error


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def change_columns() -> tuple[Column, ...]:
    return (
        Column("seen"),
        Column("provider", width=10),
        Column("machine", width=26, least=16),
        Column("where", width=18, least=10),
        Column("buy", width=12),
        Column("was $/h", "right"),
        Column("is $/h", "right"),
        Column("change", "right"),
    )


def change_cells(change: Change) -> tuple[str, ...]:
    moved = float(change.new_price) / float(change.old_price) - 1 if change.old_price else None
    return (
        change.at[:10],
        change.provider,
        change.instance_type,
        change.zone or change.region,
        change.purchase.replace("_", "-"),
        change.old_price or UNKNOWN,
        change.new_price,
        UNKNOWN if moved is None else f"{moved:+.1%}",
    )


def change_record(change: Change) -> dict[str, Any]:
    record = change._asdict()
    old, new = record.pop("old_price"), record.pop("new_price")
    return record | {"old_usd_per_hour": float(old) if old else None, "new_usd_per_hour": float(new)}
