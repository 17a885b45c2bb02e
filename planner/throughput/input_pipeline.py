"""The input pipeline: how many samples per second a machine's CPUs can decode, and the vCPUs that would be enough."""

import math
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration


class InputRate(NamedTuple):
    """Samples/s of the whole job the loaders can deliver; None where unknown, infinity where nothing is decoded.

    ``overlapped`` is False when the training process itself loads (0 workers): every step then waits for its input.
    """

    samples_per_s: float | None
    overlapped: bool = True
    flags: tuple[str, ...] = ()


# Classes of samples that cost the CPU next to nothing: tensors, and text that is tokenised once.
FREE_CLASSES = ("none", "text")


def input_rate(experiment: Experiment, machine: Machine, calibration: Calibration) -> InputRate:
    """Decoding is spread over workers (per device) on at most the machine's vCPUs; every node decodes its own share."""
    if not needs_decoding(experiment):
        return InputRate(math.inf)
    per_vcpu = decode_rate_per_vcpu(experiment, calibration)
    processes = machine.vcpus
    if experiment.workers is not None:
        loading = float(max(experiment.workers, 1) * max(1, int(machine.num_gpus)))
        processes = loading if processes is None else min(processes, loading)
    if per_vcpu is None or processes is None:
        return InputRate(None, flags=("input_unknown",))
    # Workers alone bound the rate from above where nobody knows what they run on.
    flags = ("input_unknown",) if machine.vcpus is None else ()
    return InputRate(per_vcpu * processes * machine.num_nodes, overlapped=experiment.workers != 0, flags=flags)


def needs_decoding(experiment: Experiment) -> bool:
    """Whether samples cost CPU time to prepare; without a data set the input is taken as ready."""
    return experiment.dataset is not None and experiment.dataset.decode not in FREE_CLASSES


def decode_rate_per_vcpu(experiment: Experiment, calibration: Calibration) -> float | None:
    """Samples/s one vCPU prepares of the experiment's data set; None where nobody measured this class of samples."""
    if experiment.dataset is None:
        return None
    level = "tuned" if experiment.tuned else "ordinary"
    rate = calibration.input["samples_per_s_per_vcpu"][level].get(experiment.dataset.decode)
    return None if rate is None else float(rate)


def vcpus_needed(experiment: Experiment, samples_per_s: float, calibration: Calibration) -> int | None:
    """vCPUs that would deliver ``samples_per_s``; None where no decoding limits or its rate is unknown."""
    if not needs_decoding(experiment):
        return None
    per_vcpu = decode_rate_per_vcpu(experiment, calibration)
    return None if per_vcpu is None else math.ceil(samples_per_s / per_vcpu)
