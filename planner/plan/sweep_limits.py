"""A sweep under a deadline or a budget: which machines of the pool are better left idle."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime

from planner.errors import NothingFitsError
from planner.plan.relax import limit_met
from planner.plan.search import Limits
from planner.plan.sweep import NEVER, Costing, Fastest, Order, SweepPlan, plan_sweep
from planner.plan.sweep_pool import PoolMachine

_MOST_POOLS = 8
"""How many selections of the pool's machines are tried."""


def plan_within(
    costing: Costing, pool: Sequence[PoolMachine], limits: Limits, now: datetime, order: Order = "shortest"
) -> SweepPlan:
    """The schedule that meets the limits: by a deadline the cheapest, within a budget alone the soonest.

    Where none meets them, the likeliest to. The machines are left out from the one on which an experiment costs most
    down, and of the machines left the cheaper ones are given as much as ends in time. Raises NothingFitsError where an
    experiment fits on no machine of the pool.
    """
    fastest = plan_sweep(costing, pool, limits, now, order)
    best = fastest
    for part in _parts(costing, pool):
        for latest_s in _latest(fastest, limits, now):
            try:
                plan = plan_sweep(part, pool, limits, now, order, thorough=False, latest_s=latest_s)
            except NothingFitsError:  # an experiment fits on none of these machines
                continue
            if _merit(plan, limits) < _merit(best, limits):
                best = plan
    if best is fastest:
        return fastest
    compared = Fastest(fastest.used, fastest.makespan_s.p50, fastest.cost_usd.p50, fastest.p_meets, fastest.at_most)
    return best._replace(bound_s=fastest.bound_s, fastest=compared)


def _merit(plan: SweepPlan, limits: Limits) -> tuple[bool, float, float]:
    """What meets the limits first; the less the better."""
    likely = plan.p_meets or 0.0
    if likely < limits.confidence:
        return True, -likely, plan.cost_usd.p50
    if limits.deadline is None:
        return False, plan.makespan_s.p50, plan.cost_usd.p50
    return False, plan.cost_usd.p50, plan.makespan_s.p50


def _latest(fastest: SweepPlan, limits: Limits, now: datetime) -> tuple[float, ...]:
    """P50 ends until which cheaper machines may be kept busy: as soon as it goes, as late as the deadline allows."""
    if limits.deadline is None:
        return (0.0,)
    left_s = (limits.deadline - now).total_seconds()
    return 0.0, left_s * fastest.makespan_s.p50 / limit_met(fastest.makespan_s, limits.confidence)


def _parts(costing: Costing, pool: Sequence[PoolMachine]) -> Iterator[Costing]:
    """The costing with ever fewer machines on which anything fits, the dearest for its work left out first."""
    by_cost = sorted(range(len(pool)), key=lambda index: _usd_for_the_work(costing, pool[index], index))
    sizes = range(len(pool), 0, -max(1, math.ceil(len(pool) / _MOST_POOLS)))
    for size in sizes:
        yield _only(costing, set(by_cost[:size]))


def _usd_for_the_work(costing: Costing, machine: PoolMachine, index: int) -> float:
    """What the machine's hours for an experiment cost, in the mean, for each second that its best machine takes."""
    shares = [row[index].p50 / min(time.p50 for time in row) for row in costing.times if math.isfinite(row[index].p50)]
    if not shares:
        return math.inf
    return (machine.candidate.usd_per_hour(machine.offer) or 0.0) * sum(shares) / len(shares)


def _only(costing: Costing, kept: set[int]) -> Costing:
    """The costing in which nothing fits on the other machines."""
    times = (tuple(time if index in kept else NEVER for index, time in enumerate(row)) for row in costing.times)
    return costing._replace(times=tuple(times))
