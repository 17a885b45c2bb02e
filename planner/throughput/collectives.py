"""What data parallelism adds to a step: gradient (and ZeRO parameter) traffic over the links, less what overlaps.

A ring all-reduce of S bytes over n devices moves 2 (n - 1) / n * S per device (Patarasuk and Yuan, 2009); a sharded
step gathers and scatters instead. Inside a machine the bus bandwidth depends on the topology and on how many share it,
``share of specification * (n / 2) ** exponent``; between machines every device of a node shares its network card.
MODEL.md section 8 has the fit.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.interconnect import Link, Network
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration
from planner.throughput.optimizer import trainable_parameters
from planner.throughput.precision import DevicePrecision

LARGEST_RING = 16


class Traffic(NamedTuple):
    """Bytes of one optimizer step that cross the ring, per device and before the factor (n - 1) / n."""

    once_bytes: float
    every_micro_step_bytes: float


class Communication(NamedTuple):
    """Seconds of communication of one step, and the part of them that compute does not hide."""

    total_s: float
    exposed_s: float
    flags: tuple[str, ...] = ()


NO_COMMUNICATION = Communication(0.0, 0.0)


def step_traffic(experiment: Experiment, precision: DevicePrecision) -> Traffic:
    """Gradients once a step in two passes; ZeRO-3 gathers weights twice and scatters gradients every micro step."""
    gradient_bytes = trainable_parameters(experiment) * precision.weight_bytes
    if experiment.zero_stage < 3:
        return Traffic(2.0 * gradient_bytes, 0.0)
    wire_bytes = 2.0 if precision.autocast or precision.pure else 4.0
    weights = experiment.workload.parameters * wire_bytes
    return Traffic(0.0, 2.0 * weights + trainable_parameters(experiment) * wire_bytes)


def communicate(
    experiment: Experiment,
    precision: DevicePrecision,
    machine: Machine,
    micro_step_s: float,
    accumulation: int,
    calibration: Calibration,
    lineage: str = "pytorch",
) -> Communication:
    """Communication of one optimizer step whose micro step computes for ``micro_step_s`` seconds."""
    devices = machine.devices
    if devices == 1:
        return NO_COMMUNICATION
    constants = calibration.collectives
    traffic = step_traffic(experiment, precision)
    passes = traffic.once_bytes + accumulation * traffic.every_micro_step_bytes
    per_byte, flags = _seconds_per_ring_byte(machine, constants)
    latency = _latency_s(machine, constants) * math.ceil(passes / 2 / constants["bucket_bytes"])
    total = passes * per_byte + latency
    hiding = micro_step_s * (accumulation if experiment.zero_stage >= 3 else 1)
    overlap = constants[_overlap(experiment, machine)]
    exposed = max(total - overlap * hiding, constants["exposed_floor"] * total)
    contention = constants["contention_per_doubling"] * math.log2(devices) * micro_step_s * accumulation
    if _copies_replicas(experiment, precision, lineage):
        contention += constants["replica_copy_share"] * (1.0 - 1.0 / devices) * micro_step_s * accumulation
    return Communication(total, exposed + contention, flags)


def _copies_replicas(experiment: Experiment, precision: DevicePrecision, lineage: str) -> bool:
    """TensorFlow's replicas of networks with batch norm, in 2 bytes and without XLA: on 2 to 8 GPUs they lose the same
    over every link, so it is no ring that costs them (lambda-tensorflow-benchmark)."""
    if lineage != "tensorflow" or precision.width != "half":
        return False
    return any(operation.op_class == "bn" for operation in experiment.workload.operations)


def model_parallel(micro_step_s: float, accumulation: int, calibration: Calibration) -> Communication:
    """Tensor, pipeline and expert parallel steps by rule: a share of computing for exchanges and idle stages.

    What is split how is not known; gradients cross once in many micro steps.
    """
    exposed = calibration.collectives["model_parallel_share"] * micro_step_s * accumulation
    return Communication(exposed, exposed)


def _overlap(experiment: Experiment, machine: Machine) -> str:
    """Which constant says what computing hides: where the CPU moves the bytes (TCP), hardly anything."""
    if machine.num_nodes > 1 and not _has_rdma(machine.network):
        return "overlap_share_tcp"
    return "overlap_share_sharded" if experiment.zero_stage >= 3 else "overlap_share"


def _has_rdma(network: Network | None) -> bool:
    return network is not None and network.rdma


def _seconds_per_ring_byte(machine: Machine, constants: Mapping[str, Any]) -> tuple[float, tuple[str, ...]]:
    """Seconds per byte of ring traffic: inside the node, then between nodes over the network each node has."""
    inside = max(1, int(machine.num_gpus))
    seconds, flags = 0.0, []
    if inside > 1:
        if machine.link is None:
            flags.append("link_unknown")
        seconds += (inside - 1) / inside / link_bandwidth(machine.link, inside, constants)
    if machine.num_nodes > 1:
        if machine.network is None or machine.network.bandwidth_bytes_per_s is None:
            flags.append("network_unknown")
        nodes = machine.num_nodes
        seconds += (nodes - 1) / nodes / network_bandwidth(machine.network, constants)
    return seconds, tuple(flags)


def link_bandwidth(link: Link | None, devices: int, constants: Mapping[str, Any]) -> float:
    """Bus bandwidth of an all-reduce over ``devices`` devices of one machine, bytes/s; never above specification.

    Where it was measured over as many devices, it is what was measured.
    """
    topologies = constants["links"]
    if link is None:
        fitted, specified = topologies[constants["unknown_link"]], None
    else:
        kind = link.kind if link.peer_access or f"{link.kind}_no_peer" not in topologies else f"{link.kind}_no_peer"
        fitted, specified = (
            topologies[kind if kind in topologies else constants["unknown_link"]],
            link.bandwidth_bytes_per_s,
        )
    if link is not None and link.measured_bytes_per_s is not None:
        return link.measured_bytes_per_s * float((devices / link.num_measured) ** fitted["exponent"])
    specified = specified or fitted["specified_bytes_per_s"]
    share = float(fitted["share"] * (devices / 2) ** fitted["exponent"])
    return specified * min(share, 1.0)


def network_bandwidth(network: Network | None, constants: Mapping[str, Any]) -> float:
    """Bandwidth one node gets out of its network in a ring, bytes/s; a stated slow default where it is unknown.

    Over TCP a ring has few connections, which reach a rate of their own however fast the card is.
    """
    if network is None or network.bandwidth_bytes_per_s is None:
        return float(constants["unknown_network_bytes_per_s"] * constants["network_share_tcp"])
    if network.rdma:
        return float(network.bandwidth_bytes_per_s * constants["network_share_rdma"])
    return float(min(network.bandwidth_bytes_per_s * constants["network_share_tcp"], constants["tcp_bytes_per_s"]))


def _latency_s(machine: Machine, constants: Mapping[str, Any]) -> float:
    """Seconds of latency of one all-reduce: a ring has 2 (n - 1) hops inside a node, and as many between nodes.

    Beyond 16 nodes, more than was measured, a double binary tree is taken to be the faster (Jeaugey 2019, "Massively
    scale your deep learning training with NCCL 2.4"): its hops grow with log2 of the nodes, from where the ring stands.
    """
    inside = max(1, int(machine.num_gpus))
    network_hop = constants["network_hop_s_rdma" if _has_rdma(machine.network) else "network_hop_s_tcp"]
    inside_s = _hops_inside(machine.link, inside) * constants["link_hop_s"]
    return float(inside_s + _hops_between(machine.num_nodes) * network_hop)


def _hops_inside(link: Link | None, devices: int) -> float:
    """Hops of an all-reduce inside a machine: those of a ring; of two rings in turn over a TPU slice, which is summed
    along one side of its torus, taken to be square, and then along the other (Ying et al., 2018, arXiv:1811.06992)."""
    if link is not None and link.kind == "ici":
        return 4 * (math.sqrt(devices) - 1)
    return 2 * (devices - 1)


def _hops_between(num_nodes: int) -> float:
    """Hops of an all-reduce between nodes: a ring's up to 16 nodes, then those of a tree that starts there."""
    ring = 2 * (min(num_nodes, LARGEST_RING) - 1)
    return ring * (1.0 + math.log2(max(num_nodes / LARGEST_RING, 1.0)) / math.log2(LARGEST_RING))
