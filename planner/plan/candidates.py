"""The machines that compete: this one, own or hypothetical ones, and the cloud's; each with its ways to pay."""

from collections.abc import Callable
from typing import NamedTuple

from planner.hardware.free_tiers import FreeTier
from planner.hardware.machine import Machine
from planner.plan.carbon import GridCarbon
from planner.plan.cost import COMPUTE, Charge
from planner.plan.plan import Place
from planner.units import Interval
from pricing.offer import Offer
from pricing.rates import Billing

NEVER_INTERRUPTED = Interval(0.0, 0.0, 0.0)

InterruptionRate = Callable[[Offer], Interval]
"""Interruptions per hour of one spot machine of an offer: low, likely, high."""


class Tariff(NamedTuple):
    """What a run pays beside the hours of an offer, by provider; for an owned machine, all that it pays.

    The machine is paid for ``idle_s`` seconds after the run; ``credit_usd`` is spent before money is, and a dollar of
    it is worth ``credit_value``.
    ``price_as_of`` and ``source`` date an owned machine's price; an offer has its own.
    """

    charges: tuple[Charge, ...]
    billing: Billing | None = None
    interruption_rate: InterruptionRate | None = None
    price_as_of: str | None = None
    source: str | None = None
    idle_s: float = 0.0
    credit_usd: float = 0.0
    credit_value: float = 0.0

    @property
    def complete(self) -> bool:
        return all(charge.known for charge in self.charges)


class Candidate(NamedTuple):
    """A machine in a place with the offers for it; an owned or a free one has the single offer None.

    ``blocked`` says why it can never be ranked, ``refused`` which offers cannot and why; ``power_w`` is wall power of
    all nodes where known; ``free_tier`` has the limits of a machine that is lent for nothing. ``grid`` is what an owned
    machine's electricity emits, ``to_buy_usd`` the price of one that must be bought first.
    """

    name: str
    place: Place
    machine: Machine
    tariff: Tariff
    offers: tuple[Offer | None, ...]
    refused: tuple[tuple[Offer, str], ...] = ()
    blocked: str = ""
    provider: str | None = None
    instance_type: str | None = None
    is_this_machine: bool = False
    hypothetical: bool = False
    power_w: float | None = None
    free_tier: FreeTier | None = None
    grid: GridCarbon | None = None
    to_buy_usd: float | None = None

    def purchase(self, offer: Offer | None) -> str:
        """How the machine is had: the offer's purchase option, "free_tier" or "owned"."""
        if offer is not None:
            return offer.purchase
        return "owned" if self.free_tier is None else "free_tier"

    def interruptions_per_hour(self, offer: Offer | None) -> Interval:
        """How often a run under the offer is interrupted: on several nodes, when any of them is taken."""
        if offer is None or offer.purchase != "spot" or self.tariff.interruption_rate is None:
            return NEVER_INTERRUPTED
        rate, num_nodes = self.tariff.interruption_rate(offer), self.machine.num_nodes
        return rate if num_nodes == 1 else rate.scaled(float(num_nodes))

    def usd_per_hour(self, offer: Offer | None) -> float | None:
        """The hourly price of all nodes; an owned machine's is the sum of what is known of its charges."""
        if offer is not None:
            return offer.usd_per_hour * self.machine.num_nodes
        known = [charge.usd_per_hour for charge in self.tariff.charges if charge.usd_per_hour is not None]
        return sum(known) if known else None

    def charges(self, offer: Offer | None) -> tuple[Charge, ...]:
        """Every line of the bill under the offer."""
        if offer is None:
            return self.tariff.charges
        hourly = offer.usd_per_hour * self.machine.num_nodes
        compute = Charge(COMPUTE, hourly, 0.0, offer.price_source, self.tariff.billing, offer.price_as_of)
        return (compute, *self.tariff.charges)
