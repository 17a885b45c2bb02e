"""The tables that a catalogue is read from: in the packaged snapshot, and in the user's store as its published view.

Offers point to their machine, place and provenance by number, so that the reader makes each string once; they lie in
the order in which they are read.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pricing.offer import InstanceType, Offer, Quarantined

SCHEMA_VERSION = "1"

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
TABLES = (
    "meta",
    "sources",
    "instance_types",
    "machines",
    "places",
    "provenances",
    "offers",
    "quarantined",
    "interruptions",
    "measured_interruptions",
)


class Contents(NamedTuple):
    """Everything a catalogue holds; ``offers`` are stored in the order given.

    ``sources`` are (name, origin, licence), ``interruptions`` (region, instance type, step), ``measured`` (provider,
    low, likely and high rate per hour, day, source).
    """

    offers: Iterable[Offer]
    types: Iterable[InstanceType]
    quarantined: Iterable[Quarantined]
    sources: Iterable[tuple[str, str, str]]
    interruptions: Iterable[tuple[str, str, int]]
    measured: Iterable[tuple[str, float, float, float, str, str]]
    meta: dict[str, str]


class _Numbered:
    """Values in the order in which they were first met, each with its number."""

    def __init__(self) -> None:
        self._numbers: dict[Sequence[object], int] = {}

    def number(self, value: Sequence[object]) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def rows(self) -> list[tuple[object, ...]]:
        return [(number, *value) for value, number in self._numbers.items()]


def fill(connection: sqlite3.Connection, contents: Contents) -> None:
    """Write everything into the empty tables, inside whatever transaction is open."""
    insert(connection, "meta", sorted(contents.meta.items()))
    insert(connection, "sources", contents.sources)
    insert(connection, "instance_types", contents.types)
    _insert_offers(connection, contents.offers)
    insert(connection, "quarantined", (quarantined_row(number, row) for number, row in enumerate(contents.quarantined)))
    insert(connection, "interruptions", contents.interruptions)
    insert(connection, "measured_interruptions", contents.measured)


def _insert_offers(connection: sqlite3.Connection, offers: Iterable[Offer]) -> None:
    machines, places, provenances = _Numbered(), _Numbered(), _Numbered()
    rows = []
    for number, offer in enumerate(offers):
        machine = machines.number((offer.provider, offer.instance_type))
        place = places.number((offer.region, offer.zone))
        provenance = provenances.number((offer.purchase, " ".join(offer.flags), offer.price_as_of, offer.price_source))
        rows.append((number, machine, place, provenance, offer.price))
    insert(connection, "machines", machines.rows())
    insert(connection, "places", places.rows())
    insert(connection, "provenances", provenances.rows())
    insert(connection, "offers", rows)


def quarantined_row(first: object, row: Quarantined) -> tuple[object, ...]:
    """The columns of a quarantined price after ``first``, as Catalog reads them."""
    offer = row.offer
    return (
        first,
        *offer[:6],
        " ".join(offer.flags),
        offer.price_as_of,
        offer.price_source,
        row.accelerator,
        row.num_gpus,
        row.reason,
    )


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[object]]) -> None:
    """Whole rows, in the order of the table's columns."""
    stored = list(rows)
    if stored:
        marks = ", ".join("?" * len(stored[0]))
        connection.executemany(f"insert into {table} values ({marks})", stored)
