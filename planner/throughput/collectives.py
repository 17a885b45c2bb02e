"""What data parallelism adds to a step: gradient (and ZeRO parameter) traffic over the links, less what overlaps.

A ring all-reduce of S bytes over n devices moves 2 (n - 1) / n * S per device (Patarasuk and Yuan, 2009); a sharded
step gathers and scatters instead. Inside a machine the bus bandwidth depends on the topology and on how many share it,
``share of specification * (n / 2) ** exponent``; between machines every device of a node shares its network card.
docs/model.md, "Several devices", has what is fitted.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.interconnect import Link, Network
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration
from planner.throughput.model_parallel import (
    Group,
    Split,
    activation_bytes,
    gradient_group,
    split_of,
    tensor_sums,
)
from planner.throughput.optimizer import trainable_parameters, weight_bytes
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

    def plus(self, other: "Communication") -> "Communication":
        """Both, one after the other."""
        flags = tuple(dict.fromkeys((*self.flags, *other.flags)))
        return Communication(self.total_s + other.total_s, self.exposed_s + other.exposed_s, flags)


NO_COMMUNICATION = Communication(0.0, 0.0)


def step_traffic(experiment: Experiment, precision: DevicePrecision) -> Traffic:
    """Gradients once a step in two passes; ZeRO-3 gathers weights twice and scatters gradients every micro step.

    A GPU of a split model has its share of both.
    """
    shards = experiment.tensor_parallel * experiment.pipeline_parallel
    trained = trainable_parameters(experiment) / shards
    if experiment.sharding_stage < 3:
        return Traffic(2.0 * trained * precision.weight_bytes, 0.0)
    weights = weight_bytes(experiment, precision) / shards
    return Traffic(0.0, 2.0 * weights + trained * precision.wire_bytes)


def communicate(
    experiment: Experiment,
    precision: DevicePrecision,
    machine: Machine,
    micro_step_s: float,
    accumulation: int,
    calibration: Calibration,
    lineage: str = "pytorch",
) -> Communication:
    """What data parallelism adds to an optimizer step whose micro step computes for ``micro_step_s`` seconds."""
    split = split_of(experiment, machine)
    if split.replicas == 1:
        return NO_COMMUNICATION
    constants = calibration.collectives
    group = gradient_group(split, machine)
    traffic = step_traffic(experiment, precision)
    passes = traffic.once_bytes + accumulation * traffic.every_micro_step_bytes
    per_byte, flags = _seconds_per_ring_byte(machine, group, constants)
    latency = _latency_s(machine, group, constants) * math.ceil(passes / 2 / constants["bucket_bytes"])
    total = passes * per_byte + latency
    hiding = micro_step_s * (accumulation if experiment.sharding_stage >= 3 else 1)
    overlap = constants[_overlap(experiment, machine, group)]
    exposed = max(total - overlap * hiding, constants["exposed_floor"] * total)
    contention = constants["contention_per_doubling"] * math.log2(split.replicas) * micro_step_s * accumulation
    if _copies_replicas(experiment, precision, lineage):
        contention += constants["replica_copy_share"] * (1.0 - 1.0 / split.replicas) * micro_step_s * accumulation
    return Communication(total, exposed + contention, flags)


def exchange(
    experiment: Experiment,
    precision: DevicePrecision,
    machine: Machine,
    micro_step_s: float,
    batch_size: int,
    accumulation: int,
    calibration: Calibration,
) -> Communication:
    """What splitting a model adds to a step: sums over the tensor group, transfers between stages, and idle stages.

    Nothing of it is taken as hidden: a block waits for its sums (Shoeybi et al., 2019), a stage for its neighbour.
    """
    split, constants = split_of(experiment, machine), calibration.collectives
    size = activation_bytes(experiment, batch_size, precision.wire_bytes)
    sums = tensor_sums(experiment, split)
    summing = 0.0
    if sums:
        passes = 2.0 * size * (split.tensor - 1) / split.tensor
        summing = passes / link_bandwidth(machine.link, split.tensor, constants)
        summing = sums * (summing + 2 * (split.tensor - 1) * constants["link_hop_s"])
    passing, flags = _stage_transfer_s(split, machine, size, constants)
    moved = accumulation * (summing + passing)
    idle = (split.pipeline - 1) * (micro_step_s + summing + passing)
    return Communication(moved, moved + idle, flags)


def _stage_transfer_s(
    split: Split, machine: Machine, size: float, constants: Mapping[str, Any]
) -> tuple[float, tuple[str, ...]]:
    """Seconds a micro step to pass activations on and their gradients back. Each GPU of a tensor group sends its part
    (Narayanan et al., 2021, section 4.1); where stages lie on different machines all GPUs of one share its network."""
    if split.pipeline == 1:
        return 0.0, ()
    link_unknown = ("link_unknown",) if machine.link is None and machine.num_gpus > 1 else ()
    if machine.num_nodes == 1:
        return 2.0 * size / split.tensor / link_bandwidth(machine.link, 2, constants), link_unknown
    unknown = machine.network is None or machine.network.bandwidth_bytes_per_s is None
    senders = max(1, int(machine.num_gpus)) if split.pipeline <= machine.num_nodes else split.tensor * split.replicas
    seconds = 2.0 * size * senders / split.tensor / network_bandwidth(machine.network, constants)
    hop = constants["network_hop_s_rdma" if _has_rdma(machine.network) else "network_hop_s_tcp"]
    return seconds + 2.0 * hop, (*link_unknown, *(("network_unknown",) if unknown else ()))


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


def _overlap(experiment: Experiment, machine: Machine, group: Group) -> str:
    """Which constant says what computing hides: where the CPU moves the bytes (TCP), hardly anything."""
    if group.nodes > 1 and not _has_rdma(machine.network):
        return "overlap_share_tcp"
    return "overlap_share_sharded" if experiment.sharding_stage >= 3 else "overlap_share"


def _has_rdma(network: Network | None) -> bool:
    return network is not None and network.rdma


def _seconds_per_ring_byte(
    machine: Machine, group: Group, constants: Mapping[str, Any]
) -> tuple[float, tuple[str, ...]]:
    """Seconds per byte of ring traffic: inside the node, then between nodes over the network each node has."""
    seconds, flags = 0.0, []
    if group.inside > 1:
        if machine.link is None:
            flags.append("link_unknown")
        seconds += (group.inside - 1) / group.inside / link_bandwidth(machine.link, group.inside, constants)
    if group.nodes > 1:
        if machine.network is None or machine.network.bandwidth_bytes_per_s is None:
            flags.append("network_unknown")
        share = (group.nodes - 1) / group.nodes
        seconds += group.rings * share / network_bandwidth(machine.network, constants)
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

    Over TCP the host's handling of the bytes comes in series with the wire (NVIDIA/nccl issues 209 and 450: at most
    60 % of 32 Gb/s, 4 to 6 GB/s of 100 Gb/s), and a ring reaches a share of what one connection is allowed.
    """
    if network is None or network.bandwidth_bytes_per_s is None:
        return _over_tcp(constants["unknown_network_bytes_per_s"], constants)
    if network.rdma:
        return float(network.bandwidth_bytes_per_s * constants["network_share_rdma"])
    reached = _over_tcp(network.bandwidth_bytes_per_s, constants)
    if network.flow_bytes_per_s is None:
        return reached
    return min(reached, float(network.flow_bytes_per_s * constants["tcp_flow_share"]))


def _over_tcp(bandwidth: float, constants: Mapping[str, Any]) -> float:
    """Bytes/s of a ring over TCP: a share of the wire's ``bandwidth`` and the host's own rate in series."""
    return float(1.0 / (1.0 / (bandwidth * constants["network_share_tcp"]) + 1.0 / constants["tcp_host_bytes_per_s"]))


def _latency_s(machine: Machine, group: Group, constants: Mapping[str, Any]) -> float:
    """Seconds of latency of one all-reduce: a ring has 2 (n - 1) hops inside a node, and as many between nodes.

    Beyond 16 nodes, more than was measured, a double binary tree is taken to be the faster (Jeaugey 2019, "Massively
    scale your deep learning training with NCCL 2.4"): its hops grow with log2 of the nodes, from where the ring stands.
    """
    network_hop = constants["network_hop_s_rdma" if _has_rdma(machine.network) else "network_hop_s_tcp"]
    inside_s = _hops_inside(machine.link, group.inside) * constants["link_hop_s"]
    return float(inside_s + _hops_between(group.nodes) * network_hop)


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
