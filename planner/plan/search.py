"""Rank every way to run the experiment.

Machines are few and offers many: the physics runs once for each distinct machine, each offer then costs a few
multiplications, and only the rows that are asked for become full estimates.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Literal, NamedTuple

from planner.experiment.experiment import Experiment
from planner.plan.candidates import Candidate
from planner.plan.cost import (
    Bill,
    after_credit,
    billed,
    bounded_cents,
    cost_interval,
    price_age,
    total_cents,
)
from planner.plan.free_tier import calendar_time
from planner.plan.interrupted import interrupted_time, loss
from planner.plan.probability import joint, p_below
from planner.plan.timeline import LONGEST_RUN_S, Timeline, demand_of
from planner.throughput.estimate import StepEstimate
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval, format_bytes
from pricing.offer import Offer

Sort = Literal["value", "cost", "time"]

TOO_LONG = "it would take more than a hundred years"
NEVER_FINISHES = "interrupted so often that it would never finish"

ORDINARY_STACKS = frozenset({"cuda", "rocm", "mps", "cpu"})
"""Stacks on which an ordinary PyTorch script runs unchanged."""


class Limits(NamedTuple):
    """What the answer must meet, and how rows are ordered. ``hour_value_usd`` prices an hour of waiting."""

    deadline: datetime | None = None
    budget_usd: float | None = None
    confidence: float = 0.9
    hour_value_usd: float = 2.0
    sort: Sort = "value"

    @property
    def given(self) -> bool:
        return self.deadline is not None or self.budget_usd is not None


class Run(NamedTuple):
    """A run's P50 with its interruptions, and what of the bill does not depend on the offer's hourly price.

    ``problem`` says why a run so long has no rank ("" where it has).
    """

    p50_s: float
    billed_hours: float
    extra_cents: int
    problem: str


class Kept(NamedTuple):
    """A run's time, the time its machine is kept, and the bill for that without the price of the offer's hours."""

    time_s: Interval
    seconds: Interval
    billed_hours: float
    bill: Bill


class Setting:
    """A candidate with its step and timeline; remembers the run, which offers of one region share."""

    __slots__ = (
        *("_by_rate", "_by_region", "_fixed_s", "_kept", "_kept_by_time", "_times", "_work_s"),
        *("candidate", "step", "timeline"),
    )

    def __init__(self, candidate: Candidate, step: StepEstimate, line: Timeline) -> None:
        self.candidate = candidate
        self.step = step
        self.timeline = line
        self._fixed_s, self._work_s = line.fixed_s, line.work.p50
        self._by_region: dict[str | None, Run] = {}
        self._by_rate: dict[Interval, Run] = {}
        self._times: dict[Interval, Interval] = {}
        self._kept: dict[str | None, Kept] = {}
        self._kept_by_time: dict[Interval, Kept] = {}

    def run(self, offer: Offer | None) -> Run:
        """The run under the offer: a spot machine's interruptions depend on its region, the others have none."""
        region = offer.region if offer is not None and offer.purchase == "spot" else None
        known = self._by_region.get(region)
        if known is None:
            rate = self.candidate.interruptions_per_hour(offer)
            known = self._by_rate.get(rate) or self._run(rate)
            self._by_region[region] = self._by_rate[rate] = known
        return known

    def time_s(self, offer: Offer | None) -> Interval:
        """The run's time under the offer, ends included: asked of shown rows, and of all where limits are given."""
        free_tier = self.candidate.free_tier
        if free_tier is not None:
            return calendar_time(self.timeline, free_tier)
        rate = self.candidate.interruptions_per_hour(offer)
        if rate not in self._times:
            self._times[rate] = interrupted_time(self.timeline, rate)
        return self._times[rate]

    def cost_usd(self, offer: Offer | None, today: date) -> Interval:
        """What the run is billed under the offer, ends included; offers differ in the price of their hours alone."""
        kept, credit_usd = self.kept(offer), self.candidate.tariff.credit_usd
        if offer is None:
            return cost_interval(kept.bill, kept.seconds, 0.0, credit_usd)
        hourly = offer.usd_per_hour * self.candidate.machine.num_nodes
        bill = kept.bill.and_hours(hourly, kept.billed_hours)
        return cost_interval(bill, kept.seconds, price_age(offer, today).spread, credit_usd)

    def kept(self, offer: Offer | None) -> Kept:
        """How long the machine is kept for the run: one record for all offers under which it takes as long."""
        region = offer.region if offer is not None and offer.purchase == "spot" else None
        known = self._kept.get(region)
        if known is None:
            time_s = self.time_s(offer)
            known = self._kept_by_time.get(time_s) or self._keep(time_s)
            self._kept[region] = self._kept_by_time[time_s] = known
        return known

    def _keep(self, time_s: Interval) -> Kept:
        tariff = self.candidate.tariff
        seconds = time_s.shifted(tariff.idle_s)
        hours = tariff.billing.billed_hours(seconds.p50) if tariff.billing else seconds.p50 / SECONDS_PER_HOUR
        return Kept(time_s, seconds, hours, billed(tariff.charges, seconds.p50))

    def _run(self, rate: Interval) -> Run:
        free_tier, tariff = self.candidate.free_tier, self.candidate.tariff
        if free_tier is None:
            p50_s = self._fixed_s + self._work_s + loss(self.timeline, self._work_s, rate.p50).expected_s
        else:
            p50_s = calendar_time(self.timeline, free_tier).p50
        kept_s = p50_s + tariff.idle_s
        hours = tariff.billing.billed_hours(kept_s) if tariff.billing else kept_s / SECONDS_PER_HOUR
        problem = ""
        if not p50_s <= LONGEST_RUN_S:
            problem = TOO_LONG if math.isfinite(p50_s) else NEVER_FINISHES
        return Run(p50_s, hours, total_cents(tariff.charges, kept_s), problem)


class Row(NamedTuple):
    """One ranked way to run and pay: P50 seconds and USD; ``p_meets`` is None where no limit was given.

    ``cost_usd`` is infinite where no part of it is known, so that nobody takes it for nothing; it is what is left to
    pay once ``credit_usd`` of the user's credit is used up. ``weighed_usd``, by which rows are ordered, counts that
    credit in at its value: it is then gone.
    """

    setting: Setting
    offer: Offer | None
    time_s: float
    cost_usd: float
    p_meets: float | None
    weighed_usd: float
    credit_usd: float = 0.0

    @property
    def bounded_usd(self) -> float:
        """What of the cost stands for prices that nobody knows, at the dearest rate known."""
        tariff = self.setting.candidate.tariff
        return bounded_cents(tariff.charges, self.time_s + tariff.idle_s) / 100

    @property
    def at_most(self) -> bool:
        """Whether the cost is only a bound."""
        return self.bounded_usd > 0

    @property
    def cost_known(self) -> bool:
        """Whether the cost is known, or what it is at most."""
        return self.setting.candidate.tariff.complete and self.cost_usd < math.inf

    def value(self, hour_value_usd: float) -> float:
        return self.weighed_usd + self.time_s / SECONDS_PER_HOUR * hour_value_usd


class Refusal(NamedTuple):
    """A way to run that has no rank, with the reason; ``step`` is there when the physics was asked."""

    candidate: Candidate
    offer: Offer | None
    step: StepEstimate | None
    reason: str


class Ranking(NamedTuple):
    """All rows in order, then all that have no rank."""

    rows: list[Row]
    refusals: list[Refusal]


class Chances:
    """How likely each offer of a setting is to meet the limits; offers of one time, and of one price, share theirs.

    Lists ask for many offers at one price: a provider's regions mostly cost the same.
    """

    __slots__ = ("_budget_usd", "_by_time", "_longest_s", "_setting", "_shared", "_today")

    def __init__(self, setting: Setting, limits: Limits, now: datetime) -> None:
        self._setting = setting
        self._longest_s = (limits.deadline - now).total_seconds() if limits.deadline is not None else None
        self._budget_usd = limits.budget_usd
        self._today = now.date()
        self._shared: dict[str | None, _Shared] = {}
        self._by_time: dict[Interval, _Shared] = {}

    def of(self, offer: Offer | None) -> float | None:
        """P(both limits are met) under the offer; see :func:`p_both`."""
        region = offer.region if offer is not None and offer.purchase == "spot" else None
        shared = self._shared.get(region)
        if shared is None:
            time_s = self._setting.kept(offer).time_s
            shared = self._by_time.get(time_s) or _Shared(self._p_in_time(time_s), {})
            self._shared[region] = self._by_time[time_s] = shared
        in_time, by_price = shared
        if self._budget_usd is None:
            return in_time
        # All that a cost depends on, once the time is known.
        price = None if offer is None else (offer.usd_per_hour, offer.purchase, offer.price_as_of)
        known = by_price.get(price)
        if known is None:
            known = by_price[price] = joint(in_time, self._p_in_budget(offer, self._budget_usd))
        return known

    def _p_in_time(self, time_s: Interval) -> float | None:
        return None if self._longest_s is None else p_below(time_s, self._longest_s)

    def _p_in_budget(self, offer: Offer | None, budget_usd: float) -> float:
        if offer is None and self._setting.candidate.usd_per_hour(None) is None:
            return 0.0
        return p_below(self._setting.cost_usd(offer, self._today), budget_usd)


class _Shared(NamedTuple):
    """What offers under which a run takes as long share: P(in time), and by price P(both limits are met)."""

    in_time: float | None
    by_price: dict[tuple[float, str, str] | None, float | None]


def rank(
    experiment: Experiment, model: StepModel, candidates: Iterable[Candidate], limits: Limits, now: datetime
) -> Ranking:
    """Order every offer of every candidate by ``limits.sort``; ties go to the earlier candidate."""
    rows: list[Row] = []
    refusals: list[Refusal] = []
    demand = demand_of(experiment)
    for candidate in candidates:
        refusals += [Refusal(candidate, offer, None, candidate.blocked or why) for offer, why in candidate.refused]
        step = None if candidate.blocked else model.estimate(candidate.machine)
        if step is None or not step.fits:
            reason = candidate.blocked if step is None else _too_small(step)
            refusals += [Refusal(candidate, offer, step, reason) for offer in candidate.offers]
            continue
        rented = candidate.provider is not None
        setting = Setting(candidate, step, demand.on(candidate.machine, step, rented=rented))
        _add_offers(setting, limits, now, rows, refusals)
    rows.sort(key=_order(limits))
    return Ranking(rows, refusals)


def _too_small(step: StepEstimate) -> str:
    """Why a step does not fit: the memory it needs, where that is the reason."""
    required, available = step.memory_required_bytes, step.memory_available_bytes
    if required is None or available is None or required <= available:
        return step.reason
    needs = format_bytes(required)
    return f"a batch of {step.batch_size_per_gpu} needs {needs} a device, more than it has"


def _add_offers(setting: Setting, limits: Limits, now: datetime, rows: list[Row], refusals: list[Refusal]) -> None:
    """A row or a refusal for each of the offers. What is done here is done thousands of times."""
    candidate = setting.candidate
    num_nodes = candidate.machine.num_nodes
    chances = Chances(setting, limits, now) if limits.given else None
    credit_usd, credit_value = candidate.tariff.credit_usd, candidate.tariff.credit_value
    unpriced = candidate.usd_per_hour(None) is None
    undisturbed: Run | None = None
    new = tuple.__new__  # a third of the time that Row(...) takes
    for offer in candidate.offers:
        if offer is not None and offer.purchase == "spot":
            p50_s, billed_hours, total, problem = setting.run(offer)
        else:
            p50_s, billed_hours, total, problem = undisturbed = undisturbed or setting.run(None)
        if problem:
            refusals.append(Refusal(candidate, offer, setting.step, problem))
            continue
        if offer is not None:
            total += math.floor(offer.usd_per_hour * num_nodes * billed_hours * 100 + 0.5)  # cents() without a call
        p_meets = None if chances is None else chances.of(offer)
        if credit_usd:
            paid = after_credit(total, credit_usd)
            weighed_usd = (paid + (total - paid) * credit_value) / 100
            rows.append(Row(setting, offer, p50_s, paid / 100, p_meets, weighed_usd, (total - paid) / 100))
            continue
        cost_usd = math.inf if unpriced and offer is None else total / 100
        rows.append(new(Row, (setting, offer, p50_s, cost_usd, p_meets, cost_usd, 0.0)))


def _order(limits: Limits) -> Callable[[Row], float | tuple[float, ...]]:
    if limits.sort == "time":
        return lambda row: (row.time_s, row.weighed_usd)
    if limits.sort == "cost":
        return lambda row: (row.weighed_usd, row.time_s)
    if limits.given:
        return lambda row: _nearest_first(row, limits)
    second_value_usd = limits.hour_value_usd / SECONDS_PER_HOUR
    return lambda row: row.weighed_usd + row.time_s * second_value_usd


def _nearest_first(row: Row, limits: Limits) -> tuple[float, ...]:
    """Rows that meet the limits by cost, since surer than asked for is no better; then misses, the likeliest first."""
    return (-min(row.p_meets or 0.0, limits.confidence), row.weighed_usd, row.time_s)


def meets(row: Row, limits: Limits) -> bool:
    """Whether the row meets the limits with the confidence asked for."""
    return row.p_meets is not None and row.p_meets >= limits.confidence


def pareto_front(rows: Sequence[Row]) -> set[int]:
    """Indices of the rows that no other row beats in both time and cost."""
    of_time: dict[float, int] = {}  # the cheapest of each time: offers of one machine share theirs
    for index, row in enumerate(rows):
        known = of_time.get(row.time_s)
        if known is None or row.weighed_usd < rows[known].weighed_usd:
            of_time[row.time_s] = index
    front: set[int] = set()
    cheapest = math.inf
    for _, index in sorted(of_time.items()):
        if rows[index].weighed_usd < cheapest:
            cheapest = rows[index].weighed_usd
            front.add(index)
    return front
