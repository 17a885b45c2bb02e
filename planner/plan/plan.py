"""The answer: ranked estimates, what could not be ranked and why, and what was assumed."""

from datetime import datetime
from typing import Literal, NamedTuple

from planner.experiment.experiment import Experiment
from planner.throughput.estimate import StepParts
from planner.units import Interval

Place = Literal["laptop", "workstation", "cluster", "cloud"]
PLACES: tuple[Place, ...] = ("laptop", "workstation", "cluster", "cloud")


class CostPart(NamedTuple):
    """A line of the bill, rounded to the cent; ``usd`` None is a part nobody knows the price of."""

    name: str
    usd: float | None
    source: str


class TimePart(NamedTuple):
    name: str
    seconds: float


class Estimate(NamedTuple):
    """One row of the plan: an experiment on a machine under one way to pay for it. None is unknown.

    ``time_parts`` add up to ``time_s.p50`` and the known ``cost_parts`` to ``cost_usd.p50``.
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


class Recommendation(NamedTuple):
    """The recommended row with its rank, the sentence that says what to do, and why rows before it are passed over."""

    rank: int
    sentence: str
    passed_over: str
    estimate: Estimate


class Plan(NamedTuple):
    """Estimates in rank order (as many as asked for), then the rows without a rank, each with its ``reason``."""

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
