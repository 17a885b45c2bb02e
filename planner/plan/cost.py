"""The bill of a run: charges by the hour and once, each a line with its source, rounded to the cent."""

import math
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cache
from typing import NamedTuple

from planner.plan.plan import CostPart, CostUse
from planner.units import SECONDS_PER_HOUR, Interval
from pricing.age import age_days, is_stale
from pricing.offer import Offer
from pricing.rates import Billing

SPOT_MOVE = 0.4
"""A spot price moves about 40 % in 60 days (GCP H100 spot, 2026-04 to 2026-08)."""

SPOT_MOVE_DAYS = 60.0
MAX_SPOT_SPREAD = 1.0
"""Spread in ln beyond which an old spot price says nothing more."""


COMPUTE = "compute"
CREDITS = "credits"


class Charge(NamedTuple):
    """``usd_per_hour`` for as long as the machine is kept plus ``usd_once``; a None price is unknown, not free.

    ``billing`` rounds the time up to the provider's step; None charges every second. ``as_of`` is the price's day.
    ``at_most`` marks a price that nobody knows either, taken at the dearest rate known of anybody.
    """

    name: str
    usd_per_hour: float | None
    usd_once: float | None
    source: str
    billing: Billing | None = None
    as_of: str | None = None
    at_most: bool = False

    @property
    def known(self) -> bool:
        return self.usd_per_hour is not None and self.usd_once is not None

    def usd(self, seconds: float) -> float | None:
        if self.usd_per_hour is None or self.usd_once is None:
            return None
        hours = seconds / SECONDS_PER_HOUR if self.billing is None else self.billing.billed_hours(seconds)
        return self.usd_per_hour * hours + self.usd_once


def bill(charges: Iterable[Charge], seconds: float, credit_usd: float = 0.0) -> tuple[CostPart, ...]:
    """The lines for a machine kept for ``seconds``, each rounded to the cent; a credit pays for what it can."""
    lines, spent = [], 0
    for charge in charges:
        usd = charge.usd(seconds)
        spent += 0 if usd is None else cents(usd)
        amount = None if usd is None else cents(usd) / 100
        lines.append(CostPart(charge.name, amount, charge.source, charge.as_of, at_most=charge.at_most))
    if credit_usd > 0:
        lines.append(CostPart(CREDITS, -min(cents(credit_usd), spent) / 100, "[credits] in your configuration"))
    return tuple(lines)


def spent_on(line: CostPart, seconds_by_use: Iterable[tuple[str, float]]) -> CostPart:
    """The line with its parts: shared out by seconds; the cents that rounding leaves go to the largest remainders."""
    uses = [(name, seconds) for name, seconds in seconds_by_use if seconds > 0]
    whole = sum(seconds for _, seconds in uses)
    if line.usd is None or whole <= 0:
        return line
    total = cents(line.usd)
    shares = in_whole([total * seconds / whole for _, seconds in uses], total)
    parts = (CostUse(name, share / 100) for (name, _), share in zip(uses, shares, strict=True) if share)
    return line._replace(parts=tuple(parts))


def in_whole(exact: Sequence[float], total: int) -> list[int]:
    """Whole amounts next to the exact ones that add up to ``total``: what is over goes to the largest remainders."""
    shares = [math.floor(amount) for amount in exact]
    by_remainder = sorted(range(len(exact)), key=lambda index: shares[index] - exact[index])
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    return shares


def cents(usd: float) -> int:
    """Whole cents, half up: a bill's unit."""
    return math.floor(usd * 100 + 0.5)


def total_cents(charges: Iterable[Charge], seconds: float) -> int:
    """The sum of the known lines as a bill states it: each rounded to the cent before they are added."""
    total = 0
    for charge in charges:
        usd = charge.usd(seconds)
        if usd is not None:
            total += cents(usd)
    return total


def bounded_cents(charges: Iterable[Charge], seconds: float) -> int:
    """What of ``total_cents`` stands for prices that nobody knows, taken at the dearest rate known."""
    return total_cents((charge for charge in charges if charge.at_most), seconds)


def is_bounded(lines: Iterable[CostPart]) -> bool:
    """Whether a bill has a line that is only a bound: its total is then at most so much."""
    return any(line.at_most and line.usd for line in lines)


def after_credit(total: int, credit_usd: float) -> int:
    """Cents that are left to pay."""
    return max(0, total - cents(credit_usd)) if credit_usd else total


class Bill(NamedTuple):
    """A bill for a time: ``cents`` by its steps, ``bounded_cents`` those of them that stand for prices nobody knows.

    ``usd_once`` and ``usd_per_s`` are how it moves with the time, as if billed by the second, an unknown charge as
    nothing.
    """

    cents: int
    bounded_cents: int
    usd_once: float
    usd_per_s: float

    def and_hours(self, usd_per_hour: float, hours: float) -> "Bill":
        """With so many billed hours at a price on top."""
        return Bill(
            self.cents + cents(usd_per_hour * hours),
            self.bounded_cents,
            self.usd_once,
            self.usd_per_s + usd_per_hour / SECONDS_PER_HOUR,
        )


def billed(charges: Sequence[Charge], seconds: float) -> Bill:
    """The bill for a machine that is kept for ``seconds``."""
    return Bill(
        total_cents(charges, seconds),
        bounded_cents(charges, seconds),
        sum(charge.usd_once or 0.0 for charge in charges),
        sum(charge.usd_per_hour or 0.0 for charge in charges) / SECONDS_PER_HOUR,
    )


def cost_interval(at_p50: Bill, seconds: Interval, price_spread: float = 0.0, credit_usd: float = 0.0) -> Interval:
    """P50 is the bill's total; the ends follow the time's and, in quadrature, the price's own spread (in ln). What is
    taken at the dearest rate known may cost nothing, which the P10 is without.

    The ends are not rounded to billing steps: how a started hour is billed is part of what is not known beforehand.
    """
    least = most = middle = at_p50.cents / 100
    by_second = at_p50.usd_once + at_p50.usd_per_s * seconds.p50
    if by_second > 0:
        low = at_p50.usd_once + at_p50.usd_per_s * seconds.p10
        high = at_p50.usd_once + at_p50.usd_per_s * seconds.p90
        least *= math.exp(-math.hypot(math.log(by_second / low), price_spread))
        most *= math.exp(math.hypot(math.log(high / by_second), price_spread))
    least = max(0.0, least - at_p50.bounded_cents / 100)
    if credit_usd:
        paid = after_credit(at_p50.cents, credit_usd) / 100
        return Interval(max(0.0, least - credit_usd), paid, max(0.0, most - credit_usd))
    return Interval(least, middle, most)


class PriceAge(NamedTuple):
    """Whether a price is too old to trust as it stands, and how far in ln it may have moved by the P90."""

    stale: bool
    spread: float


def price_age(offer: Offer, today: date) -> PriceAge:
    """Spot prices wander with the root of their age; list prices are taken to stand until they are seen to move."""
    return _price_age(offer.purchase, offer.price_as_of, today)


@cache
def _price_age(purchase: str, price_as_of: str, today: date) -> PriceAge:
    """Thousands of offers share a few dozen days."""
    stale = is_stale(purchase, price_as_of, today)
    if purchase != "spot":
        return PriceAge(stale, 0.0)
    days = max(0, age_days(price_as_of, today))
    return PriceAge(stale, min(MAX_SPOT_SPREAD, math.log1p(SPOT_MOVE) * math.sqrt(days / SPOT_MOVE_DAYS)))
