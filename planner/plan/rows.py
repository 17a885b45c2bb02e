"""Ranked rows and refusals written out as full estimates."""

from __future__ import annotations

import math
from datetime import datetime

from planner.plan.candidates import Candidate
from planner.plan.carbon import carbon_of_region, site_overhead
from planner.plan.cost import price_age
from planner.plan.deadline import later
from planner.plan.free_tier import Schedule, limit_flags
from planner.plan.hints import hints_for
from planner.plan.interrupted import break_even_rate, spot_terms
from planner.plan.plan import COST_BOUNDED, Estimate, SpotTerms
from planner.plan.run_parts import calendar_limits, cost_parts, time_parts
from planner.plan.search import Refusal, Row, Setting
from planner.plan.tail import has_long_tail
from planner.throughput.estimate import StepEstimate
from planner.units import SECONDS_PER_HOUR, Interval
from pricing.flags import FAR_BELOW_MEDIAN, MARKETPLACE_ASK, MEANING
from pricing.offer import Offer

PRICE_STALE = "price_stale"
COST_INCOMPLETE = "cost_incomplete"

SPOT_TAIL = "spot_tail"
"""Interruptions may make the run dearer than the same machine on demand: see ``planner.plan.tail``."""


_DOUBTS = (MARKETPLACE_ASK, FAR_BELOW_MEDIAN)
"""Flags of a price that one should see confirmed before it is relied on."""


def ranked_estimate(row: Row, rank: int, on_front: bool, now: datetime) -> Estimate:
    """The row with its place in the order, written out: intervals, bill, time parts, energy, flags."""
    setting, offer = row.setting, row.offer
    candidate = setting.candidate
    time_s = setting.time_s(offer)
    added = calendar_limits(setting)
    parts = time_parts(setting, offer)
    energy_kwh = _energy_kwh(candidate, time_s, added)
    known = _known(candidate, offer, setting.step)
    return known._replace(
        rank=rank,
        time_s=time_s,
        finish_at=later(now, time_s.p50),
        cost_usd=setting.cost_usd(offer, now.date()) if math.isfinite(row.cost_usd) else None,
        cost_parts=cost_parts(candidate, offer, time_s, parts),
        time_parts=parts,
        p_meets=row.p_meets,
        on_front=on_front,
        flags=(*_flags(candidate, offer, now, added), *_marks(row), *known.flags),
        energy_kwh=energy_kwh,
        co2_kg=_co2_kg(candidate, offer, energy_kwh),
        spot=_spot_terms(setting, offer) if offer is not None and offer.purchase == "spot" else None,
        hints=_hints(candidate, offer),
    )


def refused_estimate(refusal: Refusal, now: datetime) -> Estimate:
    """A way to run that has no rank, with what is known of it all the same, and the reason."""
    candidate, offer = refusal.candidate, refusal.offer
    marks = () if candidate.tariff.complete else (COST_INCOMPLETE,)
    flags = (*_flags(candidate, offer, now, None), *marks)
    return _known(candidate, offer, refusal.step, flags, refusal.reason)


def _marks(row: Row) -> tuple[str, ...]:
    """What is to be known of the row's cost before it is relied on."""
    marks = (SPOT_TAIL,) if has_long_tail(row.setting, row.offer) else ()
    if not row.cost_known:
        return (*marks, COST_INCOMPLETE)
    return (*marks, COST_BOUNDED) if row.at_most else marks


def _spot_terms(setting: Setting, offer: Offer) -> SpotTerms:
    """What to know of a spot row's interruptions, and how many more would make it as dear as the same on demand."""
    prices = [
        other.usd_per_hour
        for other in setting.candidate.offers
        if other is not None and other.purchase == "on_demand" and other.region == offer.region
    ]
    line, rate = setting.timeline, setting.candidate.interruptions_per_hour(offer)
    even = break_even_rate(line, offer.usd_per_hour, min(prices)) if prices else None
    return spot_terms(line, rate, even)


def _known(
    candidate: Candidate,
    offer: Offer | None,
    step: StepEstimate | None,
    flags: tuple[str, ...] = (),
    reason: str = "",
) -> Estimate:
    """What a machine, its offer and the physics say, before the run's time and cost; the step's flags come last."""
    machine = candidate.machine
    return Estimate(
        rank=None,
        place=candidate.place,
        is_this_machine=candidate.is_this_machine,
        hypothetical=candidate.hypothetical,
        name=candidate.name,
        provider=candidate.provider,
        instance_type=candidate.instance_type,
        region=offer.region if offer else None,
        zone=offer.zone if offer else None,
        purchase=candidate.purchase(offer),
        accelerator=machine.accelerator.key,
        accelerator_name=machine.accelerator.name,
        num_gpus=machine.num_gpus,
        num_nodes=machine.num_nodes,
        stack=machine.accelerator.stack,
        precision=step.precision if step else None,
        fits=step.fits if step else False,
        memory_required_bytes=step.memory_required_bytes if step else None,
        memory_available_bytes=step.memory_available_bytes if step else None,
        batch_size_per_gpu=step.batch_size_per_gpu if step else None,
        grad_accum_steps=step.grad_accum_steps if step else None,
        global_batch_size=step.global_batch_size if step else None,
        step_time_s=step.step_time_s if step else None,
        samples_per_s=step.samples_per_s if step else None,
        time_s=None,
        finish_at=None,
        cost_usd=None,
        usd_per_hour=candidate.usd_per_hour(offer),
        cost_parts=(),
        time_parts=(),
        p_meets=None,
        on_front=False,
        mfu=step.mfu if step else None,
        bound_by=step.bound_by if step else None,
        evidence=step.evidence if step else None,
        flags=(*flags, *step.flags) if step else flags,
        price_as_of=offer.price_as_of if offer else candidate.tariff.price_as_of,
        price_source=offer.price_source if offer else candidate.tariff.source,
        energy_kwh=None,
        co2_kg=None,
        reason=reason,
        step_parts=step.parts if step else None,
        spot=None,
        hints=(),
        to_buy_usd=candidate.to_buy_usd,
    )


def _hints(candidate: Candidate, offer: Offer | None) -> tuple[str, ...]:
    """What stands between the price and the machine."""
    known = hints_for(candidate.provider, candidate.instance_type, candidate.purchase(offer))
    doubts = () if offer is None else tuple(MEANING[flag] for flag in offer.flags if flag in _DOUBTS)
    return known + doubts


def _flags(candidate: Candidate, offer: Offer | None, now: datetime, added: Schedule | None) -> tuple[str, ...]:
    flags = offer.flags if offer else ()
    if added is not None and candidate.free_tier is not None:
        flags += limit_flags(added, candidate.free_tier)
    if offer is not None and price_age(offer, now.date()).stale:
        flags += (PRICE_STALE,)
    return flags


def _energy_kwh(candidate: Candidate, time_s: Interval, added: Schedule | None) -> float | None:
    """Wall energy of an own machine; for a rented one, its accelerators' board power times the site's overhead."""
    waiting_s = added.waiting_s if added is not None else 0.0
    hours = (time_s.p50 - waiting_s) / SECONDS_PER_HOUR
    if candidate.power_w is not None:
        return candidate.power_w * hours / 1000
    machine = candidate.machine
    if candidate.provider is None or machine.accelerator.power_w is None or machine.num_gpus == 0:
        return None
    board_w = machine.accelerator.power_w * machine.num_gpus * machine.num_nodes
    return board_w * site_overhead(candidate.provider) * hours / 1000


def _co2_kg(candidate: Candidate, offer: Offer | None, energy_kwh: float | None) -> float | None:
    """Emissions of that energy on the grid of its place; None where the place of a rented machine is not known."""
    if energy_kwh is None:
        return None
    if candidate.provider is None:
        grid = candidate.grid
    else:
        grid = carbon_of_region(candidate.provider, offer.region) if offer is not None else None
    return None if grid is None else energy_kwh * grid.g_per_kwh / 1000
