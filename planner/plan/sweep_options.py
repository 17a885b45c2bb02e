"""Other pools for the same sweep: fewer machines, more rented ones; which are worth it, and what a day sooner costs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.errors import NothingFitsError
from planner.plan.search import Limits
from planner.plan.sweep import Costing, Order, SweepPlan, plan_sweep
from planner.plan.sweep_pool import PoolMachine

DAY_S = 86400.0
_MORE = (1, 2, 4, 8)
"""How many further machines of each rented kind are tried."""


class PoolOption(NamedTuple):
    """A pool in words, with what it comes to. ``this`` marks the pool that was asked for; USD and seconds at P50.

    ``at_most``: of a part of the cost it is only known that it is at most so much.
    """

    name: str
    machines: int
    makespan_s: float
    cost_usd: float
    on_front: bool
    this: bool
    at_most: bool = False


class Sooner(NamedTuple):
    """What ending sooner costs: with ``pool``, ``seconds`` sooner for ``usd`` more (negative: for less)."""

    pool: str
    seconds: float
    usd: float

    @property
    def usd_per_hour(self) -> float:
        return self.usd / (self.seconds / 3600)


def pool_options(
    costing: Costing,
    pool: Sequence[PoolMachine],
    chosen: SweepPlan,
    limits: Limits,
    now: datetime,
    order: Order,
    max_rentals: int | None = None,
) -> tuple[PoolOption, ...]:
    """The pool asked for and its neighbours, by cost, without those that rent too many or cannot run everything."""
    found = [("this pool", len(pool), chosen)]
    for name, members in _neighbours(pool):
        if max_rentals is not None and sum(pool[index].rented for index in members) > max_rentals:
            continue
        try:
            machines = [pool[index] for index in members]
            plan = plan_sweep(_part(costing, members), machines, limits, now, order, thorough=False)
        except NothingFitsError:
            continue
        found.append((name, len(members), plan))
    options = [
        PoolOption(name, count, plan.makespan_s.p50, plan.cost_usd.p50, False, plan is chosen, plan.at_most)
        for name, count, plan in found
    ]
    return _marked(_different(options))


def _different(options: Sequence[PoolOption]) -> list[PoolOption]:
    """Without pools that come to the same as one before them: their further machines are not used."""
    found: dict[tuple[int, float], PoolOption] = {}
    for option in options:
        found.setdefault((round(option.makespan_s), option.cost_usd), option)
    return list(found.values())


def _marked(options: Sequence[PoolOption]) -> tuple[PoolOption, ...]:
    """By cost, with those marked that nothing beats in both."""
    fastest = float("inf")
    marked = []
    for option in sorted(options, key=lambda option: (option.cost_usd, option.makespan_s)):
        marked.append(option._replace(on_front=option.makespan_s < fastest))
        fastest = min(fastest, option.makespan_s)
    return tuple(marked)


def _neighbours(pool: Sequence[PoolMachine]) -> Iterator[tuple[str, list[int]]]:
    """(name, members): each kind alone, only what is owned, and more of each rented kind. Members may repeat."""
    indices = list(range(len(pool)))
    kinds = list(dict.fromkeys(machine.kind for machine in pool))
    own = [index for index in indices if not pool[index].rented]
    if own and len(own) < len(pool) and len({pool[index].kind for index in own}) > 1:
        yield "only the own machines", own
    for kind in kinds:
        members = [index for index in indices if pool[index].kind == kind]
        name = pool[members[0]].name.partition(" #")[0]
        if len(kinds) > 1:
            yield f"{name} alone" if len(members) == 1 else f"{len(members)} {name} alone", members
        if len(members) > 1:
            yield f"{name}, one by one", members[:1]
        if pool[members[0]].rented:
            for more in _MORE:
                yield f"this pool and {more} more {name}", indices + [members[0]] * more


def _part(costing: Costing, members: Sequence[int]) -> Costing:
    """The costing of the pool that has these machines."""
    return costing._replace(
        times=tuple(tuple(row[index] for index in members) for row in costing.times),
        heads=tuple(costing.heads[index] for index in members),
        tariffs=tuple(tuple(row[index] for index in members) for row in costing.tariffs),
    )


def day_sooner(options: Sequence[PoolOption], chosen: SweepPlan) -> Sooner | None:
    """The cheapest of the options that ends at least a day before ``chosen``; None where none does."""
    return _cheapest(options, chosen, DAY_S)


def next_sooner(options: Sequence[PoolOption], chosen: SweepPlan) -> Sooner | None:
    """The option that ends sooner for the least money an hour; None where none does."""
    sooner = [found for found in _sooner(options, chosen) if found.seconds >= 60]
    return min(sooner, key=lambda found: found.usd_per_hour, default=None)


def _cheapest(options: Sequence[PoolOption], chosen: SweepPlan, least_s: float) -> Sooner | None:
    far_enough = [found for found in _sooner(options, chosen) if found.seconds >= least_s]
    return min(far_enough, key=lambda found: (found.usd, -found.seconds), default=None)


def _sooner(options: Sequence[PoolOption], chosen: SweepPlan) -> list[Sooner]:
    return [
        Sooner(
            option.name,
            chosen.makespan_s.p50 - option.makespan_s,
            round(option.cost_usd - chosen.cost_usd.p50, 2),
        )
        for option in options
        if not option.this and option.makespan_s < chosen.makespan_s.p50
    ]
