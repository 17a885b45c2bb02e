"""What the time of one machine is made of, and what would change it: parts, operations, CPU beside GPU, levers."""

from collections.abc import Sequence
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Cpu, Machine, cpu_machine
from planner.plan.timeline import checkpoint_bytes
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge
from planner.throughput.input_pipeline import decode_rate_per_vcpu, vcpus_needed
from planner.throughput.kernels import ClassTime
from planner.throughput.levers import Lever, levers
from planner.throughput.sensitivity import Sensitivity, sensitivity
from planner.throughput.step import StepModel

LARGEST_CROSSOVER_BATCH = 1024
# The CPU's step is timed at this batch at the most and repeated, so that a GPU's batch need not be worked through.
_BATCH_ON_CPU = 32


class PartComparison(NamedTuple):
    """One part of the step on the machine's CPU and on its accelerators, for the same samples. Seconds."""

    part: str
    cpu_s: float
    gpu_s: float
    speedup: float | None
    why: str


class Stage(NamedTuple):
    """Work around training: its amount in ``unit``; None where unknown."""

    name: str
    value: float | None
    unit: str
    note: str


class Explanation(NamedTuple):
    """``crossover_batch`` is the least batch at which the accelerator overtakes the CPU, None where it never does."""

    step: StepEstimate
    by_operation: tuple[ClassTime, ...]
    cpu_vs_gpu: tuple[PartComparison, ...]
    crossover_batch: int | None
    sensitivity: tuple[Sensitivity, ...]
    levers: tuple[Lever, ...]
    stages: tuple[Stage, ...]


def explain(
    experiment: Experiment, machine: Machine, fallback_cpu: Machine, knowledge: Knowledge | None = None
) -> Explanation:
    """Take the step on ``machine`` apart. ``fallback_cpu`` stands beside it where its own CPU is not known."""
    model = StepModel(experiment, knowledge)
    step = model.estimate(machine)
    if step.parts is None:
        return Explanation(step, (), (), None, (), tuple(levers(experiment, machine, knowledge)), ())
    beside = _cpu_beside(machine, fallback_cpu)
    return Explanation(
        step=step,
        by_operation=_of_the_step(model.operation_times(machine), step),
        cpu_vs_gpu=_compared(experiment, machine, beside, step) if beside is not None else (),
        crossover_batch=_crossover(experiment, machine, beside) if beside is not None else None,
        sensitivity=tuple(sensitivity(experiment, machine, knowledge)),
        levers=tuple(levers(experiment, machine, knowledge)),
        stages=_stages(experiment, machine),
    )


def _of_the_step(classes: Sequence[ClassTime], step: StepEstimate) -> tuple[ClassTime, ...]:
    """A micro step's classes as the whole step has them: evidence and recomputation shared out by time, so that they
    add up to forward and backward."""
    alone_s = sum(entry.seconds for entry in classes)
    if step.parts is None or alone_s == 0:
        return tuple(classes)
    factor, passes = (step.parts.forward_s + step.parts.backward_s) / alone_s, step.grad_accum_steps
    return tuple(
        entry._replace(flops=entry.flops * passes, bytes=entry.bytes * passes, seconds=entry.seconds * factor)
        for entry in classes
    )


def _cpu_beside(machine: Machine, fallback: Machine) -> Machine | None:
    """The CPU to compare with: the machine's own, else the one given; None where the machine trains on its CPU."""
    if machine.num_gpus == 0:
        return None
    cpu: Cpu | None = machine.cpu
    if cpu is not None and machine.vcpus:
        return cpu_machine(cpu, machine.vcpus, machine.ram_bytes, whole_socket=True)
    if fallback.cpu is not None and fallback.vcpus:
        return cpu_machine(fallback.cpu, fallback.vcpus, fallback.ram_bytes)
    return None


def _compared(
    experiment: Experiment, machine: Machine, beside: Machine, step: StepEstimate
) -> tuple[PartComparison, ...]:
    """Each part for the samples of one global batch. The operations are the same on both sides; how they run is not."""
    samples = step.global_batch_size
    fixed = experiment._replace(
        batch_size_per_gpu=min(samples, _BATCH_ON_CPU), global_batch_size=None, grad_accum_steps=None
    )
    on_cpu = StepModel(fixed, enforce_memory=False).estimate(beside)
    if on_cpu.parts is None or step.parts is None:
        return ()
    repeat = samples / on_cpu.global_batch_size
    cpu, gpu = on_cpu.parts, step.parts
    rows = [
        ("forward", cpu.forward_s * repeat, gpu.forward_s, _why(machine, beside)),
        ("backward", cpu.backward_s * repeat, gpu.backward_s, _why(machine, beside)),
        (
            "optimizer",
            cpu.optimizer_s,
            gpu.optimizer_s,
            "reads and writes the parameters once: memory bandwidth decides",
        ),
        ("host", cpu.host_s * repeat, gpu.host_s, "launching operations stays on the CPU in both cases"),
        ("input", cpu.input_s, gpu.input_s, "samples are read and decoded by the CPU in both cases"),
        ("communication", cpu.communication_s, gpu.communication_s, "gradients move only between several devices"),
    ]
    total = (cpu.total_s - cpu.optimizer_s - cpu.input_s) * repeat + cpu.optimizer_s + cpu.input_s
    rows.append(("total", total, gpu.total_s, f"{samples:,} samples, one step of the whole machine"))
    return tuple(PartComparison(part, c, g, c / g if c > 0 and g > 0 else None, why) for part, c, g, why in rows)


def _why(machine: Machine, beside: Machine) -> str:
    fast, slow = machine.accelerator, beside.accelerator
    why = "independent samples and channels run side by side"
    if fast.fp32_flops_per_s and slow.fp32_flops_per_s:
        why += f"; {machine.devices * fast.fp32_flops_per_s / slow.fp32_flops_per_s:.0f}x the fp32 arithmetic"
    if fast.bandwidth_bytes_per_s and slow.bandwidth_bytes_per_s:
        why += f", {machine.devices * fast.bandwidth_bytes_per_s / slow.bandwidth_bytes_per_s:.0f}x the bandwidth"
    return why


def _crossover(experiment: Experiment, machine: Machine, beside: Machine) -> int | None:
    """The least batch on one device at which its step is shorter than the CPU's, searched by doubling then halving."""
    one = machine._replace(num_gpus=min(machine.num_gpus, 1), num_nodes=1, link=None)

    def gpu_wins(batch: int) -> bool:
        fixed = experiment._replace(batch_size_per_gpu=batch, global_batch_size=None, grad_accum_steps=None)
        model = StepModel(fixed, enforce_memory=False)
        gpu, cpu = model.estimate(one).step_time_s, model.estimate(beside).step_time_s
        return gpu is not None and cpu is not None and gpu.p50 < cpu.p50

    high = 1
    while not gpu_wins(high):
        high *= 2
        if high > LARGEST_CROSSOVER_BATCH:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gpu_wins(middle) else (middle, high)
    return high


def _stages(experiment: Experiment, machine: Machine) -> tuple[Stage, ...]:
    """What training needs around it: preparing samples, checkpoints, and the rate of forward passes alone."""
    model = StepModel(experiment)
    per_vcpu = decode_rate_per_vcpu(experiment, model.calibration)
    hours = None if per_vcpu is None else experiment.samples_per_epoch / per_vcpu / 3600
    unfed = StepModel(experiment._replace(dataset=None)).estimate(machine).samples_per_s
    needed = None if unfed is None else vcpus_needed(experiment, unfed.p50, model.calibration)
    forward = StepModel(experiment, scope="forward").estimate(machine).samples_per_s
    have = "unknown" if machine.vcpus is None else f"{machine.vcpus * machine.num_nodes:g}"
    return (
        Stage("preparing the samples of an epoch", hours, "CPU hours", "decoding and augmenting on one vCPU"),
        Stage("vCPUs that keep up", needed, "vCPUs", f"the machine has {have}"),
        Stage("checkpoint", checkpoint_bytes(experiment) / 1e9, "GB", "master weights and optimizer state"),
        Stage("forward passes alone", forward.p50 if forward else None, "samples/s", "for validation or serving"),
    )
