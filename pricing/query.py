"""Which offers a question is about, as a pure predicate, and which of them may never be ranked."""

from collections.abc import Iterable
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from pricing import flags
from pricing.age import age_days
from pricing.offer import InstanceType, Offer

MAX_AGE_DAYS = 365


class OfferQuery(NamedTuple):
    """What to look for; an empty tuple or None asks nothing.

    ``regions`` are patterns such as 'us-*' or 'europe-west4', matched against region and zone. ``accelerators`` are
    keys of the planner's table, '' for machines without one. GPU counts and memory are per machine and per
    accelerator in GiB; ``max_usd_per_hour`` is of one machine.
    """

    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    purchases: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    min_gpus: float | None = None
    max_gpus: float | None = None
    min_memory_gib_per_gpu: float | None = None
    max_usd_per_hour: float | None = None
    max_age_days: int | None = None


def parse_patterns(text: str) -> tuple[str, ...]:
    """The patterns of a comma list: 'us-*, eastus' -> ('us-*', 'eastus'); case and empty parts do not count."""
    return tuple(part.strip().lower() for part in text.split(",") if part.strip())


def select(offers: Iterable[Offer], instance_type: InstanceType, query: OfferQuery, today: date) -> list[Offer]:
    """The offers of one machine that answer ``query``, in their order."""
    if query == OfferQuery():  # nothing is asked: the commonest question, over thousands of offers
        return list(offers)
    return [offer for offer in offers if matches(offer, instance_type, query, today)]


def matches(offer: Offer, instance_type: InstanceType, query: OfferQuery, today: date) -> bool:
    """Whether the offer of this machine answers ``query``; a memory that is unknown does not meet a least memory."""
    if query.providers and offer.provider not in query.providers:
        return False
    if query.purchases and offer.purchase not in query.purchases:
        return False
    if query.max_usd_per_hour is not None and offer.usd_per_hour > query.max_usd_per_hour:
        return False
    if query.regions and not in_regions(offer.region, offer.zone, query.regions):
        return False
    if query.max_age_days is not None and age_days(offer.price_as_of, today) > query.max_age_days:
        return False
    return _machine_matches(instance_type, query)


def _machine_matches(machine: InstanceType, query: OfferQuery) -> bool:
    if query.accelerators and machine.accelerator not in query.accelerators:
        return False
    if query.min_gpus is not None and machine.num_gpus < query.min_gpus:
        return False
    if query.max_gpus is not None and machine.num_gpus > query.max_gpus:
        return False
    if query.min_memory_gib_per_gpu is not None:
        return (machine.memory_gib_per_gpu or 0.0) >= query.min_memory_gib_per_gpu
    return True


@lru_cache(maxsize=4096)
def in_regions(region: str, zone: str | None, patterns: tuple[str, ...]) -> bool:
    """Whether a region or its zone fits one of ``patterns``; a price for 'all' regions is in none in particular."""
    return any(fnmatchcase(region, pattern) or fnmatchcase(zone or region, pattern) for pattern in patterns)


def unranked_reason(offer: Offer, instance_type: InstanceType, today: date, max_age_days: int = MAX_AGE_DAYS) -> str:
    """Why this offer is shown without a rank; '' where nothing on the price side stands against it."""
    return instance_type.unranked or _price_reason(offer.flags, offer.price_as_of, today, max_age_days)


@lru_cache(maxsize=4096)
def _price_reason(marks: tuple[str, ...], price_as_of: str, today: date, max_age_days: int) -> str:
    """Thousands of offers share a few dozen days and marks."""
    for flag in marks:
        if flag in flags.UNSOLD:
            return flags.MEANING[flag]
    age = age_days(price_as_of, today)
    if age > max_age_days:
        return f"the price is {age} {'day' if age == 1 else 'days'} old, more than {max_age_days}"
    return ""
