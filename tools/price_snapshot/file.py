"""Write a price snapshot: one SQLite file, small, byte-identical for the same rows, quick to read in order.

Offers point to their machine, place and provenance by number, so that the reader makes each string once; they lie in
the order in which they are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from pricing.offer import InstanceType, Offer, Quarantined

SCHEMA = """
create table meta (key text primary key, value text not null) without rowid;
create table sources (name text primary key, origin text not null, licence text not null) without rowid;
create table instance_types (
    provider text, instance_type text, accelerator text, num_gpus real, memory_gib_per_gpu real, link text,
    network_gbit_s real, network text, vcpus real, cpu text, memory_gib real, local_disk_gb real, unranked text,
    source text, rdma integer, primary key (provider, instance_type)
) without rowid;
create table machines (id integer primary key, provider text not null, instance_type text not null);
create table places (id integer primary key, region text not null, zone text);
create table provenances (id integer primary key, purchase text, flags text, price_as_of text, price_source text);
create table offers (id integer primary key, machine integer, place integer, provenance integer, price text not null);
create table quarantined (
    id integer primary key, provider text, instance_type text, region text, zone text, purchase text, price text,
    flags text, price_as_of text, price_source text, accelerator text, num_gpus real, reason text
);
create table interruptions (
    region text, instance_type text, step integer not null, primary key (region, instance_type)
) without rowid;
create table measured_interruptions (
    provider text primary key, low_per_hour real, per_hour real, high_per_hour real, as_of text, source text
) without rowid;
"""

# Where the header of a SQLite file says which library wrote it: the only bytes that differ between two machines.
_VERSION_OFFSET = 96
_VERSION_BYTES = (3_040_000).to_bytes(4, "big")


class Numbered:
    """Values in the order in which they were first met, each with its number."""

    def __init__(self) -> None:
        self._numbers: dict[Sequence[object], int] = {}

    def number(self, value: Sequence[object]) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def rows(self) -> list[tuple[object, ...]]:
        return [(number, *value) for value, number in self._numbers.items()]


def write_snapshot(
    path: Path,
    offers: Iterable[Offer],
    types: Iterable[InstanceType],
    quarantined: Iterable[Quarantined],
    sources: Iterable[tuple[str, str, str]],
    interruptions: Iterable[tuple[str, str, int]],
    measured: Iterable[tuple[str, float, float, float, str, str]],
    meta: dict[str, str],
) -> None:
    """Write everything to ``path``, replacing it. ``offers`` are stored in the order given."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    try:
        connection.executescript(SCHEMA)
        _insert(connection, "meta", sorted(meta.items()))
        _insert(connection, "sources", sources)
        _insert(connection, "instance_types", types)
        _insert_offers(connection, offers)
        _insert(connection, "quarantined", (_quarantined_row(number, row) for number, row in enumerate(quarantined)))
        _insert(connection, "interruptions", interruptions)
        _insert(connection, "measured_interruptions", measured)
        connection.commit()
        connection.execute("vacuum")
    finally:
        connection.close()
    _forget_library_version(path)


def _insert_offers(connection: sqlite3.Connection, offers: Iterable[Offer]) -> None:
    machines, places, provenances = Numbered(), Numbered(), Numbered()
    rows = []
    for number, offer in enumerate(offers):
        machine = machines.number((offer.provider, offer.instance_type))
        place = places.number((offer.region, offer.zone))
        provenance = provenances.number((offer.purchase, " ".join(offer.flags), offer.price_as_of, offer.price_source))
        rows.append((number, machine, place, provenance, offer.price))
    _insert(connection, "machines", machines.rows())
    _insert(connection, "places", places.rows())
    _insert(connection, "provenances", provenances.rows())
    _insert(connection, "offers", rows)


def _quarantined_row(number: int, row: Quarantined) -> tuple[object, ...]:
    offer = row.offer
    return (
        number,
        *offer[:6],
        " ".join(offer.flags),
        offer.price_as_of,
        offer.price_source,
        row.accelerator,
        row.num_gpus,
        row.reason,
    )


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[object]]) -> None:
    stored = list(rows)
    if stored:
        marks = ", ".join("?" * len(stored[0]))
        connection.executemany(f"insert into {table} values ({marks})", stored)


def _forget_library_version(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(_VERSION_OFFSET)
        file.write(_VERSION_BYTES)
