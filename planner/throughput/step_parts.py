"""What the times of a step come to: the parts of its P50, what binds it, its flags, and why there is no estimate."""

from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.throughput.batch import BatchPlan
from planner.throughput.collectives import Communication
from planner.throughput.estimate import BoundBy, StepEstimate, StepParts
from planner.throughput.input_pipeline import InputRate
from planner.throughput.precision import DevicePrecision
from planner.units import Interval

# Exposed communication names the step once it costs this share of it.
_COMMUNICATION_BINDS = 0.3
# Allocator fragments and what else uses the device decide whether the last of its memory is there.
_TIGHT_MEMORY = 0.95
# From this share of the step on, what the host adds makes the estimate depend on a host that nobody measured.
_HOST_SHOWS = 0.2
# What takes more than half of the device's time names the step.
_ARITHMETIC_BINDS = 0.5


class DeviceTime(NamedTuple):
    """Seconds of one optimizer step on one device before communication and input; ``host_s`` is what the host adds."""

    forward_s: float
    backward_s: float
    optimizer_s: float
    host_s: float
    arithmetic_s: float

    @property
    def total_s(self) -> float:
        return self.forward_s + self.backward_s + self.optimizer_s + self.host_s


def parts_of(time: DeviceTime, link: Communication, loading: InputRate, plan: BatchPlan, factor: float) -> StepParts:
    """The parts of the P50; ``factor`` is what evidence corrects of device and communication time.

    The wait for input is what loading takes beyond all else, since the next batch is loaded meanwhile; all of it where
    the training process itself loads.
    """
    busy_s = (time.total_s + link.exposed_s) * factor
    input_s = 0.0
    if loading.samples_per_s is not None:
        loading_s = plan.global_batch_size / loading.samples_per_s
        input_s = loading_s if not loading.overlapped else max(loading_s - busy_s, 0.0)
    return StepParts(
        forward_s=time.forward_s * factor,
        backward_s=time.backward_s * factor,
        optimizer_s=time.optimizer_s * factor,
        communication_s=link.exposed_s * factor,
        input_s=input_s,
        host_s=time.host_s * factor,
    )


def bound_by(parts: StepParts, time: DeviceTime, loading: InputRate, *, offloaded: bool = False) -> BoundBy:
    """What a faster one of would shorten the step most; an ``offloaded`` update is the host's."""
    device_s = parts.forward_s + parts.backward_s + parts.optimizer_s
    # A loader beside the devices sets the pace once it is waited for at all: faster devices would only wait longer.
    others_s = 0.0 if loading.overlapped else max(device_s, parts.communication_s, parts.host_s)
    if parts.input_s > others_s:
        return "input"
    if offloaded and parts.optimizer_s > max(parts.forward_s + parts.backward_s, parts.communication_s):
        return "host"
    if parts.communication_s > _COMMUNICATION_BINDS * parts.total_s:
        return "communication"
    if parts.host_s > device_s:
        return "host"
    device_before = time.forward_s + time.backward_s + time.optimizer_s
    return "compute" if time.arithmetic_s > _ARITHMETIC_BINDS * device_before else "memory"


def input_notes(parts: StepParts, loading: InputRate) -> tuple[str, ...]:
    """How long loading takes where it is waited for: the wait alone looks short beside what computing hides of it."""
    if parts.input_s == 0.0:
        return ()
    if not loading.overlapped:
        return ("no workers load the next batch meanwhile: each step waits for all of its loading",)
    return (
        f"loading sets the pace, {parts.total_s * 1000:,.1f} ms a step: "
        f"computing hides all but {parts.input_s * 1000:,.1f} ms of it",
    )


def flags_of(
    machine: Machine,
    precision: DevicePrecision,
    time: DeviceTime,
    plan: BatchPlan,
    link: Communication,
    loading: InputRate,
    required: float,
    available: float | None,
) -> tuple[str, ...]:
    """What to know of the estimate, as words for machines; ``required`` and ``available`` are bytes of one device."""
    flags = [*plan.flags, *link.flags, *loading.flags]
    if time.host_s > _HOST_SHOWS * time.total_s:
        flags.append("host_bound")
    if machine.accelerator.kind != "cpu" and machine.accelerator.vendor.casefold() != "nvidia":
        flags.append("vendor_unmeasured")
    if machine.accelerator.kind == "cpu":
        flags.append("cpu_unmeasured")
    if precision.note:
        flags.append("precision_substituted")
    if available is None:
        flags.append("memory_unknown")
    elif _TIGHT_MEMORY * available < required <= available:
        flags.append("memory_tight")
    return tuple(flags)


def not_above_peak(step_time: Interval, arithmetic_s: float) -> Interval:
    """No step is shorter than its arithmetic at the device's peak, whatever was measured."""
    if step_time.p10 >= arithmetic_s:
        return step_time
    return Interval(*(max(quantile, arithmetic_s) for quantile in step_time))


def refused_for_memory(
    precision: DevicePrecision, plan: BatchPlan, required: float, available: float | None
) -> StepEstimate:
    """A plan that needs more bytes of a device than are there, or contradicts itself: ``plan.problem`` says which."""
    return StepEstimate(
        precision=precision.name,
        batch_size_per_gpu=plan.batch_size_per_gpu,
        grad_accum_steps=plan.grad_accum_steps,
        global_batch_size=plan.global_batch_size,
        fits=False,
        memory_required_bytes=required,
        memory_available_bytes=available,
        step_time_s=None,
        samples_per_s=None,
        parts=None,
        bound_by=None,
        mfu=None,
        evidence="specs_only",
        flags=plan.flags,
        reason=plan.problem,
    )


def cannot_estimate(precision: str, reason: str) -> StepEstimate:
    """A device whose specifications are too incomplete to estimate."""
    return StepEstimate(precision, 0, 0, 0, False, None, None, None, None, None, None, None, "specs_only", (), reason)
