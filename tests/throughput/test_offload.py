"""Offload to the host: what stays on the GPU, what the host holds, what the copies and the host's update take."""

from __future__ import annotations

from typing import Any

import pytest

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import GIB
from planner.hardware.machine import Cpu, Machine
from planner.throughput.calibration import load_calibration
from planner.throughput.memory import memory_model
from planner.throughput.offload import GRADIENT_BUFFER_BYTES, host_bytes, offload_problem, offload_time
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.throughput.step import StepModel
from tests.throughput.examples import A100, CPU, NVSWITCH, convolutional, experiment, machine

CALIBRATION = load_calibration()
PARAMETERS = 1_000_000_000
# Two Xeon 8168: 24 cores and 128 GB/s a socket.
HOST = Cpu("SkyLake-SP", "Xeon 8168", "Intel", 64.0, 2.7e9, 128e9, vcpus_per_core=2, cores_per_socket=24)
PCIE3_BYTES_PER_S = 15.75e9


def offloaded(offload: Any = "optimizer", **changes: Any) -> Experiment:
    workload = convolutional()._replace(parameters=PARAMETERS)
    return experiment(workload, optimizer="adamw", offload=offload, precision="bf16", **changes)


def host(gpus: float = 1, **changes: Any) -> Machine:
    card = A100._replace(pcie_gen=3, pcie_lanes=16)
    described = {"vcpus": 96.0, "ram_bytes": 512.0 * GIB, "cpu": HOST, **changes}
    return machine(card, gpus, link=NVSWITCH if gpus > 1 else None, **described)


def bf16() -> DevicePrecision:
    precision = resolve_precision("bf16", A100)
    assert precision is not None
    return precision


def fixed_bytes(question: Experiment, devices: int = 1) -> float:
    model = memory_model(question, bf16(), devices, CALIBRATION, accumulates=True)
    return model.fixed_bytes - CALIBRATION.memory["context_bytes"]


def test_the_device_keeps_two_bytes_a_weight_and_a_buffer() -> None:
    """A billion weights in 2 bytes; their 4 GB of gradients pass through buffers of 3.6 GB."""
    factor = CALIBRATION.memory["activation_factor"]
    assert pytest.approx(3.6e9) == GRADIENT_BUFFER_BYTES
    assert fixed_bytes(offloaded()) == pytest.approx(2e9 + factor * 3.6e9)
    assert fixed_bytes(offloaded(None)) == pytest.approx(4e9 + 2e9 + factor * 4e9 + 8e9)


def test_with_all_weights_offloaded_two_gathered_blocks_are_left() -> None:
    """161 tensors are 13.4 blocks of 12: two of them are 0.149 of 2 GB."""
    factor = CALIBRATION.memory["activation_factor"]
    assert fixed_bytes(offloaded("all")) == pytest.approx(2e9 * 2 / (161 / 12) + factor * 3.6e9)


def test_zero_3_keeps_its_shard_of_two_byte_weights() -> None:
    """On 8 devices: an eighth of 2 GB, the gathered blocks, and an eighth of the gradients."""
    factor = CALIBRATION.memory["activation_factor"]
    expected = 2e9 / 8 + 2e9 * 2 / (161 / 12) + factor * 4e9 / 8
    assert fixed_bytes(offloaded(zero_stage=3), devices=8) == pytest.approx(expected)


def test_the_host_holds_16_bytes_a_parameter_or_18() -> None:
    """As DeepSpeed's own estimate has it: fp32 weights, gradients and two moments, and 2-byte weights."""
    assert host_bytes(offloaded(), bf16(), host()) == pytest.approx(16e9)
    assert host_bytes(offloaded("all"), bf16(), host()) == pytest.approx(18e9)
    assert host_bytes(offloaded(), bf16(), host(8, num_nodes=4)) == pytest.approx(4e9)


def test_the_update_takes_the_hosts_memory_bandwidth() -> None:
    """(28 + 2) bytes x 1e9 over 0.43 of 256 GB/s: 0.273 s, where ZeRO-Offload's table 4 has 0.22 s."""
    found = offload_time(offloaded(), bf16(), host(), 10.0, 1, CALIBRATION)
    assert found.update_s == pytest.approx(30e9 / (0.43 * 256e9))
    assert found.exposed_s == 0.0  # 2 GB cross in 0.16 s while the device computes for 10 s
    assert found.flags == ()


def test_copies_show_where_computing_is_shorter() -> None:
    """Each of 4 micro steps sends 2 GB of gradients over 0.8 of PCIe 3.0; with all weights, 4 GB more come."""
    link, overlap = 0.8 * PCIE3_BYTES_PER_S, CALIBRATION.collectives["overlap_share_sharded"]
    state = offload_time(offloaded(), bf16(), host(), 0.1, 4, CALIBRATION)
    weights = offload_time(offloaded("all"), bf16(), host(), 0.1, 4, CALIBRATION)
    assert state.exposed_s == pytest.approx(4 * 2e9 / link - overlap * 0.1)
    assert weights.exposed_s == pytest.approx(4 * 6e9 / link - overlap * 0.1)
    four_gpus = offload_time(offloaded(), bf16(), host(4), 0.1, 4, CALIBRATION)
    assert four_gpus.exposed_s == pytest.approx(2e9 / link - overlap * 0.1)


def test_a_host_nobody_knows_is_slow_and_flagged() -> None:
    unknown = offload_time(offloaded(), bf16(), host(cpu=None, ram_bytes=None), 0.1, 1, CALIBRATION)
    assert unknown.flags == ("host_memory_unknown", "host_unknown")
    assert unknown.update_s > offload_time(offloaded(), bf16(), host(), 0.1, 1, CALIBRATION).update_s


@pytest.mark.parametrize(
    ("on", "said"),
    [
        (host(ram_bytes=16.0 * GIB), "offload needs 14.9 GiB of host memory; 12.8 GiB can be had"),
        (machine(CPU, 0), "nothing to offload to"),
        (machine(A100._replace(stack="mps")), "nothing to offload to"),
        (host(), ""),
        (host(ram_bytes=None), ""),
    ],
)
def test_where_there_is_nothing_to_offload_to(on: Machine, said: str) -> None:
    problem = offload_problem(offloaded(), bf16(), on, CALIBRATION)
    assert said in problem if said else problem == ""
    if said:
        assert StepModel(offloaded()).estimate(on).reason == problem


def test_a_step_has_the_hosts_update_and_says_who_binds() -> None:
    here = StepModel(offloaded(batch_size_per_gpu=8)).estimate(host())
    there = StepModel(offloaded(None, batch_size_per_gpu=8)).estimate(host())
    assert here.parts is not None
    assert there.parts is not None
    assert here.parts.optimizer_s > 5 * there.parts.optimizer_s
    assert here.bound_by == "host"
    assert (here.memory_required_bytes or 0) < (there.memory_required_bytes or 0)
    assert here.step_time_s is not None
    assert here.step_time_s.p90 > here.parts.total_s
