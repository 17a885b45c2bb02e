"""Read many feeds at once, keep what each says where it was read whole and is sane, and tell what changed.

A feed that fails is reported and leaves what was known as it is; it never stands in the way of another. What is
written is written one provider and region at a time.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from pricing import flags
from pricing.catalog import Catalog
from pricing.errors import FeedError, OfflineError, PricingError
from pricing.http import Http, NotModified
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.places import is_local_zone
from pricing.providers.base import Found, Known, Mark, Note, Report, Source, Step, name_of
from pricing.redact import redact
from pricing.sanity import PURCHASES, row_problems
from pricing.store import Change, Observation, Store, known_prices

READINGS_AT_ONCE = 4
TRIES_FROM_THE_START = 2


class Outcome(NamedTuple):
    """How one source went: rows kept, set apart and no longer seen, and the ``problem`` that ended it, or ''."""

    source: str
    provider: str
    offers: int = 0
    quarantined: int = 0
    not_seen: int = 0
    unchanged: bool = False
    notes: tuple[str, ...] = ()
    problem: str = ""


class Summary(NamedTuple):
    """What a refresh did. ``changes`` are the prices that differ from what was known."""

    outcomes: tuple[Outcome, ...]
    changes: tuple[Change, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every source was read to its end."""
        return not any(outcome.problem for outcome in self.outcomes)


class _Read(NamedTuple):
    """Everything one source said, sorted by kind."""

    offers: list[Offer]
    quarantined: list[Quarantined]
    types: list[InstanceType]
    steps: list[Step]
    notes: list[str]
    etag: str


class Refresher:
    """One refresh of a store over a snapshot, at one moment. ``now`` is in UTC."""

    def __init__(self, store: Store, packaged: Catalog, known: Known, http: Http, now: datetime) -> None:
        self._store = store
        self._packaged = packaged
        self._known = known
        self._http = http
        self._at = now.isoformat(timespec="seconds")
        store.publish(packaged)
        self._before = Catalog(store.path, changing=True).offers(PURCHASES)
        self._prices = known_prices(self._before)
        self._changes: list[Change] = []
        self._offline: dict[str, str] = {}
        self._types = dict(known.types)

    async def run(self, sources: Sequence[Source], report: Report) -> Summary:
        """Read the sources, a few at a time, those that only describe machines first, so that prices find them known.

        Cancelling it keeps what was written so far.
        """
        slots = {source.provider: asyncio.Semaphore(READINGS_AT_ONCE) for source in sources}

        async def one(source: Source) -> Outcome:
            async with slots[source.provider]:
                return await self._outcome(source, report)

        tasks: list[asyncio.Task[Outcome]] = []
        try:
            for has_prices in (False, True):
                async with asyncio.TaskGroup() as group:
                    turn = [source for source in sources if bool(source.purchases) == has_prices]
                    tasks += [group.create_task(one(source)) for source in turn]
        finally:
            self._store.publish(self._packaged)
        return Summary(tuple(task.result() for task in tasks), tuple(self._changes))

    async def _outcome(self, source: Source, report: Report) -> Outcome:
        """Whatever goes wrong with one source is its own problem, also a fault of ours."""
        try:
            if source.provider in self._offline:
                raise OfflineError(self._offline[source.provider])
            read = await self._read(source, report)
            return self._keep(source, read)
        except NotModified:
            rows = self._store.confirm(source.feed, source.provider, source.region or "", self._at)
            return Outcome(name_of(source), source.provider, rows, unchanged=True)
        except OfflineError as error:
            self._offline[source.provider] = str(error)
            return self._failed(source, str(error))
        except PricingError as error:
            return self._failed(source, str(error))
        except sqlite3.Error as error:
            return self._failed(source, f"the store of prices cannot be written: {error}")
        except Exception as error:
            return self._failed(source, f"the feed is not as expected ({type(error).__name__}: {error})")

    def _failed(self, source: Source, problem: str) -> Outcome:
        problem = redact(problem, self._http.secrets)
        try:
            self._store.note_failure(source.feed, source.provider, source.region or "", self._at, problem)
        except sqlite3.Error as error:
            problem += f"; and that cannot be noted in the store: {error}"
        return Outcome(name_of(source), source.provider, problem=problem)

    async def _read(self, source: Source, report: Report) -> _Read:
        """The whole source, from the start again where it broke off."""
        etag = self._store.etag(source.feed, source.region or "")
        for left in reversed(range(TRIES_FROM_THE_START)):
            try:
                return _sorted([found async for found in source.read(self._http, report, etag)])
            except FeedError as error:
                if not error.again or not left:
                    raise
        raise AssertionError("the last try neither returned nor raised")

    def _keep(self, source: Source, read: _Read) -> Outcome:
        """Write what is sane, region by region; the mark last, so that a half-written reading is read again."""
        self._types |= {(machine.provider, machine.instance_type): machine for machine in read.types}
        sane, refused = self._sift(read)
        gone = self._not_seen(source, sane, refused)
        regions = {source.region or ""} | {offer.region for offer in (*sane, *gone)}
        regions |= {row.offer.region for row in refused}
        for region in sorted(regions, reverse=True):
            last = region == (source.region or "")
            observation = Observation(
                *(source.feed, source.provider, region, self._at),
                offers=[offer for offer in sane if offer.region == region],
                quarantined=[row for row in refused if row.offer.region == region],
                vanished=[offer for offer in gone if offer.region == region],
                types=read.types if last else (),
                steps=read.steps if last else (),
                etag=read.etag if last else "",
            )
            self._changes += self._store.apply(observation, self._prices)
        reasons = Counter(row.reason for row in refused)
        notes = [f"{count} set apart: {reason}" for reason, count in reasons.most_common()]
        return Outcome(
            name_of(source), source.provider, len(sane), len(refused), len(gone), notes=(*read.notes, *notes)
        )

    def _sift(self, read: _Read) -> tuple[list[Offer], list[Quarantined]]:
        """The rows that keep every invariant, and the others with the one they break."""
        sane, refused = [], list(read.quarantined)
        seen: set[tuple[str | None, ...]] = set()
        for offer in read.offers:
            problems = row_problems(offer, self._types, self._known.today)
            if offer[:5] in seen:
                problems.append("a second price for the same place")
            seen.add(offer[:5])
            if problems:
                machine = self._types.get(offer[:2])
                accelerator, count = (machine.accelerator, machine.num_gpus) if machine else ("", None)
                refused.append(Quarantined(offer, accelerator, count, problems[0]))
            else:
                sane.append(offer)
        return sane, refused

    def _not_seen(self, source: Source, sane: Iterable[Offer], refused: Iterable[Quarantined]) -> list[Offer]:
        """Rows known before of which this reading should have spoken and did not, flagged, with their old day."""
        seen = {offer[:5] for offer in (*sane, *(row.offer for row in refused))}
        gone = []
        for offer in self._before:
            if (
                offer.provider == source.provider
                and offer.purchase in source.purchases
                and source.covers(offer)
                and (source.is_whole or offer.price_source == source.source)
                and not is_local_zone(offer)
                and offer[:5] not in seen
                and (*offer[:3], None, offer.purchase) not in seen
            ):
                marks = tuple(sorted({*offer.flags, flags.NOT_SEEN}))
                gone.append(offer._replace(flags=marks))
        return gone


def _sorted(found: Iterable[Found]) -> _Read:
    read = _Read([], [], [], [], [], "")
    for each in found:
        match each:
            case Offer():
                read.offers.append(each)
            case Quarantined():
                read.quarantined.append(each)
            case InstanceType():
                read.types.append(each)
            case Step():
                read.steps.append(each)
            case Note(text):
                read.notes.append(text)
            case Mark(etag):
                read = read._replace(etag=etag)
    return read


def what_is_known(catalog: Catalog, now: datetime) -> Known:
    """What sources need to know of the world before they are read."""
    places = {offer[:3] for offer in catalog.offers(PURCHASES)}
    return Known(catalog.instance_types(), places, now.date())
