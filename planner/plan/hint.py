"""What would make an experiment fit where it does not: the levers, tried on the roomiest machine that is too small."""

from collections.abc import Sequence

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.plan.candidates import Candidate
from planner.plan.search import ORDINARY_STACKS, Refusal
from planner.throughput.levers import levers

MOST_LEVERS = 3


def fit_hint(experiment: Experiment, refusals: Sequence[Refusal], ranked_count: int) -> str | None:
    """A sentence when most of the offers do not fit and a lever would change that; else None."""
    too_small = [refusal.candidate for refusal in refusals if refusal.step is not None and not refusal.step.fits]
    ordinary = [candidate for candidate in too_small if candidate.machine.accelerator.stack in ORDINARY_STACKS]
    if len(too_small) <= ranked_count or not ordinary:
        return None
    roomiest = max(ordinary, key=_memory_bytes)
    helping = fitting_flags(experiment, roomiest.machine)
    if not helping:
        return None
    return f"most machines are too small for this; {roomiest.name} would do with {' or '.join(helping)}"


def fitting_flags(experiment: Experiment, machine: Machine) -> list[str]:
    """The flags of single levers with which the experiment fits, at most ``MOST_LEVERS``, the best first."""
    fitting = [lever.experiment for lever in levers(experiment, machine) if lever.fits]
    # What trains the same weights comes before what changes the result; among equals the faster first.
    fitting.sort(key=lambda changed: not _same_result(experiment, changed))
    return [flags_of(experiment, changed) for changed in fitting[:MOST_LEVERS]]


def _same_result(before: Experiment, after: Experiment) -> bool:
    kept = ("precision", "optimizer", "lora_rank", "four_bit_weights")
    return all(getattr(before, field) == getattr(after, field) for field in kept)


def flags_of(before: Experiment, after: Experiment) -> str:
    """The command line's flags that turn one experiment into the other: '--zero 2'."""
    changed = [(field, getattr(after, field)) for field in _FLAGS if getattr(before, field) != getattr(after, field)]
    return " ".join(_FLAGS[field] if value is True else f"{_FLAGS[field]} {value}" for field, value in changed)


_FLAGS = {
    "batch_size_per_gpu": "--batch-size",
    "grad_accum_steps": "--grad-accum-steps",
    "precision": "--precision",
    "optimizer": "--optimizer",
    "grad_checkpointing": "--grad-ckpt",
    "zero_stage": "--zero",
    "lora_rank": "--lora-rank",
    "four_bit_weights": "--load-in-4bit",
    "offload": "--offload",
    "tensor_parallel": "--tensor-parallel",
    "pipeline_parallel": "--pipeline-parallel",
    "channels_last": "--channels-last",
    "compiled": "--compile",
    "tuned": "--tuned",
}


def _memory_bytes(candidate: Candidate) -> float:
    """Memory of all devices; a GPU before a CPU of the same size."""
    machine = candidate.machine
    return (machine.accelerator.memory_bytes or 0.0) * machine.num_gpus * machine.num_nodes
