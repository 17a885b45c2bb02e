"""The input pipeline: samples a second that a machine reads, decodes and sends, and the vCPUs that would be enough."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration
from planner.throughput.device import HostSpeed


class InputRate(NamedTuple):
    """Samples/s of the whole job the loaders can deliver; None where unknown, infinity where nothing is decoded.

    ``overlapped`` is False when the training process itself loads (0 workers): every step then waits for its input.
    """

    samples_per_s: float | None
    overlapped: bool = True
    flags: tuple[str, ...] = ()


# Classes of samples that cost the CPU next to nothing: tensors, and text that is tokenised once.
FREE_CLASSES = ("none", "text")


# Images go to the device as batches of fp32 pixels in three colours, tokens as 8-byte numbers (PyTorch's defaults).
_PIXEL_BYTES, _TOKEN_BYTES = 12.0, 8.0


def input_rate(
    experiment: Experiment, machine: Machine, calibration: Calibration, host: HostSpeed | None = None
) -> InputRate:
    """The slowest of reading, decoding and sending; the first and the last are known where ``host`` was measured."""
    decoded = _decoding_rate(experiment, machine, calibration)
    slowest = min(_reading_rate(experiment, machine, calibration, host), _sending_rate(experiment, machine, host))
    if decoded.samples_per_s is None:  # what is measured bounds the rate from above
        return decoded._replace(samples_per_s=slowest) if math.isfinite(slowest) else decoded
    return decoded if decoded.samples_per_s <= slowest else decoded._replace(samples_per_s=slowest)


def _reading_rate(experiment: Experiment, machine: Machine, calibration: Calibration, host: HostSpeed | None) -> float:
    """Samples/s off the disk; without limit where the data set stays in memory after the first epoch, or unknown."""
    data = experiment.dataset
    if host is None or host.disk_bytes_per_s is None or data is None or data.bytes is None or machine.ram_bytes is None:
        return math.inf
    if data.bytes <= calibration.memory["usable_ram_share"] * machine.ram_bytes:
        return math.inf
    sample_bytes = data.bytes / data.samples_for(experiment.workload.seq_length)
    return host.disk_bytes_per_s / sample_bytes * machine.num_nodes


def _sending_rate(experiment: Experiment, machine: Machine, host: HostSpeed | None) -> float:
    """Samples/s that reach the GPUs, each over a link of its own."""
    if host is None or host.from_host_bytes_per_s is None or experiment.dataset is None:
        return math.inf
    workload = experiment.workload
    if workload.image_size is not None:
        sample_bytes = _PIXEL_BYTES * workload.image_size**2
    elif workload.seq_length is not None:
        sample_bytes = _TOKEN_BYTES * workload.seq_length
    else:
        return math.inf
    return host.from_host_bytes_per_s / sample_bytes * machine.devices


def _decoding_rate(experiment: Experiment, machine: Machine, calibration: Calibration) -> InputRate:
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


def with_decode_rate(table: Mapping[str, Any], images_per_s: float) -> dict[str, Any]:
    """The calibration's input table with a measured rate of decoding images, which no script tunes further."""
    levels = table["samples_per_s_per_vcpu"]
    return {
        **table,
        "samples_per_s_per_vcpu": {level: {**rates, "jpeg": images_per_s} for level, rates in levels.items()},
    }


def vcpus_needed(experiment: Experiment, samples_per_s: float, calibration: Calibration) -> int | None:
    """vCPUs that would deliver ``samples_per_s``; None where no decoding limits or its rate is unknown."""
    if not needs_decoding(experiment):
        return None
    per_vcpu = decode_rate_per_vcpu(experiment, calibration)
    return None if per_vcpu is None else math.ceil(samples_per_s / per_vcpu)
