"""What the physics says of one experiment on one machine."""

from typing import Literal, NamedTuple

from planner.units import Interval

BoundBy = Literal["compute", "memory", "communication", "input", "host"]
Scope = Literal["step", "no_update", "forward"]
Evidence = Literal["measured_here", "measured_same_gpu", "measured_other_gpu", "same_architecture", "specs_only"]


class StepParts(NamedTuple):
    """Seconds of the P50 step by part; they add up to it. ``input_s`` and ``host_s`` are what they add."""

    forward_s: float
    backward_s: float
    optimizer_s: float
    communication_s: float
    input_s: float
    host_s: float

    @property
    def total_s(self) -> float:
        return self.forward_s + self.backward_s + self.optimizer_s + self.communication_s + self.input_s + self.host_s


class StepEstimate(NamedTuple):
    """One optimizer step (all accumulation steps, all devices). ``samples_per_s`` and ``mfu`` are the whole job's.

    When ``fits`` is False the time fields are None and ``reason`` says what is missing. Memory is None where unknown.
    ``notes`` are sentences to show (a precision that was substituted ...); ``flags`` are words for machines.
    """

    precision: str
    batch_size_per_gpu: int
    grad_accum_steps: int
    global_batch_size: int
    fits: bool
    memory_required_bytes: float | None
    memory_available_bytes: float | None
    step_time_s: Interval | None
    samples_per_s: Interval | None
    parts: StepParts | None
    bound_by: BoundBy | None
    mfu: float | None
    evidence: Evidence
    flags: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
