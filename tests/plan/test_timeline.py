"""From step to finish: what a checkpoint holds, and which nodes write it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.plan.extras import disk_gb
from planner.plan.timeline import CHECKPOINT_BYTES_PER_S, Timeline, checkpoint_bytes, timeline
from planner.throughput.step import StepModel

LLAMA = resolve_experiment(ExperimentRequest("llama-3-8b", tokens=1e9, zero_stage=3, grad_checkpointing=True))
ADAM_BYTES = 12.0 * LLAMA.workload.parameters
"""Master weights and two moments, in 4 bytes each."""


def _nodes(count: int) -> Machine:
    return machine_from_spec("nodes", "H100-SXM", 8, nodes=count, network="400 Gb/s InfiniBand")


def _timeline(experiment: Experiment, machine: Machine) -> Timeline:
    return timeline(experiment, machine, StepModel(experiment, enforce_memory=False).estimate(machine), rented=True)


@pytest.mark.parametrize(
    ("changed", "nodes", "shares"),
    [
        ({}, 1, 1),
        ({}, 4, 4),
        ({"zero_stage": 1}, 4, 4),
        ({"zero_stage": 0, "tensor_parallel": 8}, 4, 1),
        ({"zero_stage": 0, "tensor_parallel": 8, "pipeline_parallel": 2}, 4, 2),
        ({"zero_stage": 0, "lora_rank": 16}, 4, 1),
    ],
)
def test_nodes_write_their_shards_side_by_side(changed: dict[str, Any], nodes: int, shares: int) -> None:
    experiment = LLAMA._replace(**changed)
    line = _timeline(experiment, _nodes(nodes))
    assert line.checkpoint_s == pytest.approx(checkpoint_bytes(experiment) / shares / CHECKPOINT_BYTES_PER_S)
    assert line.restore_s == pytest.approx(checkpoint_bytes(experiment) / shares / 200e6)


def test_a_checkpoint_holds_weights_and_state_of_what_is_trained() -> None:
    assert checkpoint_bytes(LLAMA) == ADAM_BYTES
    assert checkpoint_bytes(LLAMA._replace(optimizer="sgd")) == pytest.approx(ADAM_BYTES * 8 / 12)
    adapters = checkpoint_bytes(LLAMA._replace(lora_rank=16))
    assert 12 * 20e6 < adapters < 12 * 60e6, "rank 16 on an 8B model trains some 42 million parameters"


def test_the_frozen_weights_need_disk_beside_their_adapters() -> None:
    parameters = LLAMA.workload.parameters
    adapted = LLAMA._replace(lora_rank=16)
    added = disk_gb(adapted) - disk_gb(LLAMA)
    assert added == pytest.approx((2 * checkpoint_bytes(adapted) + 2 * parameters - 2 * ADAM_BYTES) / 1e9)
