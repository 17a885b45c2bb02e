"""The recommended row (docs/decisions.md, "The recommendation"), or the reason why there is none."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.hardware.selection import Selection
from planner.plan.free_tier import within_limits
from planner.plan.plan import Place
from planner.plan.search import ORDINARY_STACKS, Limits, Row, meets
from planner.plan.tail import has_long_tail
from planner.units import format_duration
from pricing.flags import FAR_BELOW_MEDIAN, GOVERNMENT_REGION, MARKETPLACE_ASK
from pricing.offer import Offer

LONGEST_WAIT_S = 91 * 86400.0
"""A quarter of a year: a longer run on a CPU, or on this machine, is no answer (assumption). This machine is one where
its place is named."""


class Named(NamedTuple):
    """What the user named, and so may be recommended though it otherwise would not be.

    ``places`` of --where (hypothetical machines), ``selection`` of --gpus (other stacks than ordinary PyTorch; and
    then nothing else), ``government`` whether --region names government regions, ``regions`` whether it names any.
    """

    places: frozenset[Place]
    selection: Selection | None
    government: bool
    regions: bool = False


NOTHING_NAMED = Named(frozenset(), None, government=False)


def recommend(rows: Sequence[Row], limits: Limits, named: Named) -> int | None:
    """The index of the recommended row, or None when no row may be recommended."""
    order: Iterable[int] = range(len(rows))
    if limits.sort != "value":  # there the order of the rows is not that of merit
        order = sorted(order, key=lambda index: merit(rows[index], limits))
    return next(_allowed(rows, order, limits, named), None)


def recommendable(rows: Sequence[Row], named: Named) -> list[int]:
    """Indices of the rows that might be recommended if there were no limits."""
    return list(_allowed(rows, range(len(rows)), Limits(), named))


def why_none(rows: Sequence[Row], limits: Limits, named: Named) -> str:
    """One sentence for an answer without a recommendation."""
    if not rows:
        return "Nothing fits or is left to rank."
    if named.selection is not None and not any(named.selection.matches(_machine(row)) for row in rows):
        return "Nothing that --gpus names can be ranked; the reasons stand below."
    if limits.given and next(_allowed(rows, range(len(rows)), Limits(), named), None) is not None:
        return _why_none_meets([row for row in rows if meets(row, limits)], limits, named)
    others = {row.setting.candidate.place for row in rows if row.setting.candidate.hypothetical and row.cost_known}
    if others and all(row.setting.candidate.hypothetical or row.setting.candidate.is_this_machine for row in rows):
        places = ",".join(sorted(others))
        return f"What is left is rented out by nobody: name its place (--where {places}) to have it recommended."
    cpus = [row for row in rows if _machine(row).num_gpus == 0]
    if len(cpus) == len(rows) and not all(row.setting.candidate.is_this_machine for row in cpus):
        soonest = format_duration(min(row.time_s for row in cpus))
        return f"Nothing sensible is left: only CPUs can run this as it stands, in {soonest} at best."
    here = next((row for row in rows if _is_here_and_too_slow(row, named)), None)
    if here is not None:
        return (
            f"Of what is left, this machine takes {format_duration(here.time_s)} and nothing else may be recommended: "
            f"allow other machines (--where, --max-price, --max-price-age), or name its place "
            f"(--where {here.setting.candidate.place})."
        )
    if all(row.setting.candidate.free_tier is not None for row in rows):
        return "What is left is free, but the run may outlast the hours that it is lent for."
    return f"Nothing that is left may be recommended: {_counted(rows, named)}."


def why_not_before(rows: Sequence[Row], limits: Limits, named: Named) -> str:
    """Why the rows shown before the recommended one are passed over, each counted once: '3 whose code must be ported'.

    "" where there are none.
    """
    counts = Counter(_hindrance(row, named) or _shortfall(row, limits) for row in rows)
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _shortfall(row: Row, limits: Limits) -> str:
    """Why a row that might be recommended is not, though the order asked for has it first."""
    if not limits.given:
        return "dearer with the hours of waiting"
    return "dearer" if meets(row, limits) else "less likely to meet the limits"


def _why_none_meets(meeting: Sequence[Row], limits: Limits, named: Named) -> str:
    """The rows that meet the limits may be recommended for another reason only, which is then said."""
    if not meeting:
        return f"Nothing meets the limits with a probability of {limits.confidence:.0%}; the nearest come first."
    return (
        f"Nothing that may be recommended meets the limits with a probability of {limits.confidence:.0%}; "
        f"of what does, {_counted(meeting, named)}."
    )


def _counted(rows: Sequence[Row], named: Named) -> str:
    """How many machines have offers that are kept from being recommended, by reason."""
    reasons: dict[str, set[int]] = {}
    for row in rows:
        reason = _hindrance(row, named)
        if reason:
            reasons.setdefault(reason, set()).add(id(row.setting))
    return ", ".join(f"{len(machines)} {reason}" for reason, machines in reasons.items())


def _allowed(rows: Sequence[Row], order: Iterable[int], limits: Limits, named: Named) -> Iterator[int]:
    for index in order:
        row = rows[index]
        if (not limits.given or meets(row, limits)) and not _hindrance(row, named):
            yield index


def _hindrance(row: Row, named: Named) -> str:
    """Why the row may not be recommended, as a count would be followed by it; "" where it may."""
    candidate = row.setting.candidate
    if named.selection is not None and not named.selection.matches(candidate.machine):
        return "at hand, but not named by --gpus" if candidate.is_this_machine else "not named by --gpus"
    if candidate.machine.accelerator.stack not in ORDINARY_STACKS and not _is_called_by_name(candidate.machine, named):
        return "whose code must be ported"
    offer = row.offer
    doubt = "" if offer is None else doubt_of(offer, named)
    if doubt:
        return doubt
    if offer is not None and candidate.machine.num_nodes > 1 and MARKETPLACE_ASK in offer.flags:
        return "one seller's machine, not several"
    if candidate.free_tier is not None and not within_limits(row.setting.timeline, candidate.free_tier):
        return "free, but for fewer hours than this takes"
    if not row.cost_known:
        return "with a cost not known in full"
    if _is_here_and_too_slow(row, named):
        return "at hand, but too slow for this"
    if candidate.machine.num_gpus == 0 and not candidate.is_this_machine and row.time_s > LONGEST_WAIT_S:
        return "without a GPU and too slow for this"
    if candidate.hypothetical and candidate.place not in named.places:
        return "owned by nobody yet"
    return "on spot, which interruptions may make dearer than on demand" if has_long_tail(row.setting, offer) else ""


def doubt_of(offer: Offer, named: Named) -> str:
    """Why nobody is advised to take an offer at its price, whatever the machine; "" for most offers."""
    if GOVERNMENT_REGION in offer.flags and not named.government:
        return "only for a government's suppliers"
    if FAR_BELOW_MEDIAN in offer.flags and not named.regions:
        return "at less than half of what is usually asked (--region takes it)"
    return ""


def _is_called_by_name(machine: Machine, named: Named) -> bool:
    """Whether --gpus names the accelerator itself: a range of memory asks for no other code."""
    return named.selection is not None and named.selection.names(machine)


def _is_here_and_too_slow(row: Row, named: Named) -> bool:
    candidate = row.setting.candidate
    return candidate.is_this_machine and candidate.place not in named.places and row.time_s > LONGEST_WAIT_S


def _machine(row: Row) -> Machine:
    return row.setting.candidate.machine


def merit(row: Row, limits: Limits) -> float:
    """What rows are compared by, the least first: USD, with the hours of waiting where no limit bounds them."""
    return row.weighed_usd if limits.given else row.value(limits.hour_value_usd)
