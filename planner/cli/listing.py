"""What the listing commands share: search words, how many rows, and the three formats."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from planner.cli.table import Column, markdown, render, terminal_width, use_color, wrapped
from planner.values import rows

SCHEMA_VERSION = 1
Item = TypeVar("Item")


def add_listing_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"show this {what}, or search for words")
    parser.add_argument("-n", "--max-rows", type=rows, default=20, metavar="N", help="rows shown, 0 for all (20)")
    parser.add_argument(
        "-o", "--output", choices=("table", "json", "csv", "markdown"), default="table", help="format (table)"
    )


def containing(words: Sequence[str], items: Iterable[Item], text: Sequence[str]) -> list[Item]:
    """The items whose text contains every word, whatever the case."""
    folded = [word.casefold() for word in words]
    return [
        item for item, searched in zip(items, text, strict=True) if all(word in searched.casefold() for word in folded)
    ]


def first(items: list[Item], max_rows: int) -> list[Item]:
    """At most ``max_rows`` of the items; 0 is all."""
    return items[:max_rows] if max_rows else items


def write_records(key: str, records: list[dict[str, Any]], output: str, more: Mapping[str, Any] | None = None) -> None:
    """JSON under ``key``, beside what else there is to say, or CSV with the record's keys as columns."""
    if output == "json":
        json.dump({"schema_version": SCHEMA_VERSION, **(more or {}), key: records}, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    writer = csv.DictWriter(sys.stdout, list(records[0]) if records else ["name"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in record.items()} for record in records)


def write_json_record(record: dict[str, Any]) -> None:
    """One thing's JSON object."""
    json.dump({"schema_version": SCHEMA_VERSION, **record}, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _cell(value: Any) -> Any:
    return ";".join(map(str, value)) if isinstance(value, list | tuple) else value


def write_table(columns: Sequence[Column], cells: Sequence[Sequence[str]], total: int, what: str, output: str) -> None:
    """A table or Markdown, and under it how many there are in all."""
    lines = markdown(columns, cells) if output == "markdown" else render(columns, cells, color=use_color())
    count = f"{len(cells)} of {total:,} {what}" + (" (-n 0 for all)" if len(cells) < total else "")
    lines += ["", *wrapped(count, terminal_width())]
    sys.stdout.write("\n".join(lines) + "\n")
