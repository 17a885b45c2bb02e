"""What the user could change: each lever tried on one machine, with what it does to time and to memory.

Where the experiment does not fit, the levers that make it fit come first, the cheapest in time first of all.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment, Offload
from planner.hardware.machine import Machine
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge
from planner.throughput.kernels import CONVOLUTIONS
from planner.throughput.model_parallel import blocks_of
from planner.throughput.software import lacking_software
from planner.throughput.step import StepModel

ADAPTER_RANK = 16
EIGHT_BIT_INSTEAD_OF = ("adam", "adamw", "lamb")

_LEAST_SAVING = 1e-3


class Lever(NamedTuple):
    """One change. ``time_factor`` is time per sample over the unchanged run's, None where either does not fit;
    ``memory_factor`` is memory per device over the unchanged run's."""

    name: str
    note: str
    experiment: Experiment
    estimate: StepEstimate
    time_factor: float | None
    memory_factor: float | None

    @property
    def fits(self) -> bool:
        return self.estimate.fits


def levers(experiment: Experiment, machine: Machine, knowledge: Knowledge | None = None) -> list[Lever]:
    """Every lever that makes a run faster, smaller or fit at all: those that fit first, the fastest of them first."""
    base = StepModel(experiment, knowledge).estimate(machine)
    found = []
    for name, note, changed in _changes(experiment, machine, base, knowledge):
        if lacking_software(changed, machine.accelerator):
            continue
        estimate = StepModel(changed, knowledge).estimate(machine)
        lever = Lever(name, note, changed, estimate, _time_factor(base, estimate), _memory_factor(base, estimate))
        if _helps(lever):
            found.append(lever)
    return sorted(found, key=lambda lever: (not lever.fits, -_rate(lever.estimate)))


def _changes(
    experiment: Experiment, machine: Machine, base: StepEstimate, knowledge: Knowledge | None
) -> Iterator[tuple[str, str, Experiment]]:
    """Levers that apply: (name, what to know about it, the changed experiment)."""
    yield from _memory_levers(experiment, machine, base)
    yield from _larger_batch(experiment, machine, base, knowledge)
    yield from _speed_levers(experiment)


def _memory_levers(
    experiment: Experiment, machine: Machine, base: StepEstimate
) -> Iterator[tuple[str, str, Experiment]]:
    batch = experiment.batch_size_per_gpu
    if not base.fits and batch is not None and batch > 1:
        accumulation = (experiment.grad_accum_steps or 1) * 2
        halved = experiment._replace(batch_size_per_gpu=(batch + 1) // 2, grad_accum_steps=accumulation)
        yield "half the batch", "accumulate twice as often: the same global batch", halved
    if not experiment.grad_checkpointing:
        yield "gradient checkpointing", "one more forward pass", experiment._replace(grad_checkpointing=True)
    if experiment.optimizer in EIGHT_BIT_INSTEAD_OF:
        yield "8-bit optimizer", "state in one byte a moment", experiment._replace(optimizer="adamw8bit")
    if not base.fits:
        yield from _splitting_levers(experiment, machine)
    if machine.devices > 1:
        # A pipeline keeps the gradients that stages 2 and 3 share out.
        highest = 3 if experiment.pipeline_parallel == 1 else 1
        for stage in range(experiment.zero_stage + 1, highest + 1):
            yield f"ZeRO stage {stage}", _ZERO_NOTES[stage], experiment._replace(zero_stage=stage)
    if experiment.precision not in ("bf16-pure", "fp16-pure"):
        pure = experiment._replace(precision="bf16-pure")
        yield "bf16-pure", "weights and optimizer state in 2 bytes; may cost accuracy", pure
    if experiment.lora_rank is None and experiment.workload.seq_length is not None:
        adapted = experiment._replace(lora_rank=ADAPTER_RANK)
        yield f"LoRA rank {ADAPTER_RANK}", "trains adapters, not the model", adapted
    if experiment.lora_rank is not None and not experiment.four_bit_weights:
        yield "4-bit weights", "QLoRA: frozen weights in 4 bits", experiment._replace(four_bit_weights=True)


def _splitting_levers(experiment: Experiment, machine: Machine) -> Iterator[tuple[str, str, Experiment]]:
    """What keeps state off the GPU, or splits the model over several."""
    offloads: tuple[Offload, ...] = ("optimizer", "all") if experiment.offload is None else ("all",)
    for offload in offloads:
        if experiment.offload != "all" and experiment.pipeline_parallel == 1:
            yield _OFFLOAD_NAMES[offload], _OFFLOAD_NOTES[offload], experiment._replace(offload=offload)
    if machine.devices == 1 or blocks_of(experiment.workload) is None:
        return
    for field in _SPLIT_NOTES:
        if field == "pipeline_parallel" and experiment.sharding_stage > 1:
            continue  # a pipeline keeps the gradients that those stages share out
        changed = _least_split(experiment, machine, field)
        if changed is not None:
            ways = getattr(changed, field)
            yield f"{_SPLIT_NAMES[field]} {ways}", _SPLIT_NOTES[field], changed


def _least_split(experiment: Experiment, machine: Machine, field: str) -> Experiment | None:
    """The split over the fewest GPUs with which the experiment fits ``machine``; None where none does."""
    ways = 2 * getattr(experiment, field)
    while ways <= machine.devices:
        changed = experiment._replace(**{field: ways})
        try:
            if StepModel(changed).estimate(machine).fits:
                return changed
        except InputError:  # more ways than heads or layers
            return None
        ways *= 2
    return None


_OFFLOAD_NAMES = {"optimizer": "offload state", "all": "offload all"}
_OFFLOAD_NOTES = {
    "optimizer": "state and master weights in host memory; the CPU updates",
    "all": "weights in host memory as well, fetched in every pass",
}
_SPLIT_NAMES = {"tensor_parallel": "tensor", "pipeline_parallel": "pipeline"}
_SPLIT_NOTES = {
    "tensor_parallel": "layers split over GPUs of a machine, which sum activations in each",
    "pipeline_parallel": "the layers in stages, which wait for each other",
}
_ZERO_NOTES = {
    1: "optimizer state shared out",
    2: "gradients shared out as well",
    3: "weights shared out as well: more communication",
}


def _larger_batch(
    experiment: Experiment, machine: Machine, base: StepEstimate, knowledge: Knowledge | None
) -> Iterator[tuple[str, str, Experiment]]:
    """The batch per GPU, of those two or three times a power of two as large, that trains the most samples a second.

    A step has at most the samples that the model is known to learn from. None where the global batch was asked for:
    it then decides, and what fits of it is taken.
    """
    if not base.fits or experiment.global_batch_size is not None:
        return
    best, best_step, factor = experiment, base, 2.0
    useful = experiment.workload.max_global_batch_size
    while factor * base.global_batch_size <= useful:
        changed = experiment._replace(batch_size_per_gpu=round(base.batch_size_per_gpu * factor))
        step = StepModel(changed, knowledge).estimate(machine)
        if not step.fits or step.global_batch_size > useful:
            break
        if _rate(step) > _rate(best_step):
            best, best_step = changed, step
        factor *= 1.5 if math.log2(factor).is_integer() else 4 / 3
    if best_step is not base:
        note = f"{best_step.global_batch_size:,} samples a step instead of {base.global_batch_size:,}"
        yield f"batch {best.batch_size_per_gpu}", note, best


def _speed_levers(experiment: Experiment) -> Iterator[tuple[str, str, Experiment]]:
    if experiment.precision in ("fp32", "tf32", "fp32-strict"):
        yield "amp", "autocast with fp32 master weights", experiment._replace(precision="amp")
    if experiment.tuned:
        return
    convolutional = any(operation.op_class in CONVOLUTIONS for operation in experiment.workload.operations)
    if convolutional and not experiment.channels_last:
        yield "channels_last", "one line of code", experiment._replace(channels_last=True)
    if not experiment.compiled:
        yield "torch.compile", "fuses elementwise work; minutes to compile", experiment._replace(compiled=True)
    yield "tuned", "what the vendor's scripts reach", experiment._replace(tuned=True, compiled=False)


def _rate(estimate: StepEstimate) -> float:
    return 0.0 if estimate.samples_per_s is None else estimate.samples_per_s.p50


def _time_factor(base: StepEstimate, changed: StepEstimate) -> float | None:
    before, after = _rate(base), _rate(changed)
    return before / after if before and after else None


def _memory_factor(base: StepEstimate, changed: StepEstimate) -> float | None:
    before, after = base.memory_required_bytes, changed.memory_required_bytes
    return after / before if before and after else None


def _helps(lever: Lever) -> bool:
    """False for what saves neither time nor memory (channels_last on a tuned run, tuned on a compiled one)."""
    if lever.fits and lever.time_factor is None:
        return True
    factors = (lever.time_factor, lever.memory_factor)
    return any(factor is not None and factor < 1 - _LEAST_SAVING for factor in factors)
