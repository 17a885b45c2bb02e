"""What every source of prices is: an asynchronous stream of what it finds, with progress, that can be cancelled.

A source has been read when its stream ends; until then nothing of it counts. It yields offers as the provider states
them: whether they are sane is decided afterwards, by the same rules for all.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Set
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, Protocol, TypeAlias

from pricing.errors import FeedError
from pricing.http import Http
from pricing.offer import InstanceType, Offer, Quarantined

# No machine for rent is near it; a price above is a sum over a term, another currency or a typing error.
DEAREST_USD_PER_HOUR = Decimal(20_000)
NO_PRICE = "the source states no price above zero"
TOO_DEAR = f"more than {DEAREST_USD_PER_HOUR:,} USD per hour is not the price of an hour"


class Step(NamedTuple):
    """How often spot machines of a type are taken away in a region: the advisor's step, 0 (seldom) to 4."""

    region: str
    instance_type: str
    step: int


class Note(NamedTuple):
    """A sentence on what was left out of a feed, or could not be priced."""

    text: str


class Mark(NamedTuple):
    """The ETag of the file that was read."""

    etag: str


Found: TypeAlias = Offer | Quarantined | InstanceType | Step | Note | Mark


class Progress(NamedTuple):
    """How far a source is; ``total`` is None where the provider does not say. ``unit`` is 'bytes' or 'pages'."""

    source: str
    done: int
    total: int | None
    unit: str


Report: TypeAlias = Callable[[Progress], None]


class Known(NamedTuple):
    """What is known before a refresh: the machines, the (provider, type, region) that have a price, and today."""

    types: Mapping[tuple[str, str], InstanceType]
    places: Set[tuple[str, str, str]]
    today: date

    def has_type(self, provider: str, instance_type: str) -> bool:
        return (provider, instance_type) in self.types


class Source(Protocol):
    """One feed, or the part of it that is of one region.

    ``region`` is that region, None where the feed covers many; ``purchases`` are the ways to buy it prices, ``source``
    is how its rows name it. ``is_whole`` says that of what it covers, what it does not mention is not sold.
    """

    @property
    def feed(self) -> str: ...

    @property
    def provider(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def region(self) -> str | None: ...

    @property
    def purchases(self) -> tuple[str, ...]: ...

    @property
    def is_whole(self) -> bool: ...

    def covers(self, offer: Offer) -> bool:
        """Whether the reading prices what this offer is of, so that its absence means something."""
        ...

    def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        """Everything the feed says. Raises FeedError where it cannot be read to its end, or NotModified."""
        ...


def name_of(source: Source) -> str:
    """What a progress bar and a report call it: 'AWS price list eu-west-1'."""
    return f"{source.feed} {source.region}" if source.region else source.feed


def offer_or_refusal(
    provider: str,
    instance_type: str,
    place: tuple[str, str | None],
    purchase: str,
    price: object,
    known: Known,
    source: str,
    marks: Iterable[str] = (),
) -> Offer | Quarantined:
    """An offer at ``price`` USD per hour (text, number or Decimal), or the row apart with the reason it is none."""
    text = price_text(price)
    region, zone = place
    offer = Offer(
        *(provider, instance_type, region, zone, purchase, text or "0", float(text or 0)),
        *(tuple(sorted(marks)), known.today.isoformat(), source),
    )
    if text is not None and Decimal(text) <= DEAREST_USD_PER_HOUR:
        return offer
    machine = known.types.get((provider, instance_type))
    reason = NO_PRICE if text is None else TOO_DEAR
    return Quarantined(offer, machine.accelerator if machine else "", machine.num_gpus if machine else None, reason)


def price_text(price: object) -> str | None:
    """A price as plain decimal text without trailing zeros, None where it is not a number above zero.

    '55.0400000000' -> '55.04'; 1E-7 -> '0.0000001'. Booleans and numbers of more than 30 digits are no prices.
    """
    if isinstance(price, bool) or not isinstance(price, str | int | float | Decimal):
        return None
    written = str(price).strip()
    if len(written) > 40:
        return None
    try:
        value = Decimal(written)
    except InvalidOperation:
        return None
    if not value.is_finite() or not Decimal("1e-9") <= value <= Decimal("1e12"):
        return None
    return f"{value.normalize():f}"


def dearer(held: Offer | None, offer: Offer) -> Offer:
    """Of two prices of one thing the dearer: which row of a feed comes first must not decide."""
    return offer if held is None or Decimal(offer.price) > Decimal(held.price) else held


def members(value: object, name: str) -> dict[str, object]:
    """``value`` as a JSON object. Raises FeedError where it is something else."""
    if not isinstance(value, dict):
        raise FeedError(f"{name}: expected an object, found {type(value).__name__}")
    return value


def text_of(record: Mapping[str, object], key: str) -> str:
    """The text under ``key``, '' where there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else ""
