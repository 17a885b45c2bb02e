"""What a run's time is made of, and its bill line by line."""

from planner.plan.candidates import Candidate
from planner.plan.cost import COMPUTE, bill, spent_on
from planner.plan.free_tier import Schedule, limits_at_p50
from planner.plan.interrupted import with_checkpoints
from planner.plan.plan import CostPart, TimePart
from planner.plan.search import Setting
from planner.units import SECONDS_PER_HOUR, Interval
from pricing.offer import Offer

IDLE = "idle"
"""The time between a run's end and giving its machine back."""


def calendar_limits(setting: Setting) -> Schedule | None:
    """What a free notebook's limits add to the likely run; None of other machines, which have none."""
    free_tier = setting.candidate.free_tier
    return None if free_tier is None else limits_at_p50(setting.timeline, free_tier)


def time_parts(setting: Setting, offer: Offer | None) -> tuple[TimePart, ...]:
    """The parts of the likely run under the offer, which add up to its P50."""
    line = with_checkpoints(setting.timeline, setting.candidate.interruptions_per_hour(offer))
    parts, added = line.parts(), calendar_limits(setting)
    if added is not None:
        limits = (("new sessions", added.restarts_s), ("waiting for the next week", added.waiting_s))
        return (*parts, *(TimePart(name, seconds) for name, seconds in limits if seconds > 0))
    lost_s = setting.time_s(offer).p50 - line.total.p50
    return (*parts, TimePart("interruptions", lost_s)) if lost_s > 0 else parts


def cost_parts(
    candidate: Candidate, offer: Offer | None, time_s: Interval, parts: tuple[TimePart, ...]
) -> tuple[CostPart, ...]:
    """The lines of the likely run's bill; what the machine itself costs with what it was spent on."""
    tariff = candidate.tariff
    kept_s = time_s.p50 + tariff.idle_s
    lines = bill(candidate.charges(offer), kept_s, tariff.credit_usd)
    if offer is None:
        return lines
    billed_s = tariff.billing.billed_hours(kept_s) * SECONDS_PER_HOUR if tariff.billing else kept_s
    uses = (*parts, (IDLE, tariff.idle_s), ("billing step", billed_s - kept_s))
    return tuple(spent_on(line, uses) if line.name == COMPUTE else line for line in lines)
