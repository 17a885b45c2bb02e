"""Candidates that are not rented: this machine, the user's own machines, and hypothetical ones nobody owns yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.errors import InputError
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec, presets
from planner.hardware.selection import Selection
from planner.plan.candidates import Candidate, Tariff
from planner.plan.carbon import carbon_of_country
from planner.plan.config import OwnershipTerms, OwnMachine
from planner.plan.cost import Charge
from planner.plan.electricity import ElectricityPrice
from planner.plan.ownership import CountedPower, Ownership, amortisation_usd_per_hour, counted_power, wall_power_w
from planner.plan.plan import Place
from planner.plan.question import Where
from planner.plan.world import World


def machines_at_hand(
    world: World, where: Where, electricity: ElectricityPrice, wants: Callable[[Machine], bool]
) -> Iterator[Candidate]:
    """This machine, then the user's own machines, then hypothetical ones in the places the user has none in."""
    if where.providers and not where.named:
        return
    terms = world.config.ownership
    if world.local.place in where.places:
        yield _this_machine(world, electricity)
    own = [machine for machine in world.config.machines if machine.place in where.places]
    for entry in own:
        candidate = _own_machine(entry, electricity, terms)
        if wants(candidate.machine):
            yield candidate
    taken = {entry.place for entry in own}
    for preset in presets():
        if preset.place in where.places and preset.place not in taken and wants(preset.machine):
            power_w = wall_power_w(preset.machine, preset.place, preset.host_power_w, terms.cluster_pue)
            ownership = Ownership(
                power_w,
                "board power plus host",
                preset.purchase_usd,
                preset.price_source,
                price_as_of=preset.price_as_of,
            )
            yield owned_candidate(
                preset.name, preset.place, preset.machine, ownership, electricity, terms, hypothetical=True
            )


def machines_to_buy(
    selection: Selection, where: Where, electricity: ElectricityPrice, terms: OwnershipTerms
) -> Iterator[Candidate]:
    """Accelerators that --gpus names and nobody here has or rents out: as machines one might buy."""
    for wanted in selection.alternatives:
        for key in sorted(wanted.keys):
            candidate = imagined_candidate(key, int(wanted.num_gpus or 1), electricity, terms)
            if candidate.place in where.places:
                yield candidate


def _this_machine(world: World, electricity: ElectricityPrice) -> Candidate:
    owner = world.config.this_machine
    machine, place = world.local.machine, world.local.place
    runs = () if world.local.profile is None else world.local.profile.runs
    power_w, source = _power(machine, place, owner.power_w, world.config.ownership, counted_power(runs, machine))
    ownership = Ownership(power_w, source, owner.purchase_usd, "purchase_usd in your configuration", owner.usd_per_hour)
    return owned_candidate(
        "this machine", place, machine, ownership, electricity, world.config.ownership, is_this_machine=True
    )


def _own_machine(entry: OwnMachine, electricity: ElectricityPrice, terms: OwnershipTerms) -> Candidate:
    try:
        machine = machine_from_spec(
            entry.name,
            entry.gpu,
            entry.num_gpus,
            nodes=entry.num_nodes,
            link=entry.link,
            network=entry.network,
            vcpus=entry.vcpus,
            ram_gb=entry.ram_gb,
            cpu=entry.cpu,
        )
    except InputError as error:
        raise InputError(f"machine {entry.name!r} in the configuration: {error}") from error
    power_w, source = _power(machine, entry.place, entry.power_w, terms)
    ownership = Ownership(power_w, source, entry.purchase_usd, "purchase_usd in your configuration", entry.usd_per_hour)
    return owned_candidate(entry.name, entry.place, machine, ownership, electricity, terms)


def _power(
    machine: Machine,
    place: Place,
    stated_w: float | None,
    terms: OwnershipTerms,
    counted: CountedPower | None = None,
) -> tuple[float | None, str]:
    """Wall power of all nodes, and where it comes from: the owner's word for one node, the counters, or the parts."""
    if stated_w is not None:
        return stated_w * machine.num_nodes, "power_w in your configuration"
    source = "power assumed from the parts" if counted is None else f"power {counted.words}"
    return wall_power_w(machine, place, cluster_pue=terms.cluster_pue, counted=counted), source


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
