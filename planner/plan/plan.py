"""The answer: ranked estimates, what could not be ranked and why, and what was assumed."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from planner.experiment.experiment import Experiment
from planner.throughput.estimate import StepParts
from planner.units import Interval

Place = Literal["laptop", "workstation", "cluster", "cloud"]
PLACES: tuple[Place, ...] = ("laptop", "workstation", "cluster", "cloud")


COST_BOUNDED = "cost_bounded"
"""Flag of a cost of which a part is not known, and taken at the dearest rate known of anybody."""


class CostUse(NamedTuple):
    """What part of a line was spent on something."""

    name: str
    usd: float


class CostPart(NamedTuple):
    """A line of the bill, rounded to the cent; ``usd`` None is a part nobody knows the price of.

    ``at_most``: nobody knows its price, and it is taken at the dearest rate known of anybody.
    ``as_of`` is the day of its price (None: an assumption, or no price). ``parts`` say what the line was spent on and
    add up to it, cent by cent.
    """

    name: str
    usd: float | None
    source: str
    as_of: str | None = None
    parts: tuple[CostUse, ...] = ()
    at_most: bool = False


class TimePart(NamedTuple):
    """A part of a run's P50: provisioning, data, training, evaluation ..."""

    name: str
    seconds: float


class SpotTerms(NamedTuple):
    """Interruptions of one run. ``interruptions`` is how many are expected; seconds are of the likely rate.

    ``never_interrupted`` is the probability that none comes; ``break_even_per_hour`` the rate from which on demand is
    the cheaper, None where the machine's price on demand is not known.
    """

    per_hour: Interval
    checkpoint_interval_s: float
    checkpoint_s: float
    restart_s: float
    interruptions: float
    never_interrupted: float
    added_s: float
    added_p90_s: float
    break_even_per_hour: float | None


class Estimate(NamedTuple):
    """One row of the plan: an experiment on a machine under one way to pay for it. None is unknown.

    ``time_parts`` add up to ``time_s.p50`` and the known ``cost_parts`` to ``cost_usd.p50``. ``row`` is the machine's
    number where each has one row, on its best offer; None on its other offers. ``to_buy_usd`` is the price of a machine
    that must be bought first.
    """

    rank: int | None
    place: Place
    is_this_machine: bool
    hypothetical: bool
    name: str
    provider: str | None
    instance_type: str | None
    region: str | None
    zone: str | None
    purchase: str
    accelerator: str
    accelerator_name: str
    num_gpus: float
    num_nodes: int
    stack: str
    precision: str | None
    fits: bool
    memory_required_bytes: float | None
    memory_available_bytes: float | None
    batch_size_per_gpu: int | None
    grad_accum_steps: int | None
    global_batch_size: int | None
    step_time_s: Interval | None
    samples_per_s: Interval | None
    time_s: Interval | None
    finish_at: datetime | None
    cost_usd: Interval | None
    usd_per_hour: float | None
    cost_parts: tuple[CostPart, ...]
    time_parts: tuple[TimePart, ...]
    p_meets: float | None
    on_front: bool
    mfu: float | None
    bound_by: str | None
    evidence: str | None
    flags: tuple[str, ...]
    price_as_of: str | None
    price_source: str | None
    energy_kwh: float | None
    co2_kg: float | None
    reason: str = ""
    step_parts: StepParts | None = None
    spot: SpotTerms | None = None
    hints: tuple[str, ...] = ()
    row: int | None = None
    to_buy_usd: float | None = None

    @property
    def at_most(self) -> bool:
        """Whether the cost is only a bound: a part of it is taken at the dearest rate known of anybody."""
        return COST_BOUNDED in self.flags


class Recommendation(NamedTuple):
    """The recommended row with its rank, the sentence that says what to do, and why rows before it are passed over."""

    rank: int
    sentence: str
    passed_over: str
    estimate: Estimate


class Plan(NamedTuple):
    """Estimates in rank order (as many as asked for), then the rows without a rank, each with its ``reason``.

    ``tier`` says which arrangement the experiment needs and why; ``nearest``, where nothing meets the limits, what
    would. ``refits`` (each a ``planner.plan.refit.Refit``, whose rows stand above this module) are the changes of the
    experiment among those: what lets it run where it is too large.
    """

    experiment: Experiment
    generated_at: datetime
    prices_as_of: str | None
    estimates: tuple[Estimate, ...]
    unranked: tuple[Estimate, ...]
    ranked_count: int
    unranked_count: int
    recommendation: Recommendation | None
    no_recommendation: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    tier: str = ""
    nearest: tuple[str, ...] = ()
    refits: tuple[Any, ...] = ()
