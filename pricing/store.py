"""The user's own prices: one SQLite file that remembers what every refresh has seen, and how it has changed.

Each reading of a feed is applied for one provider and region in one transaction; a process killed at any point loses
nothing of what was applied before. ``publish`` lays what was observed over the packaged snapshot and writes the tables
that a Catalog reads, so that planning pays nothing for the merge.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from pricing import flags
from pricing.catalog import Catalog
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.places import spread_regional_prices
from pricing.sanity import PURCHASES, with_flags, with_size_flags
from pricing.store_file import StoreError, Transaction, connect, fingerprint, is_damage, set_aside
from pricing.tables import SCHEMA_VERSION, TABLES, Contents, fill, insert, quarantined_row

HISTORY_DAYS = 400
READ_HERE = "the provider's own feed, read on this machine"


class Observation(NamedTuple):
    """One complete reading of one feed for one provider and region.

    ``seen_at`` is a UTC time in ISO 8601; ``offers`` those of the region, ``vanished`` those known before and not seen
    again. ``steps`` are (region, instance type, 0..4) of the spot advisor.
    """

    feed: str
    provider: str
    region: str
    seen_at: str
    offers: Sequence[Offer]
    quarantined: Sequence[Quarantined] = ()
    vanished: Sequence[Offer] = ()
    types: Sequence[InstanceType] = ()
    steps: Sequence[tuple[str, str, int]] = ()
    etag: str = ""


class Change(NamedTuple):
    """A price that is not what it was; ``old_price`` is '' where none was known."""

    at: str
    provider: str
    instance_type: str
    region: str
    zone: str | None
    purchase: str
    old_price: str
    new_price: str
    price_source: str


class Reading(NamedTuple):
    """How the last try to read one feed for one region went; '' where it never was tried, read or failed."""

    feed: str
    provider: str
    region: str
    tried_at: str
    read_at: str
    problem: str
    offers: int
    etag: str


class Store:
    """An open store. Every method is one transaction; several processes may use one file at once."""

    def __init__(self, path: Path, connection: sqlite3.Connection, notices: Sequence[str] = ()) -> None:
        self.path = path
        self.notices = tuple(notices)
        self._connection = connection

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def apply(self, observation: Observation, known: Mapping[tuple[str | None, ...], str]) -> list[Change]:
        """Write a complete reading; returns what changed against ``known``, prices by the first five of an Offer."""
        changes = [change for offer in observation.offers if (change := _change(offer, observation.seen_at, known))]
        with self._writing() as connection:
            self._write_offers(connection, observation)
            connection.executemany(
                "insert into history (at, provider, instance_type, region, zone, purchase, old_price, new_price,"
                " price_source) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                changes,
            )
            connection.execute(
                "delete from history where at < date(?, ?)", (observation.seen_at[:10], f"-{HISTORY_DAYS} days")
            )
            connection.execute(
                "delete from refused where feed = ? and provider = ? and region = ?",
                (observation.feed, observation.provider, observation.region),
            )
            insert(connection, "refused", (quarantined_row(observation.feed, row) for row in observation.quarantined))
            connection.executemany(
                f"insert or replace into live_types values ({', '.join('?' * len(InstanceType._fields))})",
                observation.types,
            )
            if observation.steps:
                connection.execute("delete from live_steps")
                insert(connection, "live_steps", ((*step, observation.seen_at[:10]) for step in observation.steps))
            self._note_success(connection, observation)
        return changes

    def _write_offers(self, connection: sqlite3.Connection, observation: Observation) -> None:
        """Rows seen later win, also where another process has written them meanwhile."""
        connection.executemany(
            "insert into observed values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict do update set price = excluded.price, flags = excluded.flags,"
            " price_as_of = excluded.price_as_of, price_source = excluded.price_source, feed = excluded.feed,"
            " seen_at = excluded.seen_at where excluded.seen_at >= seen_at",
            [
                (
                    *(*offer[:3], offer.zone or "", offer.purchase, offer.price, " ".join(offer.flags)),
                    *(offer.price_as_of, offer.price_source, observation.feed, observation.seen_at),
                )
                for offer in (*observation.offers, *observation.vanished)
            ],
        )

    def _note_success(self, connection: sqlite3.Connection, observation: Observation) -> None:
        connection.execute(
            "insert or replace into readings values (?, ?, ?, ?, ?, '', ?, ?)",
            (
                *(observation.feed, observation.provider, observation.region, observation.seen_at),
                *(observation.seen_at, len(observation.offers), observation.etag),
            ),
        )
        connection.execute("update observations set count = count + 1")

    def confirm(self, feed: str, provider: str, region: str, seen_at: str) -> int:
        """The provider says nothing has changed: the rows of the feed were seen today; returns how many.

        An empty ``region`` is every region of the feed.
        """
        with self._writing() as connection:
            found = connection.execute(
                "update observed set price_as_of = ?1, seen_at = ?2 where feed = ?3 and provider = ?4"
                " and (?5 = '' or region = ?5) and seen_at <= ?2 and ' ' || flags || ' ' not like ?6",
                (seen_at[:10], seen_at, feed, provider, region, f"% {flags.NOT_SEEN} %"),
            )
            connection.execute(
                "update readings set tried_at = ?1, read_at = ?1, problem = '' where feed = ?2"
                " and (?3 = '' or region = ?3)",
                (seen_at, feed, region),
            )
            connection.execute("update live_steps set as_of = ? where ? = 'aws spot advisor'", (seen_at[:10], feed))
            connection.execute("update observations set count = count + 1")
            return found.rowcount

    def note_failure(self, feed: str, provider: str, region: str, tried_at: str, problem: str) -> None:
        """Remember why a feed could not be read; its rows stay as they are."""
        with self._writing() as connection:
            connection.execute(
                "insert into readings values (?, ?, ?, ?, '', ?, 0, '')"
                " on conflict do update set tried_at = excluded.tried_at, problem = excluded.problem",
                (feed, provider, region, tried_at, problem),
            )

    def publish(self, packaged: Catalog) -> None:
        """Write the view that a Catalog reads: what was observed laid over the packaged snapshot."""
        with self._writing() as connection:
            if dict(connection.execute("select key, value from meta")).get("published") == self._state(packaged):
                return
            try:
                contents = self._merged(connection, packaged)
            except (ValueError, TypeError, LookupError) as error:
                raise sqlite3.DatabaseError(f"malformed: {error}") from error
            for table in TABLES:
                connection.execute(f"delete from {table}")
            fill(connection, contents)

    def _merged(self, connection: sqlite3.Connection, packaged: Catalog) -> Contents:
        observed = [
            _offer(row)
            for row in connection.execute(
                "select provider, instance_type, region, zone, purchase, price, flags, price_as_of, price_source"
                " from observed order by zone = '', provider, instance_type, region"
            )
        ]
        types = packaged.instance_types()
        for row in connection.execute("select * from live_types"):
            types[row[0], row[1]] = InstanceType._make((*row[:-1], bool(row[-1])))
        refused = [
            Quarantined(_offer(row[:9]), *row[9:])
            for row in connection.execute(
                "select provider, instance_type, region, zone, purchase, price, flags, price_as_of, price_source,"
                " accelerator, num_gpus, reason from refused"
            )
        ]
        steps = connection.execute("select region, instance_type, step from live_steps").fetchall()
        meta = dict(packaged.rows("meta"))
        if steps:
            (meta["interruptions_as_of"],) = connection.execute("select max(as_of) from live_steps").fetchone()
        meta |= {"schema": SCHEMA_VERSION, "published": self._state(packaged)}
        known_sources = packaged.rows("sources")
        names = {name for name, *_ in known_sources}
        feeds = connection.execute("select distinct price_source from observed").fetchall()
        rows = spread_regional_prices([*observed, *packaged.offers(PURCHASES)])
        return Contents(
            offers=with_size_flags(with_flags(rows), types),
            types=types.values(),
            quarantined=[*packaged.quarantined(), *refused],
            sources=[*known_sources, *((name, READ_HERE, "") for (name,) in feeds if name not in names)],
            interruptions=steps or packaged.rows("interruptions"),
            measured=packaged.rows("measured_interruptions"),
            meta=meta,
        )

    def _state(self, packaged: Catalog) -> str:
        """Of which snapshot and how many observations a view is."""
        (count,) = self._connection.execute("select count from observations").fetchone()
        return f"{fingerprint(packaged.path)} {count}"

    def readings(self) -> list[Reading]:
        """How each feed went for each region, by provider, feed and region."""
        rows = self._connection.execute(
            "select feed, provider, region, tried_at, read_at, problem, offers, etag from readings"
            " order by provider, feed, region"
        )
        return [Reading(*row) for row in rows]

    def etag(self, feed: str, region: str) -> str:
        """The mark under which the provider's file was last read whole; '' where it gave none."""
        row = self._connection.execute("select etag from readings where feed = ? and region = ?", (feed, region))
        return (row.fetchone() or ("",))[0]

    def history(self, since: str = "") -> list[Change]:
        """Every change recorded at or after ``since`` (ISO 8601), the newest first."""
        rows = self._connection.execute(
            "select at, provider, instance_type, region, zone, purchase, old_price, new_price, price_source"
            " from history where at >= ? order by at desc, id desc",
            (since,),
        )
        return [Change(*row) for row in rows]

    def last_refresh(self) -> str:
        """When anything was last read; '' where nothing ever was."""
        return self._connection.execute("select coalesce(max(read_at), '') from readings").fetchone()[0] or ""

    def _writing(self) -> Transaction:
        return Transaction(self._connection)


def _offer(row: Sequence[str]) -> Offer:
    return Offer._make((*row[:3], row[3] or None, *row[4:6], float(row[5]), tuple(row[6].split()), *row[7:]))


def _change(offer: Offer, at: str, known: Mapping[tuple[str | None, ...], str]) -> Change | None:
    old = known.get(offer[:5], "")
    if old and Decimal(old) == Decimal(offer.price):
        return None
    return Change(at, *offer[:3], offer.zone, offer.purchase, old, offer.price, offer.price_source)


def open_store(path: Path) -> Store:
    """The store at ``path``, made where there is none; a damaged one is set aside first, with a notice.

    Raises StoreError where it cannot be opened, made or written, or comes from a newer version.
    """
    notices = []
    try:
        try:
            connection = connect(path)
        except (sqlite3.Error, ValueError) as error:
            if not is_damage(error):
                raise
            notices.append(set_aside(path))
            connection = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"the store of prices {path} cannot be opened: {error}") from error
    return Store(path, connection, notices)


def known_prices(offers: Iterable[Offer]) -> dict[tuple[str | None, ...], str]:
    """Prices by place; a region whose ordinary zones all have one price also has that price itself."""
    prices: dict[tuple[str | None, ...], str] = {offer[:5]: offer.price for offer in offers}
    by_region: dict[tuple[str | None, ...], set[str]] = {}
    for key, price in prices.items():
        by_region.setdefault((*key[:3], None, key[4]), set()).add(price)
    return {key: found.pop() for key, found in by_region.items() if len(found) == 1} | prices
