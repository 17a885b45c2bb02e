"""A sweep planned: which machine of the pool runs which experiment when, until when, and for how much."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from planner.errors import NothingFitsError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.candidates import Tariff
from planner.plan.config import Config
from planner.plan.cost import Charge, cents, is_bounded, price_age
from planner.plan.extras import tariffs
from planner.plan.makespan_bound import lower_bound
from planner.plan.plan import CostPart
from planner.plan.probability import p_both
from planner.plan.schedule import assign
from planner.plan.search import Limits, Setting
from planner.plan.sweep_grid import Variant
from planner.plan.sweep_pool import PoolMachine
from planner.plan.timeline import timeline
from planner.plan.world import World
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval
from pricing.interruption import Interruptions

Order = Literal["shortest", "longest", "grid"]
ORDERS: tuple[Order, ...] = ("shortest", "longest", "grid")

NEVER = Interval(float("inf"), float("inf"), float("inf"))


class Placed(NamedTuple):
    """An experiment on its machine: seconds after the sweep's start, at P50."""

    experiment: int
    start_s: float
    end_s: float


class Track(NamedTuple):
    """What one machine does: it is set up until ``head_s``, then runs its experiments one after the other.

    ``end_s`` is when the last one ends. ``cost_parts`` are its bill's lines, of which the known ones add up to
    ``cost_usd``; both are empty for a machine that is not used. ``cost_known``: in full, or what it is at most.
    """

    machine: PoolMachine
    head_s: float
    placed: tuple[Placed, ...]
    end_s: Interval
    cost_parts: tuple[CostPart, ...]
    cost_usd: float
    cost_known: bool = True

    @property
    def at_most(self) -> bool:
        """Whether a part of the cost is taken at the dearest rate known of anybody."""
        return is_bounded(self.cost_parts)

    @property
    def used(self) -> bool:
        return bool(self.placed)


class Feedback(NamedTuple):
    """Seconds until the first, a quarter, half and all of the results are there, at P50, and their mean."""

    first_s: float
    quarter_s: float
    half_s: float
    all_s: float
    mean_s: float


class Fastest(NamedTuple):
    """What the schedule that ends soonest comes to: machines, seconds and USD at P50, and if it meets the limits."""

    machines: int
    makespan_s: float
    cost_usd: float
    p_meets: float | None
    at_most: bool = False


class SweepPlan(NamedTuple):
    """The whole sweep. Totals are the sums of the tracks' and of ``credits``; ``p_meets`` is None without limits.

    ``bound_s`` is what no schedule of these experiments on this pool can beat (planner.plan.makespan_bound).
    ``fastest`` is the schedule that was given up for the limits; None where this one is it.
    """

    labels: tuple[str, ...]
    tracks: tuple[Track, ...]
    makespan_s: Interval
    bound_s: float
    cost_usd: Interval
    credits: tuple[CostPart, ...]
    feedback: Feedback
    finish_at: datetime
    p_meets: float | None
    complete: bool
    fastest: Fastest | None = None

    @property
    def at_most(self) -> bool:
        """Whether the cost has a machine's of which it is only known that it is at most so much."""
        return any(track.at_most for track in self.tracks)

    @property
    def idle_s(self) -> float:
        """Machine seconds between a used machine's end and the sweep's."""
        return sum(self.makespan_s.p50 - track.end_s.p50 for track in self.tracks if track.used)

    @property
    def used(self) -> int:
        return sum(track.used for track in self.tracks)


class Costing(NamedTuple):
    """What experiments take and cost on each kind of machine: all that scheduling needs to know.

    ``times[j][i]`` is experiment j on machine i without setting it up, infinite where it does not fit, and
    ``tariffs[j][i]`` what it pays there beside the machine's hours; ``heads[i]`` is setting machine i up and copying
    every data set of the sweep to it, once. ``reasons[j]`` says why experiment j does not fit where it does not.
    """

    labels: tuple[str, ...]
    times: tuple[tuple[Interval, ...], ...]
    heads: tuple[float, ...]
    tariffs: tuple[tuple[Tariff | None, ...], ...]
    reasons: tuple[str, ...]


def cost_of(variants: Sequence[Variant], pool: Sequence[PoolMachine], world: World, knowledge: Knowledge) -> Costing:
    """Every experiment on every kind of machine; the physics runs once for those that differ only in how long they are.

    Raises InputError for a bad experiment.
    """
    kinds = {machine.kind: machine for machine in pool}
    interruptions = world.catalog.interruptions()
    models: dict[ExperimentRequest, dict[int, StepEstimate]] = {}
    settings: dict[ExperimentRequest, dict[int, Setting | str]] = {}
    downloads: dict[int, dict[str, float]] = {kind: {} for kind in kinds}
    for request in dict.fromkeys(variant.request for variant in variants):
        experiment = resolve_experiment(request)
        steps = models.setdefault(_pace_of(request), {})
        if not steps:
            model = StepModel(experiment, knowledge)
            steps.update({kind: model.estimate(machine.candidate.machine) for kind, machine in kinds.items()})
        settings[request] = {
            kind: _setting(experiment, machine, steps[kind], interruptions, world.config)
            for kind, machine in kinds.items()
        }
        data = experiment.dataset.name if experiment.dataset else ""
        for kind, found in settings[request].items():
            if isinstance(found, Setting):
                downloads[kind][data] = found.timeline.download_s
    heads = {kind: _setup_s(settings.values(), kind) + sum(downloads[kind].values()) for kind in kinds}
    rows = [settings[variant.request] for variant in variants]
    times = {
        request: {kind: _time_s(found[kind], kinds[kind]) for kind in kinds} for request, found in settings.items()
    }
    return Costing(
        labels=tuple(variant.label for variant in variants),
        times=tuple(tuple(times[variant.request][machine.kind] for machine in pool) for variant in variants),
        heads=tuple(heads[machine.kind] for machine in pool),
        tariffs=tuple(tuple(_tariff(row[machine.kind]) for machine in pool) for row in rows),
        reasons=tuple(next((why for why in row.values() if isinstance(why, str)), "") for row in rows),
    )


def _pace_of(request: ExperimentRequest) -> ExperimentRequest:
    """What the step depends on: not how long is trained."""
    return request._replace(epochs=None, tokens=None, steps=None, resume_epoch=0.0)


def _setting(
    experiment: Experiment, machine: PoolMachine, step: StepEstimate, interruptions: Interruptions, config: Config
) -> Setting | str:
    """The experiment on a machine, with the charges that it makes there; the reason where it does not fit."""
    if not step.fits:
        return step.reason or "it does not fit into the memory"
    candidate = machine.candidate
    if candidate.provider is not None:
        nodes = candidate.machine.num_nodes
        tariff = tariffs(experiment, interruptions, nodes, config)(candidate.provider)
        candidate = candidate._replace(tariff=tariff)
    return Setting(candidate, step, timeline(experiment, candidate.machine, step, rented=machine.rented))


def _setup_s(settings: Iterable[Mapping[int, Setting | str]], kind: int) -> float:
    found = (setting[kind] for setting in settings)
    return max((setting.timeline.setup_s for setting in found if isinstance(setting, Setting)), default=0.0)


def _time_s(setting: Setting | str, machine: PoolMachine) -> Interval:
    """The run without what the machine's head has: training, evaluation, checkpoints, and what interruptions cost."""
    if isinstance(setting, str):
        return NEVER
    return setting.time_s(machine.offer).shifted(-(setting.timeline.setup_s + setting.timeline.download_s))


def _tariff(setting: Setting | str) -> Tariff | None:
    return None if isinstance(setting, str) else setting.candidate.tariff


def plan_sweep(
    costing: Costing,
    pool: Sequence[PoolMachine],
    limits: Limits,
    now: datetime,
    order: Order = "shortest",
    *,
    thorough: bool = True,
    latest_s: float = 0.0,
) -> SweepPlan:
    """Schedule, cost and date the sweep; unless ``thorough``, from one list only and without a bound (it is 0).

    It ends as soon as it can, or by ``latest_s`` where that is cheaper.

    Raises NothingFitsError where an experiment fits on no machine of the pool.
    """
    middles = [[time.p50 for time in row] for row in costing.times]
    for label, row, reason in zip(costing.labels, middles, costing.reasons, strict=True):
        if min(row) == float("inf"):
            raise NothingFitsError(f"{label} fits on no machine of the pool: {reason}")
    rates = [(machine.candidate.usd_per_hour(machine.offer) or 0.0) / SECONDS_PER_HOUR for machine in pool]
    jobs = assign(middles, costing.heads, rates, thorough=thorough, latest_s=latest_s)
    tracks = tuple(
        _track(costing, machine, index, _ordered(jobs[index], middles, index, order))
        for index, machine in enumerate(pool)
    )
    makespan_s = Interval(*(max(track.end_s[end] for track in tracks) for end in range(3)))
    credit = _credit_of(costing, tracks)
    cost_usd = _cost_interval(tracks, credit, now)
    return SweepPlan(
        labels=costing.labels,
        tracks=tracks,
        makespan_s=makespan_s,
        bound_s=lower_bound(middles, costing.heads, makespan_s.p50) if thorough else 0.0,
        cost_usd=cost_usd,
        credits=_credits(tracks, credit),
        feedback=_feedback(tracks),
        finish_at=now + timedelta(seconds=makespan_s.p50),
        p_meets=_p_meets(makespan_s, cost_usd, limits, now),
        complete=all(track.cost_known for track in tracks),
    )


def _ordered(jobs: list[int], middles: Sequence[Sequence[float]], machine: int, order: Order) -> list[int]:
    """The order on one machine, which moves results and not the end."""
    if order == "grid":
        return sorted(jobs)
    return sorted(jobs, key=lambda job: (middles[job][machine], job), reverse=order == "longest")


def _track(costing: Costing, machine: PoolMachine, index: int, jobs: Sequence[int]) -> Track:
    head_s = costing.heads[index]
    if not jobs:
        return Track(machine, head_s, (), Interval(0.0, 0.0, 0.0), (), 0.0)
    placed, clock_s = [], head_s
    for job in jobs:
        end_s = clock_s + costing.times[job][index].p50
        placed.append(Placed(job, clock_s, end_s))
        clock_s = end_s
    # How wrong a machine's pace is holds for all that it runs: the ends of its experiments move together.
    ends = Interval(*(head_s + sum(costing.times[job][index][end] for job in jobs) for end in range(3)))
    found = [costing.tariffs[job][index] for job in jobs]
    tariffs_paid = [tariff for tariff in found if tariff is not None]
    parts = _bill(tariffs_paid, machine, clock_s)
    usd = _known_usd(parts)
    known = all(tariff.complete for tariff in tariffs_paid)
    return Track(machine, head_s, tuple(placed), ends, parts, usd, known)


def _known_usd(parts: Iterable[CostPart]) -> float:
    """The sum of the known lines, cent by cent."""
    return sum(cents(part.usd) for part in parts if part.usd is not None) / 100


def _bill(found: Sequence[Tariff], machine: PoolMachine, end_s: float) -> tuple[CostPart, ...]:
    """A machine's lines: its hours once, the dearest disk of its experiments, and what each of them pays once."""
    kept_s = end_s + max(tariff.idle_s for tariff in found)
    hourly = machine.candidate._replace(tariff=found[0]).charges(machine.offer)[: 1 if machine.offer else 0]
    lines = [CostPart(charge.name, _usd(charge, kept_s), charge.source) for charge in hourly]
    for name in dict.fromkeys(charge.name for tariff in found for charge in tariff.charges):
        charges = [charge for tariff in found for charge in tariff.charges if charge.name == name]
        by_hour = max(charges, key=lambda charge: charge.usd_per_hour or 0.0)
        if any(not charge.known for charge in charges):
            lines.append(CostPart(name, None, by_hour.source))
            continue
        once = sum(charge.usd_once or 0.0 for charge in charges)
        usd, bounded = _usd(by_hour._replace(usd_once=once), kept_s), any(charge.at_most for charge in charges)
        lines.append(CostPart(name, usd, by_hour.source, at_most=bounded))
    return tuple(lines)


def _usd(charge: Charge, seconds: float) -> float | None:
    usd = charge.usd(seconds)
    return None if usd is None else cents(usd) / 100


def _credit_of(costing: Costing, tracks: Sequence[Track]) -> dict[str, float]:
    """USD of the user's credit at each provider of which a machine is used."""
    credit: dict[str, float] = {}
    for index, track in enumerate(tracks):
        provider = track.machine.candidate.provider
        tariff = costing.tariffs[track.placed[0].experiment][index] if track.used else None
        if provider is not None and tariff is not None and tariff.credit_usd > 0:
            credit[provider] = tariff.credit_usd
    return credit


def _credits(tracks: Sequence[Track], credit: Mapping[str, float]) -> tuple[CostPart, ...]:
    """What the credits pay of the bills at P50, one line a provider."""
    return tuple(
        CostPart(
            f"credits {name}", -min(cents(usd), _billed_cents(tracks, name)) / 100, "[credits] in your configuration"
        )
        for name, usd in credit.items()
    )


def _billed_cents(tracks: Sequence[Track], provider: str | None) -> int:
    """The bills of a provider's machines at P50, or of those that are owned."""
    return sum(cents(track.cost_usd) for track in tracks if track.machine.candidate.provider == provider)


def _cost_interval(tracks: Sequence[Track], credit: Mapping[str, float], now: datetime) -> Interval:
    """What is left to pay of each provider's bills once its credit is used up, added.

    P50 is the sum of the bills; the ends follow each machine's time and its price's spread. A credit pays at every end
    for as much as it can, so that a slow sweep has used it up where a likely one has not.
    """
    low = middle = high = 0.0
    for provider in dict.fromkeys(track.machine.candidate.provider for track in tracks):
        given = credit.get(provider or "", 0.0)
        billed = _billed_cents(tracks, provider) / 100
        least, most = _billed_ends([track for track in tracks if track.machine.candidate.provider == provider], now)
        low += max(0.0, min(billed, least) - given)
        middle += max(0, cents(billed) - cents(given)) / 100
        high += max(0.0, max(billed, most) - given)
    return Interval(low, cents(middle) / 100, high)


def _billed_ends(tracks: Sequence[Track], now: datetime) -> tuple[float, float]:
    """P10 and P90 of the machines' bills together, before credits."""
    low = high = 0.0
    for track in tracks:
        if track.used:
            offer = track.machine.offer
            spread = price_age(offer, now.date()).spread if offer is not None else 0.0
            low += track.cost_usd * track.end_s.p10 / track.end_s.p50 / (1 + spread)
            high += track.cost_usd * track.end_s.p90 / track.end_s.p50 * (1 + spread)
    return low, high


def _feedback(tracks: Sequence[Track]) -> Feedback:
    ends = sorted(placed.end_s for track in tracks for placed in track.placed)
    last = len(ends) - 1
    return Feedback(
        first_s=ends[0],
        quarter_s=ends[max(0, -(-len(ends) // 4) - 1)],
        half_s=ends[max(0, -(-len(ends) // 2) - 1)],
        all_s=ends[last],
        mean_s=sum(ends) / len(ends),
    )


def _p_meets(makespan_s: Interval, cost_usd: Interval, limits: Limits, now: datetime) -> float | None:
    longest_s = (limits.deadline - now).total_seconds() if limits.deadline is not None else None
    return p_both(makespan_s, longest_s, cost_usd, limits.budget_usd)
