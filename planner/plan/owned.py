"""Candidates that are not rented: this machine, the user's own machines, and hypothetical ones nobody owns yet."""

from __future__ import annotations

from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.plan.candidates import Candidate, Tariff
from planner.plan.carbon import carbon_of_country
from planner.plan.config import OwnershipTerms
from planner.plan.cost import Charge
from planner.plan.electricity import ElectricityPrice
from planner.plan.ownership import Ownership, amortisation_usd_per_hour, wall_power_w
from planner.plan.plan import Place


def owned_candidate(
    name: str,
    place: Place,
    machine: Machine,
    ownership: Ownership,
    electricity: ElectricityPrice,
    terms: OwnershipTerms,
    *,
    is_this_machine: bool = False,
    hypothetical: bool = False,
) -> Candidate:
    """A machine paid for by its owner: electricity and the purchase written off, or an hourly rate they state."""
    charges = _charges(ownership, electricity, terms, hypothetical=hypothetical, place=place)
    priced = ownership.purchase_usd is not None and ownership.rent_usd_per_hour is None
    return Candidate(
        name=name,
        place=place,
        machine=machine,
        tariff=Tariff(
            charges,
            price_as_of=ownership.price_as_of,
            source=ownership.purchase_source if priced else charges[0].source,
        ),
        offers=(None,),
        blocked="" if machine.accelerator.trains else machine.accelerator.note,
        is_this_machine=is_this_machine,
        hypothetical=hypothetical,
        power_w=ownership.power_w,
        grid=carbon_of_country(electricity.country),
        to_buy_usd=ownership.purchase_usd if hypothetical else None,
    )


def imagined_candidate(key: str, count: int, electricity: ElectricityPrice, terms: OwnershipTerms) -> Candidate:
    """``count`` accelerators in a machine nobody described: at their launch price, the host taken as already there."""
    machine = machine_from_spec(f"{count}x {key}" if count > 1 else key, key, count)
    device = machine.accelerator
    place: Place = "laptop" if device.form_factor.startswith("laptop") else "cluster" if count >= 8 else "workstation"
    price = None if device.launch_price_usd is None else device.launch_price_usd * count
    power_w = wall_power_w(machine, place, cluster_pue=terms.cluster_pue)
    ownership = Ownership(power_w, "board power plus host", price, "launch price, without a host")
    return owned_candidate(machine.name, place, machine, ownership, electricity, terms, hypothetical=True)


def _charges(
    ownership: Ownership, electricity: ElectricityPrice, terms: OwnershipTerms, *, hypothetical: bool, place: Place
) -> tuple[Charge, ...]:
    if ownership.rent_usd_per_hour is not None:
        return (Charge("rent", ownership.rent_usd_per_hour, 0.0, "usd_per_hour in your configuration"),)
    if place == "cloud":
        return (
            Charge("rent", None, None, "the rent of this machine is not known; say usd_per_hour in the configuration"),
        )
    hourly = None if ownership.power_w is None else ownership.power_w / 1000 * electricity.usd_per_kwh
    source = f"{ownership.power_source}; {electricity.source}"
    power = Charge("electricity", hourly, 0.0, source, as_of=electricity.as_of)
    if ownership.purchase_usd is not None:
        written_off = amortisation_usd_per_hour(ownership.purchase_usd, terms)
        amortisation = Charge("amortisation", written_off, 0.0, ownership.purchase_source, as_of=ownership.price_as_of)
        return (power, amortisation)
    if hypothetical:
        return (power, Charge("amortisation", None, None, "no purchase price is known"))
    return (power,)
