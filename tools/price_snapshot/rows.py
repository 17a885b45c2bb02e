"""The collected price rows and their sources, as they stand in the files: nothing is mended here."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the collection, its machine as the source spells it and its memory per accelerator in GiB."""

    provider: str
    instance_type: str
    label: str
    num_gpus: float
    memory_gib_per_gpu: float | None
    vcpus: float | None
    memory_gib: float | None
    region: str
    zone: str | None
    on_demand: str
    spot: str
    source: str
    source_date: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where prices come from: how the source column starts, the name shown, the origin and its licence."""

    match: str
    name: str
    origin: str
    licence: str


def read_sources(path: Path) -> list[Source]:
    with path.open(encoding="utf-8", newline="") as file:
        return [Source(**row) for row in csv.DictReader(file)]


def read_rows(path: Path) -> list[Row]:
    """The rows of ``offers.csv.gz`` as they stand, unmended."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [_row(record) for record in csv.DictReader(file)]


def _row(record: dict[str, str]) -> Row:
    return Row(
        provider=record["provider"],
        instance_type=record["instance_type"],
        label=record["accelerator"],
        num_gpus=float(record["accelerator_count"] or 0),
        memory_gib_per_gpu=_number(record["accelerator_memory_gib"]),
        vcpus=_number(record["vcpus"]),
        memory_gib=_number(record["memory_gib"]),
        region=record["region"],
        zone=record["zone"] or None,
        on_demand=record["on_demand_usd_per_hour"],
        spot=record["spot_usd_per_hour"],
        source=record["source"],
        source_date=record["source_date"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def source_name(text: str, sources: list[Source]) -> str:
    """The shown name of a source column. Raises KeyError where no known source starts like it."""
    for source in sources:
        if text.startswith(source.match):
            return source.name
    raise KeyError(f"tools/price_snapshot/sources.csv has no source that starts like {text!r}")
