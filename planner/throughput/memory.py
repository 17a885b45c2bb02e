"""Memory of one device: live set of the step, weights, optimizer state and context; the largest batch that fits.

``required = k (a + b B) + weights + optimizer state + context`` (docs/model.md), where a + b B is the peak of live
bytes of the traced step: activations saved for backward, temporaries, gradients, 2-byte weight copies. Gradients grow
while activations are freed, so the peak has as many of them as the trace saw there, and all of them when backward ends;
they are all there from the start where they stay between micro steps or in the buckets of several devices. ZeRO stages
divide their part by the devices (Rajbhandari et al., 2020); checkpointing keeps a share of the saved activations
(Chen et al., 2016); LoRA keeps frozen weights in 2 bytes, QLoRA in 4 bits, and both have gradients and state for their
adapters only; what only gradients of frozen weights need is not there, what comes between an adapter's two products is.
A GPU of a split model has its share of all that belongs to parameters; tensor parallelism with sequence parallelism
divides activations too (Korthikanti et al., 2022), a pipeline does not: its first stage holds those of as many micro
batches as there are stages. Offload leaves 2-byte weights on the device, or two gathered blocks of them.
torch.compile fuses the loss: of a vocabulary's width it stores the logits and their gradient only, in their own type
(tools/check_compiled_memory.py); what else it fuses is not counted.
"""

from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.adapters import frozen, unpacked_bytes, with_low_rank
from planner.throughput.calibration import Calibration
from planner.throughput.offload import GRADIENT_BUFFER_BYTES
from planner.throughput.optimizer import trainable_parameters, update_rule, weight_bytes
from planner.throughput.precision import DevicePrecision
from planner.throughput.vocabulary import log_probability_bytes
from planner.workloads.workload import Memory

# A transformer block has about a dozen parameter tensors; ZeRO-3 holds two gathered blocks at a time.
_TENSORS_PER_BLOCK = 12.0
_GATHERED_BLOCKS = 2.0
# What checkpointing leaves of a sample at the least: the inputs of its blocks (prior).
_LEAST_LEFT_OF_SAMPLE = 0.05
_MOST_SAMPLES = 1 << 30
# Records round to four digits.
_SAME = 1.01


class MemoryModel(NamedTuple):
    """Bytes on one device: ``fixed + per_sample * B`` at the peak, and no less than ``end_bytes``, when backward ends.

    ``parts`` are those of the fixed share by name, for explanations.
    """

    fixed_bytes: float
    per_sample_bytes: float
    end_bytes: float
    parts: tuple[tuple[str, float], ...]

    def required_bytes(self, batch_size: float) -> float:
        return max(self.fixed_bytes + self.per_sample_bytes * batch_size, self.end_bytes)

    def largest_batch(self, available_bytes: float) -> int:
        """The largest batch per device that fits; 0 when not even one sample does."""
        room = available_bytes - self.fixed_bytes
        if room <= 0 or self.end_bytes > available_bytes:
            return 0
        if self.per_sample_bytes <= 0:
            return _MOST_SAMPLES
        return int(min(room / self.per_sample_bytes, _MOST_SAMPLES))


def memory_model(
    experiment: Experiment,
    precision: DevicePrecision,
    devices: int,
    calibration: Calibration,
    *,
    accumulates: bool = False,
) -> MemoryModel:
    """The memory one device needs of a model in ``devices`` data-parallel copies; gradients stay where it
    ``accumulates``."""
    constants = calibration.memory
    factor = constants["activation_factor"]
    weights, copies, gradients = _weights_and_gradients(experiment, precision, devices)
    state = _parameters(experiment)[1] * update_rule(experiment.optimizer, precision).state_bytes
    state /= devices if experiment.sharding_stage >= 1 else 1
    if experiment.offload is not None:
        weights, state = _kept_weights(experiment, precision, weights), 0.0
        gradients = min(gradients, GRADIENT_BUFFER_BYTES)
    temporaries, per_sample = _activations(experiment, precision, calibration)
    buckets = gradients if devices > 1 and experiment.sharding_stage == 0 else 0.0
    share_at_peak = 1.0 if devices > 1 or accumulates else _share_of_gradients_at_peak(experiment, precision)
    parts = (
        ("weights", weights + copies),
        ("gradients", factor * gradients * share_at_peak + buckets),
        ("optimizer state", state),
        ("temporaries", factor * temporaries),
        ("context", constants["context_bytes"]),
    )
    end = weights + factor * gradients + buckets + state + constants["context_bytes"]
    return MemoryModel(sum(size for _, size in parts), factor * per_sample, end, parts)


def required_bytes(
    experiment: Experiment, precision: DevicePrecision, batch_size: float, devices: int, calibration: Calibration
) -> float:
    """Bytes one device needs for a micro batch of ``batch_size`` samples."""
    return memory_model(experiment, precision, devices, calibration).required_bytes(batch_size)


def _parameters(experiment: Experiment) -> tuple[float, float]:
    """Parameters of one GPU's share of the model, and those of them that are trained."""
    shards = experiment.tensor_parallel * experiment.pipeline_parallel
    return experiment.workload.parameters / shards, trainable_parameters(experiment) / shards


def _kept_weights(experiment: Experiment, precision: DevicePrecision, weights: float) -> float:
    """Bytes of weights that stay on the device beside their copies: masters go, frozen ones stay, and so do the shards
    of ZeRO-3 in the arithmetic's own type."""
    if experiment.offload == "all":
        return 0.0
    if experiment.lora_rank is not None or not precision.autocast:
        return weights
    return weights * precision.wire_bytes / precision.weight_bytes if experiment.sharding_stage >= 3 else 0.0


def _weights_and_gradients(
    experiment: Experiment, precision: DevicePrecision, devices: int
) -> tuple[float, float, float]:
    """Bytes of the weights, of their 2-byte copies (or gathered blocks) and of all gradients on one device."""
    parameters, trainable = _parameters(experiment)
    copies = 2.0 * trainable if precision.autocast else 0.0  # autocast keeps those of weights with a gradient only
    masters = parameters * precision.weight_bytes
    held = weight_bytes(experiment, precision) / (experiment.tensor_parallel * experiment.pipeline_parallel)
    if experiment.lora_rank is not None:
        copies, masters = held, held + 4.0 * trainable
    gradients = trainable * precision.weight_bytes
    if experiment.sharding_stage >= 2:
        gradients /= devices
    if experiment.sharding_stage >= 3:
        blocks = max(experiment.workload.parameter_tensors / _TENSORS_PER_BLOCK / experiment.pipeline_parallel, 1.0)
        gathered = held * min(_GATHERED_BLOCKS / blocks, 1.0)
        masters, copies = masters / devices, gathered if experiment.offload == "all" else min(copies, gathered)
    elif experiment.lora_rank is not None:
        copies = 0.0
    if experiment.four_bit_weights:
        copies += unpacked_bytes(experiment.workload) / experiment.tensor_parallel
    return masters, copies, gradients


def _activations(experiment: Experiment, precision: DevicePrecision, calibration: Calibration) -> tuple[float, float]:
    """Fixed temporaries and bytes per sample of the live set, without gradients and weight copies."""
    record = _record(experiment, precision)
    temporaries = max(record.live_bytes.fixed - sum(_recorded(experiment, precision)), 0.0)
    per_sample, saved = _per_sample(experiment, precision)
    if experiment.grad_checkpointing:
        dropped = 1.0 - calibration.memory["checkpoint_saved_share"]
        per_sample = max(per_sample - dropped * saved, _LEAST_LEFT_OF_SAMPLE * per_sample)
    return temporaries, per_sample / experiment.tensor_parallel


def _per_sample(experiment: Experiment, precision: DevicePrecision) -> tuple[float, float]:
    """Bytes a sample adds to the peak, and those of them that are saved for backward.

    Where the peak is the loss's, eager PyTorch has three times the log-probabilities in fp32: themselves, saved, their
    gradient, and that of the logits. Compiled, there are the logits, saved, and their gradient instead.
    """
    record = _record(experiment, precision)
    live, saved = record.live_bytes.per_sample, record.saved_bytes.per_sample
    fp32 = log_probability_bytes(experiment.workload)
    if not experiment.compiled or live > _SAME * (saved + 2.0 * fp32):
        return live, saved
    logits = fp32 / 2.0 if precision.autocast or precision.pure else fp32
    return live - 3.0 * fp32 + 2.0 * logits, saved - fp32 + logits


def _record(experiment: Experiment, precision: DevicePrecision) -> Memory:
    """The live set of the step, where weights are frozen without what their gradients alone need."""
    two_bytes, rank = precision.autocast or precision.pure, experiment.lora_rank
    workload = experiment.workload if rank is None else frozen(experiment.workload)
    memory = workload.memory_amp if two_bytes else workload.memory_fp32
    return memory if rank is None else with_low_rank(memory, experiment.workload, rank, 2 if two_bytes else 4)


def _recorded(experiment: Experiment, precision: DevicePrecision) -> tuple[float, float]:
    """Bytes of all gradients and of 2-byte weight copies in the traced step."""
    trained = experiment.workload.trainable_parameters or experiment.workload.parameters
    return 4.0 * trained, 2.0 * trained if precision.autocast or precision.pure else 0.0


def _share_of_gradients_at_peak(experiment: Experiment, precision: DevicePrecision) -> float:
    gradients, copies = _recorded(experiment, precision)
    return min(max((_record(experiment, precision).live_bytes.fixed - copies) / gradients, 0.0), 1.0)


def available_bytes(machine: Machine, calibration: Calibration) -> float | None:
    """Bytes a training process can have on one device of ``machine``; None where unknown."""
    accelerator = machine.accelerator
    if accelerator.kind == "cpu":
        total = machine.ram_bytes or accelerator.memory_bytes
        return None if total is None else total * calibration.memory["usable_ram_share"]
    usable = accelerator.usable_memory_bytes
    if usable is None and accelerator.memory_bytes is not None:
        usable = accelerator.memory_bytes * calibration.memory["usable_share"]
    if usable is None:
        return None
    return usable * min(machine.num_gpus, 1.0) if machine.num_gpus > 0 else usable
