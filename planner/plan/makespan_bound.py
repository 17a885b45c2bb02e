"""How soon experiments can be through at best on a pool of machines: a lower bound on every schedule's makespan.

The bound is the largest of three, each of which no schedule without preemption can beat:

- the longest experiment on its best machine;
- counting: by a time T each machine can finish only so many of the k longest experiments, even taking those that are
  shortest on it, and all machines together must finish k;
- the linear relaxation of the assignment, without the pairs that alone take longer than T (Lenstra, Shmoys and Tardos
  1990, "Approximation algorithms for scheduling unrelated parallel machines"). It is bounded from its dual: for any
  weights w >= 0 of the machines that sum to 1, T >= sum_i w_i * head_i + sum_j min_i w_i * time_ij. Weights are
  improved by exponentiated subgradient steps (Kivinen and Warmuth 1997); others than the best only weaken the bound.

``times[j][i]`` is seconds of experiment j on machine i (infinite where it does not fit), ``heads[i]`` the seconds
before machine i can start its first one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

Times = Sequence[Sequence[float]]

_STEPS = 40
_LEAST_WEIGHT = 1e-9
_PRECISION = 0.002
"""The bisection stops when the bound is known that closely."""


def lower_bound(times: Times, heads: Sequence[float], upper: float) -> float:
    """Seconds before which no schedule can end; ``upper`` is a makespan that some schedule reaches."""
    if not times:
        return 0.0
    low = max(_longest(times, heads), _counting(times, heads, upper))
    weights = _first_weights(times)
    low = max(low, _relaxed(times, heads, low, math.inf, weights))
    high = upper
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        # A schedule that ends by then uses no pair longer than that: the bound without such pairs holds for it.
        if _relaxed(times, heads, low, middle, weights) > middle:
            low = middle
        else:
            high = middle
    return min(low, upper)


def _longest(times: Times, heads: Sequence[float]) -> float:
    return max(min(head + time for head, time in zip(heads, row, strict=True)) for row in times)


def _counting(times: Times, heads: Sequence[float], upper: float) -> float:
    machines = range(len(heads))
    longest_first = sorted(times, key=min, reverse=True)
    count, best = len(machines) + 1, 0.0
    while count <= len(times):
        chosen = longest_first[:count]
        done_by = [list(accumulate(sorted(row[i] for row in chosen))) for i in machines]

        def finished(by: float, done_by: list[list[float]] = done_by) -> int:
            return sum(bisect_right(done_by[i], by - heads[i]) for i in machines)

        low, high = best, upper
        while high - low > _PRECISION * high:
            middle = (low + high) / 2
            low, high = (low, middle) if finished(middle) >= count else (middle, high)
        best = low
        count += len(machines)
    return best


def _first_weights(times: Times) -> list[float]:
    """By the machines' mean speed: the best weights where machines differ by a factor only."""
    weights = []
    for column in zip(*times, strict=True):
        finite = [time for time in column if math.isfinite(time)]
        weights.append(len(finite) / sum(finite) if finite and sum(finite) > 0 else _LEAST_WEIGHT)
    total = sum(weights)
    return [max(weight / total, _LEAST_WEIGHT) for weight in weights]


def _relaxed(times: Times, heads: Sequence[float], known: float, longest: float, weights: list[float]) -> float:
    """The dual bound without pairs that take more than ``longest``; it improves ``weights`` in place.

    A machine that is used starts after its head, one that is not has no load: for either, load <= T - min(head, known).
    """
    heads = [min(head, known) for head in heads]
    rows = [[time if time <= longest else math.inf for time in row] for row in times]
    best, best_weights = 0.0, list(weights)
    for step in range(_STEPS):
        loads = list(heads)
        bound = sum(map(float.__mul__, weights, heads))
        for row in rows:
            prices = list(map(float.__mul__, weights, row))
            cheapest = min(prices)
            if cheapest == math.inf:
                return math.inf
            bound += cheapest
            loads[prices.index(cheapest)] += row[prices.index(cheapest)]
        if bound > best:
            best, best_weights = bound, list(weights)
        if best > longest:
            break
        rate = 1 / (2 + step)
        scale = max(loads)
        weights[:] = [
            max(w * math.exp(rate * (load / scale - 1)), _LEAST_WEIGHT) for w, load in zip(weights, loads, strict=True)
        ]
        total = sum(weights)
        weights[:] = [weight / total for weight in weights]
    weights[:] = best_weights
    return best
