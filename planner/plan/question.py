"""What the user asks of the plan beyond the experiment: where to look, how to pay, what the answer must meet."""

import math
from typing import NamedTuple

from planner.errors import InputError, UnknownNameError, near_misses
from planner.plan.plan import PLACES, Place
from planner.plan.search import Limits

DEFAULT_HOUR_VALUE_USD = 2.0
MOST_HOUR_VALUE_USD = 1_000_000
MOST_NODES = 10_000
NO_LIMITS = Limits()


class Question(NamedTuple):
    """Empty tuples and None mean "no restriction"."""

    where: tuple[str, ...] = ()
    gpus: str | None = None
    num_nodes: int | None = None
    regions: tuple[str, ...] = ()
    purchases: tuple[str, ...] = ()
    max_price_usd_per_hour: float | None = None
    max_price_age_days: int = 365
    country: str | None = None
    electricity_usd_per_kwh: float | None = None
    hour_value_usd: float | None = None
    measured: tuple[str, ...] = ()
    limits: Limits = NO_LIMITS


def checked(question: Question) -> Question:
    """The question, its numbers within their bounds. Raises InputError."""
    limits = question.limits
    if question.num_nodes is not None and not 1 <= question.num_nodes <= MOST_NODES:
        raise InputError(f"--num-nodes must be between 1 and {MOST_NODES:,}, not {question.num_nodes}")
    if question.max_price_age_days < 0:
        raise InputError(f"--max-price-age must be 0 or more days, not {question.max_price_age_days}")
    for flag, usd in (("--budget", limits.budget_usd), ("--max-price", question.max_price_usd_per_hour)):
        if usd is not None and not 0 < usd < math.inf:
            raise InputError(f"{flag} must be an amount above 0, not {usd}")
    if question.hour_value_usd is not None and not 0 <= question.hour_value_usd <= MOST_HOUR_VALUE_USD:
        raise InputError(f"--hour-value must be 0 to {MOST_HOUR_VALUE_USD:,}, not {question.hour_value_usd}")
    if not 0 < limits.confidence < 1:
        raise InputError(f"--confidence must be between 0 and 1, such as 0.9, not {limits.confidence}")
    return question


class Where(NamedTuple):
    """--where resolved: the places to look in, those the user named, and the clouds (empty: all of them)."""

    places: frozenset[Place]
    named: frozenset[Place]
    providers: frozenset[str]


def resolve_where(words: tuple[str, ...], providers: tuple[str, ...]) -> Where:
    """Places and provider names apart. Raises UnknownNameError for a word that is neither."""
    places: set[Place] = set()
    clouds: set[str] = set()
    for word in words:
        folded = word.lower()
        place = next((place for place in PLACES if place == folded), None)
        if place is not None:
            places.add(place)
        elif folded in providers:
            clouds.add(folded)
        else:
            known = (*PLACES, *providers)
            raise UnknownNameError("place or provider", word, near_misses(word, known), f"known are {', '.join(known)}")
    named = frozenset(places)
    if clouds:
        # A named provider narrows the cloud; "cloud" beside it asks for all of it.
        if "cloud" in places:
            clouds.clear()
        places.add("cloud")
    return Where(frozenset(places or PLACES), named, frozenset(clouds))
