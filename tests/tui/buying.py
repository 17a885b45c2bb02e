"""Buying against renting, with invented rates and prices of rent."""

from planner.errors import UnknownNameError
from planner.plan.bought import Bought
from planner.plan.breakeven import Owning, break_even, sensitivity
from planner.plan.buy_or_rent import USES, BuyOrRent, Terms
from planner.plan.electricity import ElectricityPrice
from planner.plan.purchase import described_purchase
from planner.plan.rents import Rent
from planner.units import Interval

SEEN = "2026-11-28"
RATES = {"RTX 4090": (1480.0, 79_200.0, 3.3), "used RTX 3090": (905.0, 129_600.0, 3.6)}


def sample_buying(terms: Terms) -> BuyOrRent:
    """The default machines, of which the two in ``RATES`` can run it. Raises UnknownNameError for others."""
    rents = (
        Rent("cheapest", "vast RTX 4090 (1× RTX 4090) in de, spot", "vast", "RTX 4090", "de", "spot", SEEN, 6.2, 79e3),
        Rent("on demand", "aws g6e.xlarge (1× L40S) in us-east-1, on demand", "aws", "g6e.xlarge", "us-east-1",
             "on_demand", SEEN, 21.5, 61e3),
    )  # fmt: skip
    runs = Owning(1.0, 1.0, RATES["RTX 4090"][1], 0.3, 36.0).runs_per_month(terms.hours_per_week)
    bought = [_bought(name, rents, runs, terms.months) for name in terms.purchases]
    bought.sort(key=lambda one: (one.problem != "", one.spent_usd or 0.0))
    first = bought[0].owning
    table = sensitivity(first, lambda runs: rents[0].usd, USES) if first is not None else ()
    return BuyOrRent(terms, runs, ElectricityPrice("DE", 0.3, "sample", "sample"), tuple(bought), rents, table, ())


def _bought(name: str, rents: tuple[Rent, ...], runs: float, months: float) -> Bought:
    if name.startswith("FOO"):
        raise UnknownNameError("accelerator", name)
    purchase = described_purchase(name)
    if name not in RATES:
        return Bought(purchase, "a batch of 1 does not fit")
    rate, seconds, run_usd = RATES[name]
    owning = Owning(purchase.usd, run_usd, seconds, 0.3, 36.0)
    return Bought(
        purchase,
        "",
        owning,
        samples_per_s=Interval(rate * 0.9, rate, rate * 1.1),
        time_s=Interval(seconds * 0.9, seconds, seconds * 1.1),
        power_w=500.0,
        energy_kwh=11.0,
        hours_per_week=owning.hours_per_week(runs),
        against=tuple((rent, break_even(owning, rent.usd, runs)) for rent in rents),
        spent_usd=round(owning.spent_usd(months, runs), 2),
    )
