"""A machine one might buy, on an experiment: its speed, its power, and what a run on it costs its owner."""

from datetime import date
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.plan.breakeven import BreakEven, Owning
from planner.plan.candidates import Candidate
from planner.plan.config import OwnershipTerms
from planner.plan.cost import cents
from planner.plan.electricity import ElectricityPrice
from planner.plan.owned import owned_candidate
from planner.plan.ownership import Ownership, wall_power_w
from planner.plan.purchase import CONDITIONS, Purchase
from planner.plan.rents import Rent
from planner.plan.timeline import timeline
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval
from pricing.age import STALE_AFTER_DAYS, age_days

HOURS_OF_A_WEEK = 168.0


class Bought(NamedTuple):
    """A purchase on this experiment. ``problem`` says why it cannot run it (the figures are then None).

    ``samples_per_s`` and ``time_s`` are of one run, ``energy_kwh`` at the wall; ``hours_per_week`` is how busy the work
    keeps it; ``against`` has the break-even against each rent; ``spent_usd`` is money out by the horizon.
    ``price_age_days`` is None where the price has no day. ``p_meets`` is the probability that a run on it meets the
    limits, None without any; ``misses_limits`` where that is less than was asked for.
    """

    purchase: Purchase
    problem: str
    owning: Owning | None = None
    samples_per_s: Interval | None = None
    time_s: Interval | None = None
    power_w: float | None = None
    energy_kwh: float | None = None
    memory_bytes: float | None = None
    batch_size_per_gpu: int | None = None
    evidence: str = ""
    hours_per_week: float | None = None
    against: tuple[tuple[Rent, BreakEven], ...] = ()
    spent_usd: float | None = None
    price_age_days: int | None = None
    p_meets: float | None = None
    misses_limits: bool = False

    @property
    def is_too_slow(self) -> bool:
        """Whether a week is too short for the work."""
        return self.hours_per_week is not None and self.hours_per_week > HOURS_OF_A_WEEK

    @property
    def price_is_old(self) -> bool:
        """Whether the card's price deserves a mark, as prices by the hour do."""
        return self.price_age_days is not None and self.price_age_days > STALE_AFTER_DAYS


def on_experiment(
    experiment: Experiment,
    model: StepModel,
    purchase: Purchase,
    electricity: ElectricityPrice,
    ownership: OwnershipTerms,
    today: date,
) -> Bought:
    """The purchase timed by ``model``, which is the experiment's; ``problem`` where it cannot run it."""
    step = model.estimate(purchase.machine)
    seen = purchase.card.as_of
    old_days = age_days(seen, today) if seen is not None and purchase.card.condition in CONDITIONS else None
    if not step.fits or step.samples_per_s is None:
        problem = step.reason or "it does not fit"
        return Bought(purchase, problem, memory_bytes=step.memory_required_bytes, price_age_days=old_days)
    line = timeline(experiment, purchase.machine, step, rented=False)
    candidate = _candidate(purchase, electricity, ownership)
    hours = line.total.p50 / SECONDS_PER_HOUR
    electricity_usd = candidate.tariff.charges[0].usd(line.total.p50)
    run_usd = cents(electricity_usd) / 100 if electricity_usd is not None else 0.0
    owning = Owning(purchase.usd, run_usd, line.total.p50, ownership.resale_share, ownership.lifetime_years * 12)
    return Bought(
        purchase,
        "",
        owning,
        samples_per_s=step.samples_per_s,
        time_s=line.total,
        power_w=candidate.power_w,
        energy_kwh=None if candidate.power_w is None else candidate.power_w * hours / 1000,
        memory_bytes=step.memory_required_bytes,
        batch_size_per_gpu=step.batch_size_per_gpu,
        evidence=step.evidence,
        price_age_days=old_days,
    )


def _candidate(purchase: Purchase, electricity: ElectricityPrice, ownership: OwnershipTerms) -> Candidate:
    power_w = wall_power_w(purchase.machine, "workstation", purchase.host_power_w)
    return owned_candidate(
        purchase.name,
        "workstation",
        purchase.machine,
        Ownership(power_w, "board power plus host", purchase.usd, purchase.source, price_as_of=purchase.card.as_of),
        electricity,
        ownership,
        hypothetical=True,
    )
