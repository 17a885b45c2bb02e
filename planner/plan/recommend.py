"""The recommended row (DESIGN section 1, "The recommendation"), or the reason why there is none."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.hardware.selection import Selection
from planner.plan.free_tier import within_limits
from planner.plan.plan import Place
from planner.plan.search import ORDINARY_STACKS, Limits, Row, meets
from planner.units import format_duration
from pricing.flags import GOVERNMENT_REGION

LONGEST_WAIT_S = 91 * 86400.0
"""A quarter of a year: a longer run on this machine is no answer, unless its place is named (assumption)."""


class Named(NamedTuple):
    """What the user named, and so may be recommended though it otherwise would not be.

    ``places`` of --where (hypothetical machines), ``selection`` of --gpus (other stacks than ordinary PyTorch; and
    then nothing else), ``government`` whether --region names government regions.
    """

    places: frozenset[Place]
    selection: Selection | None
    government: bool


def recommend(rows: Sequence[Row], limits: Limits, named: Named) -> int | None:
    """The index of the recommended row, or None when no row may be recommended."""
    allowed = _allowed(rows, limits, named)
    if limits.sort == "value":  # the order of the rows is the order of merit
        return next(allowed, None)
    return min(allowed, key=lambda index: _merit(rows[index], limits), default=None)


def recommendable(rows: Sequence[Row], named: Named) -> list[int]:
    """Indices of the rows that might be recommended if there were no limits."""
    return list(_allowed(rows, Limits(), named))


def why_none(rows: Sequence[Row], limits: Limits, named: Named) -> str:
    """One sentence for an answer without a recommendation."""
    if not rows:
        return "Nothing fits or is left to rank."
    if named.selection is not None and not any(named.selection.matches(_machine(row)) for row in rows):
        return "Nothing that --gpus names can be ranked; the reasons stand below."
    if limits.given and next(_allowed(rows, Limits(), named), None) is not None:
        return f"Nothing meets the limits with a probability of {limits.confidence:.0%}; the nearest come first."
    others = {row.setting.candidate.place for row in rows if row.setting.candidate.hypothetical}
    if others and all(row.setting.candidate.hypothetical or row.setting.candidate.is_this_machine for row in rows):
        places = ",".join(sorted(others))
        return f"What is left is rented out by nobody: name its place (--where {places}) to have it recommended."
    here = next((row for row in rows if _too_slow_here(row, named)), None)
    if here is not None:
        return (
            f"Of what is left, this machine takes {format_duration(here.time_s)} and nothing else may be recommended: "
            f"allow other machines (--where, --max-price, --max-price-age), or name its place "
            f"(--where {here.setting.candidate.place})."
        )
    if all(row.setting.candidate.free_tier is not None for row in rows):
        return "What is left is free, but the run may outlast the hours that it is lent for."
    return "No row both runs ordinary PyTorch and has a cost that is known in full."


def why_not_before(rows: Sequence[Row], best: int, named: Named) -> str:
    """Why the rows before the recommended one are passed over: '3 need the code ported'; "" where there are none."""
    reasons = {_hindrance(row, named): 0 for row in rows[:best]}
    for row in _first_of_each_machine(rows[:best]):
        reasons[_hindrance(row, named)] += 1
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items() if reason)


def _first_of_each_machine(rows: Sequence[Row]) -> list[Row]:
    return list({id(row.setting): row for row in rows}.values())


def _allowed(rows: Sequence[Row], limits: Limits, named: Named) -> Iterator[int]:
    for index, row in enumerate(rows):
        if _recommendable(row, named) and (not limits.given or meets(row, limits)):
            yield index


def _recommendable(row: Row, named: Named) -> bool:
    return not _hindrance(row, named)


def _hindrance(row: Row, named: Named) -> str:
    """Why the row may not be recommended, as a count would be followed by it; "" where it may."""
    candidate = row.setting.candidate
    if named.selection is not None:
        if not named.selection.matches(candidate.machine):
            return "not named by --gpus"
    elif candidate.machine.accelerator.stack not in ORDINARY_STACKS:
        return "need the code ported"
    if row.offer is not None and GOVERNMENT_REGION in row.offer.flags and not named.government:
        return "only for a government's suppliers"
    if candidate.free_tier is not None and not within_limits(row.setting.timeline, candidate.free_tier):
        return "free, but for fewer hours than this takes"
    if not candidate.tariff.complete:
        return "with a cost not known in full"
    if _too_slow_here(row, named):
        return "at hand, but too slow for this"
    return "owned by nobody yet" if candidate.hypothetical and candidate.place not in named.places else ""


def _too_slow_here(row: Row, named: Named) -> bool:
    candidate = row.setting.candidate
    return candidate.is_this_machine and candidate.place not in named.places and row.time_s > LONGEST_WAIT_S


def _machine(row: Row) -> Machine:
    return row.setting.candidate.machine


def _merit(row: Row, limits: Limits) -> float:
    return row.cost_usd if limits.given else row.value(limits.hour_value_usd)
