"""The recommended row (DESIGN section 1, "The recommendation"), or the reason why there is none."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.hardware.selection import Selection
from planner.plan.free_tier import within_limits
from planner.plan.plan import Place
from planner.plan.search import ORDINARY_STACKS, Limits, Row, meets
from pricing.flags import GOVERNMENT_REGION


class Named(NamedTuple):
    """What the user named, and so may be recommended though it otherwise would not be.

    ``places`` of --where (hypothetical machines), ``selection`` of --gpus (other stacks than ordinary PyTorch; and
    then nothing else), ``regions`` whether --region was given (government regions).
    """

    places: frozenset[Place]
    selection: Selection | None
    regions: bool


def recommend(rows: Sequence[Row], limits: Limits, named: Named) -> int | None:
    """The index of the recommended row, or None when no row may be recommended."""
    allowed = _allowed(rows, limits, named)
    if limits.sort == "value":  # the order of the rows is the order of merit
        return next(allowed, None)
    return min(allowed, key=lambda index: _merit(rows[index], limits), default=None)


def why_none(rows: Sequence[Row], limits: Limits, named: Named) -> str:
    """One sentence for an answer without a recommendation."""
    if not rows:
        return "Nothing fits or is left to rank."
    if limits.given and next(_allowed(rows, Limits(), named), None) is not None:
        return f"Nothing meets the limits with a probability of {limits.confidence:.0%}; the nearest come first."
    if all(row.setting.candidate.hypothetical or row.setting.candidate.is_this_machine for row in rows):
        return "Nobody owns or rents out what is left: name its place (--where workstation) to have it recommended."
    if all(row.setting.candidate.free_tier is not None for row in rows):
        return "What is left is free, but the run may outlast the hours that it is lent for."
    return "No row both runs ordinary PyTorch and has a cost that is known in full."


def _allowed(rows: Sequence[Row], limits: Limits, named: Named) -> Iterator[int]:
    for index, row in enumerate(rows):
        if _recommendable(row, named) and (not limits.given or meets(row, limits)):
            yield index


def _recommendable(row: Row, named: Named) -> bool:
    candidate = row.setting.candidate
    if named.selection is not None:
        if not named.selection.matches(candidate.machine):
            return False
    elif candidate.machine.accelerator.stack not in ORDINARY_STACKS:
        return False
    if row.offer is not None and GOVERNMENT_REGION in row.offer.flags and not named.regions:
        return False
    if candidate.free_tier is not None and not within_limits(row.setting.timeline, candidate.free_tier):
        return False
    return candidate.tariff.complete and (not candidate.hypothetical or candidate.place in named.places)


def _merit(row: Row, limits: Limits) -> float:
    return row.cost_usd if limits.given else row.value(limits.hour_value_usd)
