"""The machines of a sweep: own ones and rented ones, each as often as it may run at the same time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.plan.candidates import Candidate
from planner.plan.pick import pick
from planner.plan.planning import Answer, answer
from planner.plan.question import Question
from planner.plan.world import World
from pricing.offer import Offer

DEFAULT_RENTALS = 4
"""Machines rented at the same time where nobody said how many."""

_MOST_COPIES = 256


class PoolEntry(NamedTuple):
    """What the user wrote: a machine as --on names it, and how many of it may run at once."""

    what: str
    copies: int


class PoolMachine(NamedTuple):
    """One machine that experiments can be put on. ``kind`` counts the pool's entries; copies share it."""

    name: str
    kind: int
    candidate: Candidate
    offer: Offer | None

    @property
    def rented(self) -> bool:
        return self.candidate.provider is not None


def parse_entry(text: str) -> PoolEntry:
    """'RTX 4090', 'aws:g6e.xlarge:spot=4': at most four of them at once. Raises InputError."""
    what, equals, number = text.rpartition("=")
    if not equals:
        return PoolEntry(text.strip(), 1)
    if not number.strip().isdecimal() or not 1 <= int(number) <= _MOST_COPIES or not what.strip():
        raise InputError(f"cannot read {text!r}; write WHAT or WHAT=COUNT, such as aws:g6e.xlarge:spot=4")
    return PoolEntry(what.strip(), int(number))


def pool_of(
    entries: Sequence[PoolEntry],
    experiment: Experiment,
    question: Question,
    world: World,
    now: datetime,
    answered: Answer,
    max_rentals: int | None,
) -> list[PoolMachine]:
    """The machines that ``entries`` name, the best-ranked of each for ``experiment``; without any, the default pool.

    At most ``max_rentals`` of them are rented: a first copy of each entry, then second ones. Raises InputError.
    """
    kinds = [_found(entry.what, experiment, question, world, now, answered) for entry in entries]
    counts = [entry.copies for entry in entries]
    if not entries:
        kinds, counts = _default(answered, max_rentals or DEFAULT_RENTALS)
    copies = [
        (copy, kind) for kind, (choice, count) in enumerate(zip(kinds, counts, strict=True)) for copy in range(count)
    ]
    copies.sort()
    left = len(copies) if max_rentals is None else max_rentals
    kept = []
    for copy, kind in copies:
        rented = kinds[kind][0].provider is not None
        if not rented or left > 0:
            left -= rented
            kept.append((kind, copy))
    if not kept:
        raise InputError("the pool has no machine left: --max-rentals leaves out every one")
    return [PoolMachine(_name(kinds[kind][0], copy, counts[kind]), kind, *kinds[kind]) for kind, copy in sorted(kept)]


def _name(candidate: Candidate, copy: int, count: int) -> str:
    name = (candidate.instance_type or candidate.name).removeprefix("Standard_")
    return f"{name} #{copy + 1}" if count > 1 else name


def _found(
    what: str, experiment: Experiment, question: Question, world: World, now: datetime, answered: Answer
) -> tuple[Candidate, Offer | None]:
    """The machine ``what`` names with the offer it is had under. Raises InputError."""
    choice = pick(answered, world.providers(), what, None)
    candidate = choice.candidate
    if candidate.blocked:
        raise InputError(f"{what} cannot be in the pool: {candidate.blocked}")
    if candidate.free_tier is not None:
        raise InputError(f"{what} cannot be in the pool: its hours are lent session by session")
    if choice.row is not None:
        return candidate, choice.row.offer
    if candidate.offers and candidate.tariff.charges:
        # It does not fit the first experiment; another one may fit. The cheapest hour is as good as any.
        return candidate, min(candidate.offers, key=lambda offer: offer.usd_per_hour if offer else 0.0)
    # A machine in no plan: as one might buy it.
    bought = answer(experiment, question._replace(gpus=what, where=()), world, now).competition
    imagined = next((found for found in bought.candidates if found.hypothetical), candidate)
    return imagined, None


def _default(answered: Answer, rentals: int) -> tuple[list[tuple[Candidate, Offer | None]], list[int]]:
    """Everything the user has, and the recommended machine of the cloud as often as it may be rented."""
    rows = answered.ranking.rows
    own = [row.setting.candidate for row in rows if row.offer is None and not row.setting.candidate.hypothetical]
    kinds: list[tuple[Candidate, Offer | None]] = [
        (candidate, None) for candidate in own if candidate.free_tier is None and candidate.provider is None
    ]
    counts = [1] * len(kinds)
    best = rows[answered.best] if answered.best is not None else None
    if best is not None and best.offer is not None:
        kinds.append((best.setting.candidate, best.offer))
        counts.append(rentals)
    if not kinds:
        raise NothingFitsError("nothing that may be recommended can run the sweep: name machines with --pool")
    return kinds, counts
