"""The flags that make an experiment fit a machine that is too small for it, and that write a change of it out."""

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.levers import levers

MOST_LEVERS = 3


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
