"""``gpuplanner datasets``: the data sets that are known, searched and shown."""

from __future__ import annotations

import argparse

from planner.cli.listing import add_listing_arguments, containing, first, write_records, write_table
from planner.cli.table import Column
from planner.errors import UnknownNameError
from planner.units import UNKNOWN, format_bytes, format_count
from planner.workloads.datasets import Dataset, dataset, datasets

_COLUMNS = (
    Column("data set", width=24),
    Column("task", width=24, least=10),
    Column("samples", "right"),
    Column("validation", "right", drop=3),
    Column("tokens", "right", drop=1),
    Column("size", "right"),
    Column("decode", drop=2),
    Column("epochs", "right"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_listing_arguments(parser, "data set")


def run(arguments: argparse.Namespace) -> int:
    found = _found(arguments.name)
    shown = first(found, arguments.max_rows)
    if arguments.output in ("json", "csv"):
        write_records("datasets", [data._asdict() for data in shown], arguments.output)
    else:
        write_table(_COLUMNS, [_cells(data) for data in shown], len(found), "data sets", arguments.output)
    return 0


def _found(words: list[str]) -> list[Dataset]:
    """The data set of exactly this name or alias, else all whose name, title or task contain the words."""
    if len(words) == 1:
        try:
            return [dataset(words[0])]
        except UnknownNameError as error:
            missing = error
    known = list(datasets())
    matching = containing(words, known, [f"{data.name} {data.title} {data.task}" for data in known])
    if not matching:
        raise missing if len(words) == 1 else UnknownNameError("data set", " ".join(words))
    return matching


def _cells(data: Dataset) -> tuple[str, ...]:
    return (
        data.name,
        data.task,
        f"{data.samples:,}",
        UNKNOWN if data.validation_samples is None else f"{data.validation_samples:,}",
        format_count(data.tokens),
        format_bytes(data.bytes),
        data.decode,
        UNKNOWN if data.usual_epochs is None else f"{data.usual_epochs:g}",
    )
