"""Optimizer state and weights in host memory: what the host must hold, what crosses PCIe, how long its CPU updates.

ZeRO-Offload (Ren et al., 2021) keeps master weights, gradients and optimizer state in host RAM: gradients go there
while backward runs, the CPU updates, 2-byte weights come back. ZeRO-Infinity (Rajbhandari et al., 2021) and FSDP's CPU
offload keep the weights there as well and fetch them in every pass. Every GPU moves its own share over its own link.
Nothing here was fitted.
"""

from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.interconnect import pcie_link
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration
from planner.throughput.optimizer import trainable_parameters, update_rule, weight_bytes
from planner.throughput.precision import DevicePrecision
from planner.units import format_bytes

# DeepSpeed's buffers: overlap_comm takes 4.5 times the buckets of reduce and allgather, 2e8 elements of 2 bytes each in
# the configuration that Hugging Face's documentation recommends.
GRADIENT_BUFFER_BYTES = 4.5 * (2e8 + 2e8) * 2.0
# CPU-Adam updates 1 to 10 billion parameters (28 bytes each) in 0.22 to 2.57 s on two Xeon 8168 of 128 GB/s: a median
# of 109 GB/s (Ren et al., 2021, table 4).
_UPDATE_BANDWIDTH_SHARE = 0.43
# A host whose CPU is not known: four channels of DDR4-3200, a prior that is flagged.
_UNKNOWN_HOST_BYTES_PER_S = 102e9
# Pinned copies reach 12 to 13 of PCIe 3.0's 15.75 GB/s (NVIDIA's bandwidthTest); an unknown link is taken as that.
_PCIE_SHARE = 0.8
_UNKNOWN_PCIE_BYTES_PER_S = 15.75e9
# Weights are fetched for forward and again for backward, which recomputes from the same fetch.
_FETCHES = 2.0


class OffloadTime(NamedTuple):
    """Seconds a step: the host's update with its weights' way back, and copies that computing does not hide."""

    update_s: float
    exposed_s: float
    flags: tuple[str, ...] = ()


def offload_problem(
    experiment: Experiment, precision: DevicePrecision, machine: Machine, calibration: Calibration
) -> str:
    """Why ``machine`` cannot be offloaded to, as one sentence; "" where it can or nobody knows."""
    if experiment.offload is None:
        return ""
    if machine.accelerator.kind == "cpu" or machine.accelerator.stack == "mps":
        return f"{machine.accelerator.name} has the host's memory: there is nothing to offload to"
    if machine.ram_bytes is None:
        return ""
    needed, usable = host_bytes(experiment, precision, machine), machine.ram_bytes * usable_share(calibration)
    if needed <= usable:
        return ""
    return f"offload needs {format_bytes(needed)} of host memory; {format_bytes(usable)} can be had"


def usable_share(calibration: Calibration) -> float:
    """What of a machine's RAM training can have."""
    return float(calibration.memory["usable_ram_share"])


def host_bytes(experiment: Experiment, precision: DevicePrecision, machine: Machine) -> float:
    """Bytes in the RAM of one machine: master weights, gradients and state, shared out over machines; with all weights
    offloaded those too. Adam with 2-byte arithmetic: 16 and 18 a parameter, as DeepSpeed's own estimates have it."""
    rule = update_rule(experiment.optimizer, precision)
    each = 2.0 * precision.weight_bytes + rule.state_bytes
    held = trainable_parameters(experiment) * each
    if experiment.offload == "all":
        held += weight_bytes(experiment, precision)
    return held / machine.num_nodes


def offload_time(
    experiment: Experiment,
    precision: DevicePrecision,
    machine: Machine,
    computing_s: float,
    accumulation: int,
    calibration: Calibration,
) -> OffloadTime:
    """One optimizer step whose micro steps compute for ``computing_s`` seconds in all."""
    trained = trainable_parameters(experiment)
    link = pcie_link(machine.accelerator).bandwidth_bytes_per_s or _UNKNOWN_PCIE_BYTES_PER_S
    per_byte = 1.0 / (link * _PCIE_SHARE * machine.devices)
    micro_bytes = trained * precision.wire_bytes
    if experiment.offload == "all":
        micro_bytes += _FETCHES * weight_bytes(experiment, precision)
    copying_s = accumulation * micro_bytes * per_byte
    exposed_s = max(copying_s - calibration.collectives["overlap_share_sharded"] * computing_s, 0.0)
    bandwidth, flags = _host_bandwidth(machine)
    traffic = trained * (update_rule(experiment.optimizer, precision).traffic_bytes + precision.wire_bytes)
    update_s = traffic / machine.num_nodes / (bandwidth * _UPDATE_BANDWIDTH_SHARE)
    # The host sends finished tiles while it updates the next (Ren et al., section 4.1); fetched weights come anyway.
    back_s = trained * precision.wire_bytes * per_byte if experiment.offload == "optimizer" else 0.0
    return OffloadTime(max(update_s, back_s), exposed_s, flags)


def _host_bandwidth(machine: Machine) -> tuple[float, tuple[str, ...]]:
    """Bytes/s of the host's memory, as much of its sockets as the machine has of their cores; flagged where unknown."""
    cpu = machine.cpu
    flags = ("host_memory_unknown",) if machine.ram_bytes is None else ()
    if cpu is None or cpu.bandwidth_bytes_per_s is None or not machine.vcpus:
        return _UNKNOWN_HOST_BYTES_PER_S, (*flags, "host_unknown")
    return cpu.bandwidth_bytes_per_s * machine.vcpus / cpu.vcpus_per_core / cpu.cores_per_socket, flags
