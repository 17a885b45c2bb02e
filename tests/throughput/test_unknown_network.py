"""Several nodes whose network nobody stated: the estimate assumes a slow one, and says that it may be a fast one."""

from __future__ import annotations

from planner.hardware.machine import Machine
from planner.throughput.estimate import StepEstimate
from planner.throughput.step import StepModel
from tests.throughput.examples import A100, INFINIBAND, NVSWITCH, convolutional, experiment, machine

TWO_NODES = machine(A100, 8, num_nodes=2, link=NVSWITCH)


def _step(on: Machine) -> StepEstimate:
    return StepModel(experiment(convolutional()._replace(parameters=400_000_000))).estimate(on)


def test_a_fast_network_lies_inside_the_interval_of_an_unknown_one() -> None:
    unknown, fast = _step(TWO_NODES), _step(TWO_NODES._replace(network=INFINIBAND))
    assert "network_unknown" in unknown.flags
    assert unknown.step_time_s is not None
    assert fast.step_time_s is not None
    assert fast.step_time_s.p50 < unknown.step_time_s.p50
    assert unknown.step_time_s.p10 < fast.step_time_s.p50


def test_it_is_no_faster_than_a_step_without_waiting() -> None:
    unknown = _step(TWO_NODES)
    alone = _step(TWO_NODES._replace(num_nodes=1))
    assert unknown.step_time_s is not None
    assert alone.step_time_s is not None
    assert unknown.parts is not None
    assert unknown.parts.communication_s > 0
    assert unknown.step_time_s.p10 > 0.9 * alone.step_time_s.p10
