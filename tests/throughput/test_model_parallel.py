"""Tensor and pipeline parallelism: what is split, what is exchanged, what is refused, by figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.batch import plan_batch
from planner.throughput.calibration import load_calibration
from planner.throughput.collectives import (
    Communication,
    communicate,
    exchange,
    link_bandwidth,
    network_bandwidth,
    step_traffic,
)
from planner.throughput.memory import memory_model
from planner.throughput.model_parallel import (
    Blocks,
    Group,
    Split,
    blocks_of,
    check_split,
    gradient_group,
    idle_share,
    split_of,
    split_problem,
)
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.throughput.step import StepModel
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Linear, Memory, Operation, Workload
from tests.throughput.examples import A100, CPU, INFINIBAND, NVSWITCH, convolutional, experiment, machine

CALIBRATION = load_calibration()
CONSTANTS = CALIBRATION.collectives
LAYERS, HEADS, HEAD_WIDTH, TOKENS = 32, 32, 128, 1000
WIDTH = HEADS * HEAD_WIDTH
PARAMETERS = 6_000_000_000


def transformer() -> Workload:
    """32 layers of width 4,096 over 1,000 tokens, 6 billion parameters; 8 GB of activations a sample."""
    products, scores = 2.0 * PARAMETERS * TOKENS, 4.0 * TOKENS**2 * WIDTH * LAYERS

    def operation(op_class: str, phase: Any, flops: float, kernels: float, width: float = 0.0) -> Operation:
        return Operation(op_class, phase, 2, width, 0, 0, Linear(0, flops), Linear(0, 1e9), kernels)

    return convolutional()._replace(
        name="transformer",
        parameters=PARAMETERS,
        parameter_tensors=12 * LAYERS,
        operations=(
            operation("mm", "forward", products, 4 * LAYERS),
            operation("sdpa", "forward", scores, LAYERS, HEAD_WIDTH),
            operation("mm", "backward", 2 * products, 8 * LAYERS),
            operation("sdpa_bw", "backward", 2.5 * scores, 2 * LAYERS, HEAD_WIDTH),
        ),
        memory_amp=Memory(Linear(2.0 * PARAMETERS, 8e9), Linear(2.0 * PARAMETERS, 7e9)),
        recipe_batch_size_per_gpu=4,
        max_global_batch_size=1024,
        seq_length=TOKENS,
    )


def split(tensor: int = 1, pipeline: int = 1, **changes: Any) -> Experiment:
    changed = {"optimizer": "adamw", "tensor_parallel": tensor, "pipeline_parallel": pipeline, **changes}
    return experiment(transformer(), **changed)


def nodes(count: int, gpus: int = 8) -> Machine:
    return machine(A100, gpus, link=NVSWITCH, num_nodes=count, network=INFINIBAND if count > 1 else None)


def bf16() -> DevicePrecision:
    precision = resolve_precision("bf16", A100)
    assert precision is not None
    return precision


def exchanged(question: Experiment, on: Machine, micro_step_s: float, batch: int, passes: int) -> Communication:
    return exchange(question, bf16(), on, micro_step_s, batch, passes, CALIBRATION)


def test_attention_shows_layers_heads_and_width() -> None:
    assert blocks_of(transformer()) == Blocks(LAYERS, HEADS, WIDTH)
    assert blocks_of(convolutional()) is None


@pytest.mark.parametrize(
    ("name", "tokens", "expected"),
    [("llama-2-70b", 4096, (80, 64, 8192)), ("gpt2", 1024, (12, 12, 768)), ("llama-3-8b", 2048, (32, 32, 4096))],
)
def test_blocks_of_known_models(name: str, tokens: int, expected: tuple[int, int, int]) -> None:
    blocks = blocks_of(load_workload(name, tokens))
    assert blocks is not None
    assert (blocks.layers, blocks.heads) == expected[:2]
    assert blocks.width == pytest.approx(expected[2], rel=1e-3)  # records keep four digits


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tensor_parallel": 5}, "does not divide the 32 attention heads"),
        ({"pipeline_parallel": 64}, "more than the 32 layers"),
        ({"pipeline_parallel": 2, "zero_stage": 3}, "--zero 1"),
        ({"pipeline_parallel": 2, "offload": "optimizer"}, "--offload"),
        ({"tensor_parallel": 2, "workload": convolutional()}, "convolutional is none"),
    ],
)
def test_what_can_be_split_nowhere_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_split(split()._replace(**changes))


@pytest.mark.parametrize(
    ("tensor", "pipeline", "on", "said"),
    [
        (8, 1, nodes(1), ""),
        (8, 2, nodes(2), ""),
        (2, 4, nodes(2), ""),
        (16, 1, nodes(2), "does not divide the 8 GPUs of a machine"),
        (4, 1, nodes(1, gpus=6), "does not divide the 6 GPUs of a machine"),
        (4, 4, nodes(1), "4 x pipeline parallel 4 does not divide 8 GPUs"),
        (1, 2, nodes(3), "cuts a stage in two"),
        (2, 1, machine(CPU, 0), "no whole GPU"),
        (2, 1, machine(A100, 0.5), "no whole GPU"),
    ],
)
def test_a_split_that_makes_no_sense_on_a_machine_is_one_sentence(
    tensor: int, pipeline: int, on: Machine, said: str
) -> None:
    problem = split_problem(split(tensor, pipeline), on)
    assert said in problem if said else problem == ""
    estimate = StepModel(split(tensor, pipeline)).estimate(on)
    if said:
        assert not estimate.fits
        assert estimate.reason == problem


def test_copies_are_what_the_split_leaves() -> None:
    assert split_of(split(4, 2), nodes(4)) == Split(4, 2, 4)


@pytest.mark.parametrize(
    ("tensor", "pipeline", "num_nodes", "expected"),
    [(1, 1, 2, Group(8, 2, 1)), (4, 1, 2, Group(2, 2, 4)), (4, 2, 2, Group(2, 1, 4)), (2, 4, 2, Group(2, 1, 1))],
)
def test_who_sums_gradients(tensor: int, pipeline: int, num_nodes: int, expected: Group) -> None:
    """Tensor groups are nearest, then copies, then stages; the rings of a tensor group share the machine's network."""
    on = nodes(num_nodes)
    assert gradient_group(split_of(split(tensor, pipeline), on), on) == expected


def test_a_block_sums_its_activations_twice_each_way() -> None:
    """A micro batch of 2 is 2 x 1,000 x 4,096 x 2 bytes; 4 sums in each of 32 layers, six with recomputation."""
    size = 2 * TOKENS * WIDTH * 2
    each = 2 * size * 7 / 8 / link_bandwidth(NVSWITCH, 8, CONSTANTS) + 14 * CONSTANTS["link_hop_s"]
    found = exchanged(split(8), nodes(1), 0.1, 2, 3)
    assert found.exposed_s == pytest.approx(3 * 4 * LAYERS * each)
    recomputed = exchanged(split(8, grad_checkpointing=True), nodes(1), 0.1, 2, 3)
    assert recomputed.exposed_s == pytest.approx(3 * 6 * LAYERS * each)


def test_a_pipeline_waits_for_its_first_and_last_micro_steps() -> None:
    """4 stages and 8 micro steps: 3 of 11 slots are idle; activations pass on and their gradients back."""
    size = TOKENS * WIDTH * 2
    slot = 0.1 + 2 * size / link_bandwidth(NVSWITCH, 2, CONSTANTS)
    found = exchanged(split(1, 4), nodes(1, gpus=4), 0.1, 1, 8)
    assert found.exposed_s == pytest.approx(11 * slot - 8 * 0.1)
    assert idle_share(Split(1, 4, 1), 8) == pytest.approx(3 / 11)
    notes = StepModel(split(1, 4, batch_size_per_gpu=1, grad_accum_steps=8, zero_stage=1)).estimate(nodes(4)).notes
    assert notes == ("4 pipeline stages wait 27% of 8 micro steps for each other",)


def test_stages_on_different_machines_share_the_network() -> None:
    """All 8 GPUs of a machine send: each copy's activations once, cut in as many parts as the tensor group has."""
    size = TOKENS * WIDTH * 2
    found = exchanged(split(4, 2), nodes(2), 0.1, 1, 8)
    passing = 2 * size * 8 / 4 / network_bandwidth(INFINIBAND, CONSTANTS) + 2 * CONSTANTS["network_hop_s_rdma"]
    summing = 2 * size * 3 / 4 / link_bandwidth(NVSWITCH, 4, CONSTANTS) + 6 * CONSTANTS["link_hop_s"]
    slot = passing + 4 * LAYERS / 2 * summing
    assert found.exposed_s == pytest.approx(8 * slot + 0.1 + slot)


def test_a_shard_sums_its_share_of_the_gradients() -> None:
    whole, shared = step_traffic(split(), bf16()), step_traffic(split(4, 2), bf16())
    assert shared.once_bytes == pytest.approx(whole.once_bytes / 8)
    assert communicate(split(4, 2), bf16(), nodes(1), 0.1, 1, CALIBRATION).total_s == 0.0


def test_memory_of_a_shard() -> None:
    """Weights, copies, gradients and state by 8, activations by tensor only; 18 bytes a parameter under autocast."""
    factor, context = CALIBRATION.memory["activation_factor"], CALIBRATION.memory["context_bytes"]
    found = memory_model(split(4, 2), bf16(), 1, CALIBRATION, accumulates=True)
    shard = PARAMETERS / 8
    assert found.fixed_bytes == pytest.approx(shard * (4 + 2 + factor * 4 + 8) + context)
    assert found.per_sample_bytes == pytest.approx(factor * 8e9 / 4)


def test_a_copy_takes_the_batch_of_its_gpus_and_a_pipeline_cuts_it_small() -> None:
    """4 a GPU: 32 on 8 GPUs; with 4 stages in 16 micro steps of 2."""
    assert plan_batch(split(8), 2, 100)[:3] == (32, 1, 64)
    assert plan_batch(split(2, 4), 2, 100)[:3] == (2, 16, 64)
    assert plan_batch(split(1, 2, batch_size_per_gpu=3), 4, 100)[:3] == (3, 8, 96)


def test_a_stage_computes_its_share_of_a_step() -> None:
    """The same 16 samples in 16 micro steps on one GPU and on eight: an eighth of the arithmetic, half of the launches,
    and exchanges."""
    fixed: dict[str, Any] = {"batch_size_per_gpu": 1, "grad_accum_steps": 16, "precision": "bf16-pure"}
    fixed["optimizer"] = "sgd"
    roomy = A100._replace(usable_memory_bytes=400e9)
    alone = StepModel(split(**fixed)).estimate(machine(roomy)).parts
    shared = StepModel(split(4, 2, **fixed)).estimate(machine(roomy, 8, link=NVSWITCH)).parts
    assert alone is not None
    assert shared is not None
    assert shared.forward_s == pytest.approx(alone.forward_s / 8, rel=0.1)
    assert shared.backward_s == pytest.approx(alone.backward_s / 8, rel=0.1)
    assert shared.optimizer_s == pytest.approx(alone.optimizer_s / 8, rel=0.05)
    assert shared.communication_s > (shared.forward_s + shared.backward_s) / 16  # one idle slot


def test_classes_of_operations_are_those_of_one_device() -> None:
    fixed: dict[str, Any] = {"batch_size_per_gpu": 1, "precision": "bf16-pure"}
    roomy = A100._replace(usable_memory_bytes=400e9)
    alone = StepModel(split(**fixed)).operation_times(machine(roomy))
    shared = StepModel(split(8, **fixed)).operation_times(machine(roomy, 8, link=NVSWITCH))
    assert [entry.flops / 8 for entry in alone] == pytest.approx([entry.flops for entry in shared])
