"""What one optimizer update costs: bytes of state to keep, bytes to move, kernels to launch.

Counts follow from the update rules (weights w, gradient g, moments m and v, each read and written once per step).
"""

from typing import NamedTuple

from planner.experiment.experiment import Experiment, Optimizer
from planner.throughput.adapters import (
    FOUR_BIT_WEIGHT_BYTES,
    adapter_parameters,
    adapter_tensors,
    four_bit_weights,
)
from planner.throughput.device import DeviceRates
from planner.throughput.precision import DevicePrecision


class UpdateRule(NamedTuple):
    """Per trainable parameter with 4-byte weights: state to keep, traffic of an update. Kernels are per tensor: fused
    over many tensors (foreach, PyTorch's default since 2.0), or in a loop over tensors as older releases ran it."""

    state_bytes: float
    traffic_bytes: float
    kernels_per_tensor: float
    loop_kernels_per_tensor: float


# w, g, m read; w, m written: 20 bytes with momentum. Adam adds v: 28. LAMB reads the update again for its norms: 40.
# 8-bit Adam keeps m and v in a byte each plus block scales. Adafactor keeps row and column means only.
UPDATE_RULES: dict[Optimizer, UpdateRule] = {
    "sgd": UpdateRule(4.0, 20.0, 0.5, 6.0),
    "adam": UpdateRule(8.0, 28.0, 1.0, 12.0),
    "adamw": UpdateRule(8.0, 28.0, 1.0, 12.0),
    "adamw8bit": UpdateRule(2.1, 16.0, 1.0, 1.0),
    "adafactor": UpdateRule(0.1, 24.0, 8.0, 16.0),
    "lamb": UpdateRule(8.0, 40.0, 2.0, 20.0),
    "rmsprop": UpdateRule(4.0, 20.0, 1.0, 8.0),
}


def update_rule(optimizer: Optimizer, precision: DevicePrecision) -> UpdateRule:
    """The rule in the precision's weight type: pure 2-byte training keeps its state in 2 bytes as well."""
    rule = UPDATE_RULES[optimizer]
    if not precision.pure:
        return rule
    state = rule.state_bytes if optimizer == "adamw8bit" else rule.state_bytes / 2
    return rule._replace(state_bytes=state, traffic_bytes=rule.traffic_bytes / 2)


def trainable_parameters(experiment: Experiment) -> float:
    """Parameters that get a gradient: all, the workload's own subset, or LoRA's adapters."""
    workload = experiment.workload
    if experiment.lora_rank is not None:
        return adapter_parameters(workload, experiment.lora_rank)
    return float(workload.trainable_parameters or workload.parameters)


def weight_bytes(experiment: Experiment, precision: DevicePrecision) -> float:
    """All weights in the arithmetic's own width, as they are gathered and fetched; QLoRA's products packed."""
    workload = experiment.workload
    packed = four_bit_weights(workload) if experiment.four_bit_weights else 0.0
    return packed * FOUR_BIT_WEIGHT_BYTES + (workload.parameters - packed) * precision.wire_bytes


class Update(NamedTuple):
    """One update of all trainable parameters: bytes moved and kernels launched."""

    traffic_bytes: float
    kernels: float

    def seconds(self, rates: DeviceRates) -> float:
        """Device seconds, launches included."""
        return self.traffic_bytes * rates.optimizer_seconds_per_byte + self.kernels * rates.launch_s


def update_work(experiment: Experiment, precision: DevicePrecision, *, loop: bool = False) -> Update:
    """The work of one update; ``loop`` is a loop over tensors, as PyTorch ran it before 2.0."""
    rule = update_rule(experiment.optimizer, precision)
    per_tensor = rule.loop_kernels_per_tensor if loop else rule.kernels_per_tensor
    workload = experiment.workload
    tensors = workload.parameter_tensors if experiment.lora_rank is None else adapter_tensors(workload)
    return Update(
        traffic_bytes=trainable_parameters(experiment) * rule.traffic_bytes,
        kernels=tensors * per_tensor,
    )
