"""What the user asks of the plan beyond the experiment: where to look, how to pay, what the answer must meet."""

from typing import NamedTuple

from planner.errors import UnknownNameError, near_misses
from planner.plan.plan import PLACES, Place
from planner.plan.search import Limits

DEFAULT_HOUR_VALUE_USD = 2.0
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
