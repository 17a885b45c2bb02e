"""Which machine of a pool runs which experiment: list scheduling, mended by moves and swaps.

Experiments are unlike and so are machines: this is scheduling on unrelated parallel machines, which is NP-hard. Lists
are built longest first, each experiment on the machine on which it ends soonest (Ibarra and Kim 1977, "Heuristic
algorithms for scheduling independent tasks on nonidentical processors"), and again with only the machines allowed that
are nearly as efficient for it as its best one. The best list is then mended: from the machine that ends last an
experiment is moved, or swapped with another machine's, as long as that ends sooner. How far the result can be from the
best is said by :mod:`planner.plan.makespan_bound`.
"""

import math
from collections.abc import Sequence

from planner.errors import NothingFitsError
from planner.plan.makespan_bound import Times

_TOLERANCES = (math.inf, 1.5, 1.1, 1.02)
"""How much less efficient than its best machine one may be for an experiment, in each list that is built."""

_MOST_REPAIRS = 400
_GAIN = 1e-9


class _Loads:
    """Who runs what, and when each machine ends. Mutable: schedules are mended in place."""

    def __init__(self, times: Times, heads: Sequence[float]) -> None:
        self.times = times
        self.heads = heads
        self.jobs: list[list[int]] = [[] for _ in heads]
        self.work = [0.0] * len(heads)

    def end(self, machine: int) -> float:
        """A machine that runs nothing is not started."""
        return self.heads[machine] + self.work[machine] if self.jobs[machine] else 0.0

    def makespan(self) -> float:
        return max(map(self.end, range(len(self.heads))), default=0.0)

    def add(self, job: int, machine: int) -> None:
        self.jobs[machine].append(job)
        self.work[machine] += self.times[job][machine]

    def remove(self, job: int, machine: int) -> None:
        self.jobs[machine].remove(job)
        self.work[machine] -= self.times[job][machine]


def assign(
    times: Times, heads: Sequence[float], usd_per_s: Sequence[float], *, thorough: bool = True, latest_s: float = 0.0
) -> list[list[int]]:
    """The experiments of each machine, by index, unordered.

    ``times[j][i]`` seconds of experiment j on machine i, infinite where it does not fit; ``heads[i]`` seconds before
    machine i's first; ``usd_per_s[i]`` what it costs while it runs. The makespan comes first, then the cost: cheaper
    machines may work until the makespan, or until ``latest_s`` where that is later. Unless ``thorough``, one list is
    built instead of several.
    Raises NothingFitsError where an experiment fits on no machine.
    """
    for job, row in enumerate(times):
        if not math.isfinite(min(row, default=math.inf)):
            raise NothingFitsError(f"experiment {job + 1} fits on no machine of the pool")
    best: _Loads | None = None
    for tolerance in _TOLERANCES if thorough else _TOLERANCES[:1]:
        loads = _listed(times, heads, tolerance)
        _mend(loads)
        if best is None or loads.makespan() < best.makespan() * (1 - _GAIN):
            best = loads
    if best is None:
        return [[] for _ in heads]
    _cheapen(best, usd_per_s, max(best.makespan(), latest_s))
    return best.jobs


def _listed(times: Times, heads: Sequence[float], tolerance: float) -> _Loads:
    """Longest first, each where it ends soonest among the machines that are efficient enough for it."""
    loads = _Loads(times, heads)
    machines = range(len(heads))
    speed = [_mean_time(times, machine) for machine in machines]
    for job in sorted(range(len(times)), key=lambda job: min(times[job]), reverse=True):
        row = times[job]
        limit = tolerance * min(row[i] / speed[i] for i in machines)
        allowed = [i for i in machines if math.isfinite(row[i]) and row[i] / speed[i] <= limit]
        loads.add(job, min(allowed, key=lambda i: heads[i] + loads.work[i] + row[i]))
    return loads


def _mean_time(times: Times, machine: int) -> float:
    finite = [row[machine] for row in times if math.isfinite(row[machine])]
    return sum(finite) / len(finite) if finite and sum(finite) > 0 else 1.0


def _mend(loads: _Loads) -> None:
    """Relieve the machine that ends last, move by move, then swap by swap, until nothing helps."""
    for _ in range(_MOST_REPAIRS):
        last = max(range(len(loads.heads)), key=loads.end)
        if not (_move_from(loads, last) or _swap_with(loads, last)):
            return


def _move_from(loads: _Loads, last: int) -> bool:
    """The move off ``last`` after which the later of the two machines ends soonest; False where none helps."""
    times, before = loads.times, loads.end(last)
    best, chosen = before * (1 - _GAIN), None
    for job in loads.jobs[last]:
        left = before - times[job][last] if len(loads.jobs[last]) > 1 else 0.0
        for machine, work in enumerate(loads.work):
            if machine == last:
                continue
            ends = max(left, loads.heads[machine] + work + times[job][machine])
            if ends < best:
                best, chosen = ends, (job, machine)
    if chosen is None:
        return False
    job, machine = chosen
    loads.remove(job, last)
    loads.add(job, machine)
    return True


def _swap_with(loads: _Loads, last: int) -> bool:
    """Exchange an experiment of ``last`` for another machine's; False where none helps.

    The machine that ends first and has an exchange that helps is taken, with its best one.
    """
    for machine in sorted(range(len(loads.heads)), key=lambda i: loads.heads[i] + loads.work[i]):
        found = None if machine == last else _best_swap(loads, last, machine)
        if found is not None:
            job, swapped = found
            loads.remove(job, last)
            loads.remove(swapped, machine)
            loads.add(job, machine)
            loads.add(swapped, last)
            return True
    return False


def _best_swap(loads: _Loads, last: int, machine: int) -> tuple[int, int] | None:
    """(experiment of ``last``, experiment of ``machine``) after whose exchange the later of the two ends soonest."""
    times, before = loads.times, loads.end(last)
    other = loads.heads[machine] + loads.work[machine]
    theirs = [(job, times[job][machine], times[job][last]) for job in loads.jobs[machine]]
    best, chosen = before * (1 - _GAIN), None
    for job in loads.jobs[last]:
        left, joined = before - times[job][last], other + times[job][machine]
        for swapped, its_there, its_here in theirs:
            here_ends, there_ends = left + its_here, joined - its_there
            if here_ends < best and there_ends < best:
                best, chosen = max(here_ends, there_ends), (job, swapped)
    return chosen


def _cheapen(loads: _Loads, usd_per_s: Sequence[float], latest: float) -> None:
    """Move experiments to cheaper machines as long as none ends after ``latest`` (seconds)."""
    for dear in sorted(range(len(loads.heads)), key=lambda i: usd_per_s[i], reverse=True):
        for job in sorted(loads.jobs[dear], key=lambda job: loads.times[job][dear], reverse=True):
            _cheaper_place(loads, job, dear, latest, usd_per_s)


def _cheaper_place(loads: _Loads, job: int, dear: int, latest: float, usd_per_s: Sequence[float]) -> None:
    row = loads.times[job]
    started = loads.heads[dear] if len(loads.jobs[dear]) == 1 else 0.0  # an emptied machine is not started at all
    best, chosen = (row[dear] + started) * usd_per_s[dear] * (1 - _GAIN), None
    for machine, work in enumerate(loads.work):
        if machine == dear or loads.heads[machine] + work + row[machine] > latest:
            continue
        head = loads.heads[machine] if not loads.jobs[machine] else 0.0
        usd = (row[machine] + head) * usd_per_s[machine]
        if usd < best:
            best, chosen = usd, machine
    if chosen is not None:
        loads.remove(job, dear)
        loads.add(job, chosen)
