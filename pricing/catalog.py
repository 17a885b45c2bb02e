"""One set of tables with prices, read-only in a few milliseconds: the packaged snapshot, or what a store published."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pricing.errors import PricingError, UnknownPlaceError, near_misses
from pricing.interruption import Interruptions, Measured
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.query import in_regions, parse_patterns
from pricing.tables import SCHEMA_VERSION

PACKAGED = Path(__file__).parent / "data" / "snapshot.sqlite"
HOURLY = ("on_demand", "spot")


class PriceSource(NamedTuple):
    """Where some of the prices come from, how many they are, and the days between which they were seen."""

    name: str
    origin: str
    licence: str
    offers: int
    oldest: str
    newest: str


class Catalog:
    """One set of tables. Every method reads it afresh and raises PricingError where it cannot; keep what is used twice.

    ``notices`` are sentences the reader of these prices should see. ``changing`` says that another process may write
    to the file meanwhile.
    """

    def __init__(self, path: Path, notices: Sequence[str] = (), changing: bool = False) -> None:
        self.path = path
        self.notices = tuple(notices)
        self.changing = changing

    def offers(self, purchases: Sequence[str] = HOURLY) -> list[Offer]:
        """All offers of these purchase options, by provider, instance type, region, zone and purchase."""
        found = []
        with self._reading() as snapshot:
            machines = snapshot.execute("select provider, instance_type from machines order by id").fetchall()
            places = snapshot.execute("select region, zone from places order by id").fetchall()
            provenances = [
                (purchase, tuple(marks.split()), as_of, source) if purchase in purchases else None
                for purchase, marks, as_of, source in snapshot.execute(
                    "select purchase, flags, price_as_of, price_source from provenances order by id"
                )
            ]
            new = tuple.__new__  # a third of the time that Offer(...) takes, and there are thousands
            for machine, place, provenance, price in snapshot.execute(
                "select machine, place, provenance, price from offers order by id"
            ):
                known = provenances[provenance]
                if known is None:
                    continue
                (provider, name), (region, zone), (purchase, flags, as_of, source) = (
                    machines[machine],
                    places[place],
                    known,
                )
                usd = float(price)
                found.append(new(Offer, (provider, name, region, zone, purchase, price, usd, flags, as_of, source)))
        return found

    def instance_types(self) -> dict[tuple[str, str], InstanceType]:
        """Every machine known by (provider, instance type), also those without a price or that cannot train."""
        columns = ", ".join(InstanceType._fields)
        with self._reading() as snapshot:
            rows = snapshot.execute(f"select {columns} from instance_types order by provider, instance_type")
            new = tuple.__new__
            return {row[:2]: new(InstanceType, (*row[:-1], bool(row[-1]))) for row in rows}

    def quarantined(self) -> list[Quarantined]:
        """The price rows kept apart, each with its reason."""
        with self._reading() as snapshot:
            rows = snapshot.execute(
                "select provider, instance_type, region, zone, purchase, price, flags, price_as_of, price_source,"
                " accelerator, num_gpus, reason from quarantined order by id"
            )
            return [
                Quarantined(Offer._make((*row[:6], float(row[5]), tuple(row[6].split()), row[7], row[8])), *row[9:])
                for row in rows
            ]

    def sources(self) -> list[PriceSource]:
        """Where the prices come from; a source whose rows are all quarantined has 0 offers and no days."""
        with self._reading() as snapshot:
            rows = snapshot.execute(
                "select name, origin, licence, count(offers.id), coalesce(min(price_as_of), ''),"
                " coalesce(max(price_as_of), '') from sources left join provenances on price_source = name"
                " left join offers on provenance = provenances.id group by name order by name"
            )
            return [PriceSource(*row) for row in rows]

    def interruptions(self) -> Interruptions:
        """How often spot machines are taken away."""
        with self._reading() as snapshot:
            steps = {
                (region, machine): step
                for region, machine, step in snapshot.execute("select region, instance_type, step from interruptions")
            }
            measured = {row[0]: Measured(*row[1:]) for row in snapshot.execute("select * from measured_interruptions")}
            return Interruptions(steps, read_meta(snapshot)["interruptions_as_of"], measured)

    def providers(self) -> list[str]:
        """The providers that offer a machine, by name."""
        with self._reading() as snapshot:
            return [name for (name,) in snapshot.execute("select distinct provider from machines order by provider")]

    def regions(self) -> dict[str, list[str]]:
        """The regions of each provider that have a price."""
        found: dict[str, list[str]] = {}
        with self._reading() as snapshot:
            for provider, region in snapshot.execute(
                "select distinct provider, region from offers join machines on machine = machines.id"
                " join places on place = places.id order by provider, region"
            ):
                found.setdefault(provider, []).append(region)
        return found

    def check_regions(self, patterns: str) -> tuple[str, ...]:
        """The patterns of a comma list, each of which fits a region or zone. Raises UnknownPlaceError otherwise."""
        parsed = parse_patterns(patterns)
        if not parsed:
            raise UnknownPlaceError("region", patterns)
        with self._reading() as snapshot:
            places = snapshot.execute("select region, zone from places").fetchall()
        for pattern in parsed:
            if not any(in_regions(region, zone, (pattern,)) for region, zone in places):
                raise UnknownPlaceError("region", pattern, near_misses(pattern, {region for region, _ in places}))
        return parsed

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """The rows of one of the tables as they stand."""
        with self._reading() as snapshot:
            return snapshot.execute(f"select * from {table}").fetchall()

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return reading(self.path, self.changing)

    def check_provider(self, name: str) -> str:
        """The provider as the snapshot spells it. Raises UnknownPlaceError where it has none like it."""
        known = self.providers()
        if name.lower() in known:
            return name.lower()
        raise UnknownPlaceError("provider", name, near_misses(name, known))


def open_snapshot(path: Path, notices: Sequence[str] = ()) -> Catalog:
    """One snapshot alone. Raises PricingError where it cannot be read."""
    with reading(path) as snapshot:
        version = read_meta(snapshot).get("schema")
    if version != SCHEMA_VERSION:
        raise PricingError(f"the price snapshot {path} has schema {version!r}; this version reads {SCHEMA_VERSION!r}")
    return Catalog(path, notices)


def read_meta(snapshot: sqlite3.Connection) -> dict[str, str]:
    """What the tables say of themselves: their schema, days, what was published."""
    return dict(snapshot.execute("select key, value from meta"))


@contextmanager
def reading(path: Path, changing: bool = False) -> Iterator[sqlite3.Connection]:
    """The file, opened so that nothing can write to it; whatever is wrong with its content is one PricingError."""
    mode = "mode=ro" if changing else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as connection:
            yield connection
    except (sqlite3.Error, ValueError, TypeError, LookupError, AttributeError) as error:
        raise PricingError(f"the price snapshot {path} cannot be read: {error}") from error
