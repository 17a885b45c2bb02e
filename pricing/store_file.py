"""The file of the user's own prices: its tables, opening it, and what to do with one that is damaged."""

import os
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pricing.errors import PricingError
from pricing.tables import SCHEMA

# Raise it when the tables below change; a file of another number is never written to.
STORE_VERSION = 1
WAIT_FOR_OTHERS_S = 15.0

_SCHEMA = """
create table observed (
    provider text, instance_type text, region text, zone text, purchase text, price text not null, flags text,
    price_as_of text, price_source text, feed text, seen_at text,
    primary key (provider, instance_type, region, zone, purchase)
) without rowid;
create table history (
    id integer primary key, at text, provider text, instance_type text, region text, zone text, purchase text,
    old_price text, new_price text, price_source text
);
create index history_at on history (at);
create table readings (
    feed text, provider text, region text, tried_at text, read_at text, problem text, offers integer, etag text,
    primary key (feed, region)
) without rowid;
create table refused (
    feed text, provider text, instance_type text, region text, zone text, purchase text, price text, flags text,
    price_as_of text, price_source text, accelerator text, num_gpus real, reason text
);
create table live_types (
    provider text, instance_type text, accelerator text, num_gpus real, memory_gib_per_gpu real, link text,
    network_gbit_s real, network text, vcpus real, cpu text, memory_gib real, local_disk_gb real, unranked text,
    source text, rdma integer, primary key (provider, instance_type)
) without rowid;
create table live_steps (
    region text, instance_type text, step integer, as_of text, primary key (region, instance_type)
) without rowid;
create table observations (count integer not null);
insert into observations values (0);
"""


class StoreError(PricingError):
    """The store cannot be used as it stands: written by a newer version, or not writable."""


class Transaction:
    """A write transaction that takes the lock at once and never leaves half of itself behind."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("begin immediate")
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("commit" if kind is None else "rollback")


def connect(path: Path) -> sqlite3.Connection:
    """The file, made where there is none.

    Raises StoreError where another version wrote it, OSError or sqlite3.Error where it cannot be opened or is damaged.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=WAIT_FOR_OTHERS_S, isolation_level=None)
    try:
        (version,) = connection.execute("pragma user_version").fetchone()
        if version == 0:
            _create(connection)
        elif version != STORE_VERSION:
            raise StoreError(
                f"the store of prices {path} was written by another version of this program and is left alone;"
                " these are the packaged prices"
            )
        (health,) = connection.execute("pragma quick_check(1)").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError(f"malformed: {health}")
        connection.execute("pragma synchronous = full")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables in one transaction; whoever comes second finds them made."""
    connection.execute("pragma journal_mode = wal")
    with Transaction(connection):
        if connection.execute("pragma user_version").fetchone() != (0,):
            return
        if connection.execute("select count(*) from sqlite_master").fetchone() != (0,):
            raise sqlite3.DatabaseError("malformed: tables of another program")
        for statement in (SCHEMA + _SCHEMA).split(";"):
            connection.execute(statement)
        connection.execute(f"pragma user_version = {STORE_VERSION}")


def is_damage(error: BaseException) -> bool:
    """Whether the file's content is at fault, as against a lock, a permission or a full disk."""
    if isinstance(error, sqlite3.OperationalError):
        return "decode" in str(error)
    return isinstance(error, sqlite3.DatabaseError | ValueError | TypeError | LookupError | AttributeError)


def set_aside(path: Path) -> str:
    """Move a damaged store out of the way, with what SQLite keeps beside it; returns the notice."""
    kept = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{kept}{suffix}")
    return f"the store of prices was damaged; it is kept as {kept}, and prices start again from the packaged ones"


def fingerprint(path: Path) -> str:
    """What tells one packaged snapshot from another without reading it."""
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns}"
