"""When a machine pays for itself: the money of owning against renting for the same runs, over runs and months.

Owning costs the purchase and, each run, electricity; renting costs each run its bill. With ``r`` runs a month, price
``P``, electricity ``e`` and rent ``c`` a run, owning has paid for itself after ``P / (c - e)`` runs, which is
``P / (r * (c - e))`` months. Less resale: a machine loses the same share of its value every month, so that
``resale_share`` is left after ``lifetime_months``; owning then costs ``P - P * s ** (m / L) + m * r * e`` up to month
``m``, and pays from where that falls below ``m * r * c`` for good. A provider's credit ``K`` pays for the first rented
runs, once: renting costs ``max(0, m * r * c - K)``, so that owning must make up for ``P + K``. docs/decisions.md works
a case by hand.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from planner.units import SECONDS_PER_HOUR

WEEKS_PER_MONTH = 365.25 / 7 / 12
_FURTHEST_MONTHS = 600.0


class Owning(NamedTuple):
    """A machine that might be bought: ``purchase_usd`` for all of it, what a run costs and how long it takes on it."""

    purchase_usd: float
    run_usd: float
    run_s: float
    resale_share: float
    lifetime_months: float

    def value_usd(self, months: float) -> float:
        """What it would sell for after ``months``."""
        return float(self.purchase_usd * self.resale_share ** (months / self.lifetime_months))

    def runs_per_month(self, hours_per_week: float) -> float:
        """How many runs the machine makes in a month of that much use."""
        return hours_per_week * WEEKS_PER_MONTH * SECONDS_PER_HOUR / self.run_s

    def hours_per_week(self, runs_per_month: float) -> float:
        """How busy that many runs keep the machine; above 168 it cannot keep up."""
        return runs_per_month * self.run_s / SECONDS_PER_HOUR / WEEKS_PER_MONTH

    def spent_usd(self, months: float, runs_per_month: float) -> float:
        """Money out of the pocket up to then."""
        return self.purchase_usd + months * runs_per_month * self.run_usd


class BreakEven(NamedTuple):
    """From when on owning is the cheaper; infinite where never. ``months_after_resale`` counts what it sells for."""

    runs: float
    months: float
    months_after_resale: float


def break_even(owning: Owning, rent_run_usd: float, runs_per_month: float, credit_usd: float = 0.0) -> BreakEven:
    """Against a rent of ``rent_run_usd`` a run, of which ``credit_usd`` are paid by the provider."""
    saved = rent_run_usd - owning.run_usd
    runs = (owning.purchase_usd + credit_usd) / saved if saved > 0 else math.inf
    months = runs / runs_per_month if runs_per_month > 0 else math.inf
    return BreakEven(runs, months, _after_resale(owning, saved * runs_per_month, credit_usd))


def _after_resale(owning: Owning, saved_a_month: float, credit_usd: float) -> float:
    """The month from which what is saved stays above what the machine has lost in value, and the credit.

    The loss rises ever slower, so that the two cross once, after month 0; where the savings are above the loss from the
    beginning, it pays at once.
    """
    if saved_a_month <= 0 or owning.purchase_usd + credit_usd <= 0:
        return 0.0 if owning.purchase_usd + credit_usd <= 0 < saved_a_month else math.inf

    def lost(months: float) -> float:
        return owning.purchase_usd - owning.value_usd(months) + credit_usd

    low, high = 0.0, 1.0
    while saved_a_month * high < lost(high):
        low, high = high, high * 2
        if high > _FURTHEST_MONTHS:
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if saved_a_month * middle >= lost(middle) else (middle, high)
    return high if high > 1e-6 else 0.0


class Change(NamedTuple):
    """Something assumed taken otherwise: ``key`` for programs, ``words`` for people; factors of what was assumed."""

    key: str
    words: str
    price: float = 1.0
    rent: float = 1.0
    electricity: float = 1.0


CHANGES = (
    Change("as_assumed", "as assumed"),
    Change("price_minus_20_percent", "price −20 %", price=0.8),
    Change("price_plus_20_percent", "price +20 %", price=1.2),
    Change("rent_minus_30_percent", "rent −30 %", rent=0.7),
    Change("rent_plus_30_percent", "rent +30 %", rent=1.3),
    Change("electricity_doubled", "electricity ×2", electricity=2.0),
)


class Sensitivity(NamedTuple):
    """Months to break even at one use of the machine, one figure for each of ``CHANGES``."""

    hours_per_week: float
    months: tuple[float, ...]


def sensitivity(
    owning: Owning, rent_run_usd: Callable[[float], float], uses: tuple[float, ...], credit_usd: float = 0.0
) -> tuple[Sensitivity, ...]:
    """A row a use in hours a week, a column a change; ``rent_run_usd`` is the rent of a run at so many a month."""
    rows = []
    for use in uses:
        runs = owning.runs_per_month(use)
        rent_usd = rent_run_usd(runs)
        months = (
            break_even(_changed(owning, change), rent_usd * change.rent, runs, credit_usd).months for change in CHANGES
        )
        rows.append(Sensitivity(use, tuple(months)))
    return tuple(rows)


def _changed(owning: Owning, change: Change) -> Owning:
    return owning._replace(purchase_usd=owning.purchase_usd * change.price, run_usd=owning.run_usd * change.electricity)
