"""Libraries that an experiment needs and some machines cannot run."""

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator

_WITHOUT_BITSANDBYTES = frozenset({"mps", "xla", "neuron"})
"""Stacks that the released bitsandbytes has no backend for: CUDA, ROCm and Intel's have one (its README, "System
Requirements"; for Apple's GPUs there are only other people's packages)."""


def lacking_software(experiment: Experiment, device: Accelerator) -> str:
    """Why the experiment does not run on the device's software; "" where nothing is known against it."""
    if device.stack not in _WITHOUT_BITSANDBYTES:
        return ""
    flags = [
        flag
        for flag, needs in (
            ("--optimizer adamw8bit", experiment.optimizer == "adamw8bit"),
            ("--load-in-4bit", experiment.four_bit_weights),
        )
        if needs
    ]
    if not flags:
        return ""
    need = "needs" if len(flags) == 1 else "need"
    return f"{' and '.join(flags)} {need} bitsandbytes, which has no backend for {device.stack}"
