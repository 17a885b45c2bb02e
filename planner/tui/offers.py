"""Offers as the Prices screen shows them: filtered, sorted on raw values, with their ages."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from planner.plan.question import Question
from planner.tui.core import Prices
from pricing.age import age_days, is_stale
from pricing.flags import MEANING, NOT_SEEN, UNSOLD
from pricing.offer import InstanceType, Offer

SORTS = ("price", "provider", "machine", "region", "gpus", "age")
_GONE = frozenset({NOT_SEEN, *UNSOLD})
TOO_OLD_DAYS = Question().max_price_age_days
AGE_BANDS = (
    (0, "today"),
    (3, "1–3 days"),
    (30, "4–30 days"),
    (TOO_OLD_DAYS, f"31–{TOO_OLD_DAYS} days"),
    (10**9, "older: not ranked"),
)


class Line(NamedTuple):
    """An offer with its machine, its age in days, and whether that is too old to trust as it stands.

    ``current`` says that it can be had and trained on: neither retired, nor unsold, nor too old to be ranked; ``text``
    is what a filter looks at.
    """

    offer: Offer
    kind: InstanceType
    days: int
    stale: bool
    current: bool
    text: str


_RAW: dict[str, Callable[[Line], tuple[object, ...]]] = {
    "price": lambda line: (line.offer.usd_per_hour,),
    "provider": lambda line: (line.offer.provider, line.offer.usd_per_hour),
    "machine": lambda line: (line.offer.instance_type.casefold(), line.offer.usd_per_hour),
    "region": lambda line: (line.offer.region, line.offer.usd_per_hour),
    "gpus": lambda line: (line.kind.accelerator, line.kind.num_gpus, line.offer.usd_per_hour),
    "age": lambda line: (line.days, line.offer.usd_per_hour),
}


def offer_lines(prices: Prices) -> list[Line]:
    """Every offer; dates are few, so that each age is worked out once."""

    @cache
    def days(price_as_of: str) -> int:
        return age_days(price_as_of, prices.today)

    @cache
    def stale(purchase: str, price_as_of: str) -> bool:
        return is_stale(purchase, price_as_of, prices.today)

    lines = []
    for offer in prices.offers:
        kind, age = prices.kinds[(offer.provider, offer.instance_type)], days(offer.price_as_of)
        current = not kind.unranked and age <= TOO_OLD_DAYS and _GONE.isdisjoint(offer.flags)
        lines.append(Line(offer, kind, age, stale(offer.purchase, offer.price_as_of), current, _text(offer, kind)))
    return lines


def chosen_lines(lines: Sequence[Line], words: str, sort: str, *, cpu_too: bool, past_too: bool = False) -> list[Line]:
    """The lines that contain every word, in the order asked for; machines without accelerators where ``cpu_too``, those
    that are not current where ``past_too``."""
    wanted = words.casefold().split()
    shown = [line for line in lines if (cpu_too or line.kind.num_gpus) and (past_too or line.current)]
    if wanted:
        shown = [line for line in shown if all(word in line.text for word in wanted)]
    raw = _RAW[sort]
    return sorted(shown, key=lambda line: raw(line))


def age_counts(lines: Sequence[Line]) -> list[tuple[str, int]]:
    """How many offers are how old."""
    counts = [0] * len(AGE_BANDS)
    for line in lines:
        counts[next(index for index, (most, _) in enumerate(AGE_BANDS) if line.days <= most)] += 1
    return [(name, count) for (_, name), count in zip(AGE_BANDS, counts, strict=True)]


def flag_words(offer: Offer) -> list[str]:
    """What the flags of an offer mean."""
    return [MEANING.get(flag, flag) for flag in offer.flags]


def _text(offer: Offer, kind: InstanceType) -> str:
    parts = (offer.provider, offer.instance_type, offer.region, offer.zone or "", offer.purchase, kind.accelerator)
    return " ".join(parts).casefold()
