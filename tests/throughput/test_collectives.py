"""Communication: what crosses the links, what is hidden, and what is said when a link is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.hardware.interconnect import Link, rented_network
from planner.throughput.calibration import load_calibration
from planner.throughput.collectives import communicate, link_bandwidth, network_bandwidth, step_traffic
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.workloads.catalog import load_workload
from tests.throughput.examples import (
    A100,
    ETHERNET_100,
    INFINIBAND,
    NVSWITCH,
    PCIE4,
    convolutional,
    experiment,
    machine,
)

CALIBRATION = load_calibration()
CONSTANTS = CALIBRATION.collectives


def bf16() -> DevicePrecision:
    precision = resolve_precision("bf16", A100)
    assert precision is not None
    return precision


def test_one_device_does_not_communicate() -> None:
    assert communicate(experiment(), bf16(), machine(), 0.1, 1, CALIBRATION).total_s == 0.0


def test_gradients_of_autocast_cross_in_four_bytes_twice() -> None:
    assert step_traffic(experiment(), bf16()).once_bytes == 2 * 4 * 25e6
    sharded = step_traffic(experiment(zero_stage=3), bf16())
    assert sharded.once_bytes == 0.0
    assert sharded.every_micro_step_bytes == 3 * 2 * 25e6


def test_frozen_weights_are_gathered_as_they_are_kept() -> None:
    """Llama 2's 7 B: twice 2 bytes a weight, with QLoRA 0.516 of all but embedding and output layer; adapters' sums."""
    adapted = experiment(load_workload("llama-2-7b"), lora_rank=8, zero_stage=3)
    sums = 2 * 19_988_480
    assert step_traffic(adapted, bf16()).every_micro_step_bytes == pytest.approx(4 * 6_738_415_616 + sums, rel=0.001)
    packed = 6_738_415_616 - 2 * 131_072_000
    gathered = 2 * (0.516 * packed + 2 * 2 * 131_072_000)
    four_bit = step_traffic(adapted._replace(four_bit_weights=True), bf16())
    assert four_bit.every_micro_step_bytes == pytest.approx(gathered + sums, rel=0.01)


def test_the_ring_formula_on_one_node() -> None:
    found = communicate(experiment(), bf16(), machine(A100, 8, link=NVSWITCH), 0.1, 1, CALIBRATION)
    bandwidth = link_bandwidth(NVSWITCH, 8, CONSTANTS)
    buckets = 4
    assert found.total_s == pytest.approx(2 * 7 / 8 * 1e8 / bandwidth + buckets * 14 * CONSTANTS["link_hop_s"])


def test_a_slice_of_tpus_is_summed_side_by_side() -> None:
    """Two rings over a torus of 16 x 16: its hops, and the whole bandwidth of a chip however large the slice is."""
    ici = Link("ici", "ICI", 200e9, peer_access=True)
    found = communicate(experiment(), bf16(), machine(A100, 256, link=ici), 0.1, 1, CALIBRATION)
    buckets, bandwidth = 4, link_bandwidth(ici, 4, CONSTANTS)
    assert link_bandwidth(ici, 256, CONSTANTS) == bandwidth
    assert found.total_s == pytest.approx(2 * 255 / 256 * 1e8 / bandwidth + buckets * 60 * CONSTANTS["link_hop_s"])


def test_compute_hides_communication_but_never_all_of_it() -> None:
    slow = communicate(experiment(), bf16(), machine(A100, 8, link=PCIE4), 0.001, 1, CALIBRATION)
    hidden = communicate(experiment(), bf16(), machine(A100, 8, link=PCIE4), 10.0, 1, CALIBRATION)
    assert slow.exposed_s > 0.9 * slow.total_s
    assert hidden.exposed_s >= CONSTANTS["exposed_floor"] * hidden.total_s


def test_a_network_adds_to_the_links_and_rdma_is_faster() -> None:
    alone = communicate(experiment(), bf16(), machine(A100, 8, link=NVSWITCH), 0.1, 1, CALIBRATION)
    pair = machine(A100, 8, link=NVSWITCH, num_nodes=2, network=ETHERNET_100)
    over_ethernet = communicate(experiment(), bf16(), pair, 0.1, 1, CALIBRATION)
    over_infiniband = communicate(experiment(), bf16(), pair._replace(network=INFINIBAND), 0.1, 1, CALIBRATION)
    assert alone.total_s < over_infiniband.total_s < over_ethernet.total_s


def test_unknown_links_and_networks_are_flagged_and_slow() -> None:
    unknown = communicate(experiment(), bf16(), machine(A100, 8, num_nodes=2), 0.1, 1, CALIBRATION)
    assert unknown.flags == ("link_unknown", "network_unknown")
    assert network_bandwidth(None, CONSTANTS) < network_bandwidth(INFINIBAND, CONSTANTS)


def test_peer_access_matters_on_pcie() -> None:
    peer = PCIE4._replace(peer_access=True)
    assert link_bandwidth(PCIE4, 8, CONSTANTS) < link_bandwidth(peer, 8, CONSTANTS)


def test_a_kind_without_a_fit_is_taken_as_the_unknown_link() -> None:
    strange = Link("none", "?", None, False)
    assert link_bandwidth(strange, 2, CONSTANTS) == link_bandwidth(None, 2, CONSTANTS)


def test_zero_3_communicates_in_every_accumulation_step() -> None:
    eight = machine(A100, 8, link=PCIE4)
    once = communicate(experiment(zero_stage=3), bf16(), eight, 0.01, 1, CALIBRATION)
    four_times = communicate(experiment(zero_stage=3), bf16(), eight, 0.01, 4, CALIBRATION)
    assert four_times.total_s == pytest.approx(4 * once.total_s, rel=0.05)


@given(st.sampled_from([NVSWITCH, PCIE4]), st.integers(2, 16), st.floats(1.0, 4.0))
def test_a_faster_link_is_never_slower(link: Link, devices: int, factor: float) -> None:
    faster = link._replace(bandwidth_bytes_per_s=(link.bandwidth_bytes_per_s or 0.0) * factor)
    base = communicate(experiment(), bf16(), machine(A100, devices, link=link), 0.01, 1, CALIBRATION)
    better = communicate(experiment(), bf16(), machine(A100, devices, link=faster), 0.01, 1, CALIBRATION)
    assert better.exposed_s <= base.exposed_s


def test_few_gradient_bytes_per_flop_scale_well() -> None:
    light = convolutional()
    heavy = light._replace(parameters=light.parameters * 40)
    eight = machine(A100, 8, link=PCIE4)
    exposed = [communicate(experiment(w), bf16(), eight, 0.1, 1, CALIBRATION).exposed_s for w in (light, heavy)]
    assert exposed[0] < 0.1  # of a step of 0.1 s
    assert exposed[1] > 5 * exposed[0]


@pytest.mark.parametrize(
    ("gbit_s", "least", "most"),
    [(10, 0.6, 0.9), (32, 0.5, 0.6), (100, 0.3, 0.5), (400, 0.08, 0.15)],  # NVIDIA/nccl issues 209 (32) and 450 (100)
)
def test_tcp_takes_a_smaller_share_of_a_faster_wire(gbit_s: float, least: float, most: float) -> None:
    wire = ETHERNET_100._replace(bandwidth_bytes_per_s=gbit_s * 1e9 / 8)
    assert least < network_bandwidth(wire, CONSTANTS) / (gbit_s * 1e9 / 8) < most
    assert network_bandwidth(INFINIBAND, CONSTANTS) > 5 * network_bandwidth(wire, CONSTANTS)


@given(st.floats(1e8, 1e11), st.floats(1.01, 10.0))
def test_a_faster_wire_is_never_slower(bandwidth: float, factor: float) -> None:
    slow, fast = (ETHERNET_100._replace(bandwidth_bytes_per_s=rate) for rate in (bandwidth, bandwidth * factor))
    assert network_bandwidth(slow, CONSTANTS) < network_bandwidth(fast, CONSTANTS) < bandwidth * factor


def test_a_ring_on_ec2_reaches_no_more_than_one_connection_may() -> None:
    # 5 Gb/s a flow: of 25, 50 or 100 Gb/s the same is left; of 2.5 Gb/s the wire is.
    reached = [network_bandwidth(rented_network("ENA", rate, rdma=False), CONSTANTS) for rate in (25, 50, 100)]
    assert reached == [pytest.approx(0.625e9 * CONSTANTS["tcp_flow_share"])] * 3
    assert network_bandwidth(rented_network("ENA", 2.5, rdma=False), CONSTANTS) < 0.3125e9
    assert network_bandwidth(rented_network("EFA", 100, rdma=False), CONSTANTS) > 5 * reached[0]


def test_gpudirect_over_tcp_passes_the_cpu_by() -> None:
    tcpx = rented_network("GPUDirect-TCPX", 800, rdma=False)
    assert network_bandwidth(tcpx, CONSTANTS) == pytest.approx(100e9 * CONSTANTS["network_share_rdma"])


def test_replicas_of_tensorflow_cost_in_2_bytes_and_without_xla_only() -> None:
    eight = machine(A100, 8, link=NVSWITCH)
    normalised = experiment(load_workload("resnet50"))

    def exposed(lineage: str, precision: DevicePrecision) -> float:
        return communicate(normalised, precision, eight, 0.1, 1, CALIBRATION, lineage).exposed_s

    fp32 = resolve_precision("fp32-strict", A100)
    assert fp32 is not None
    extra = exposed("tensorflow", bf16()) - exposed("pytorch", bf16())
    assert extra == pytest.approx(CONSTANTS["replica_copy_share"] * 7 / 8 * 0.1)
    assert exposed("tensorflow-compiled", bf16()) == exposed("pytorch", bf16())
    assert exposed("tensorflow", fp32) == exposed("pytorch", fp32)
