"""Memory: what fits, and what each lever saves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.accelerator import GIB
from planner.throughput.calibration import load_calibration
from planner.throughput.memory import available_bytes, memory_model
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.throughput.step import StepModel
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Linear, Memory
from tests.throughput.examples import A100, CPU, RTX3090, convolutional, experiment, machine

CALIBRATION = load_calibration()


def required(question: Experiment, batch: int = 64, devices: int = 1) -> float:
    return memory_model(question, precision_of(question), devices, CALIBRATION).required_bytes(batch)


def precision_of(question: Experiment) -> DevicePrecision:
    precision = resolve_precision(question.precision, A100)
    assert precision is not None
    return precision


def test_the_parts_are_weights_gradients_state_activations_and_context() -> None:
    factor, context = CALIBRATION.memory["activation_factor"], CALIBRATION.memory["context_bytes"]
    parameters = 25e6
    live = 160e6 + 82e6 * 64
    expected = factor * (live - 2 * parameters) + 2 * parameters + 4 * parameters + 4 * parameters + context
    assert required(experiment()) == pytest.approx(expected)


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_a_bigger_batch_never_fits_better(first: int, second: int) -> None:
    small, large = sorted((first, second))
    assert required(experiment(), small) <= required(experiment(), large)


@given(st.floats(1e9, 2e11))
def test_the_largest_batch_is_the_largest_that_fits(room: float) -> None:
    model = memory_model(experiment(), precision_of(experiment()), 1, CALIBRATION)
    largest = model.largest_batch(room)
    if largest:
        assert model.required_bytes(largest) <= room * (1 + 1e-9)
    assert model.required_bytes(largest + 1) > room * (1 - 1e-9)


@pytest.mark.parametrize(
    "lever",
    [
        {"grad_checkpointing": True},
        {"optimizer": "adamw8bit"},
        {"optimizer": "adafactor"},
        {"lora_rank": 16},
        {"precision": "bf16-pure"},
    ],
)
def test_every_lever_saves_memory(lever: dict[str, Any]) -> None:
    plain = experiment(optimizer="adamw")
    assert required(plain._replace(**lever)) < required(plain)


def test_frozen_weights_have_no_copies_gradients_or_state() -> None:
    """25 million weights of which 5 million are trained: 4 bytes each, and 2 + 4 + 4 for the trained ones."""
    factor, context = CALIBRATION.memory["activation_factor"], CALIBRATION.memory["context_bytes"]
    frozen = convolutional()._replace(trainable_parameters=5_000_000)
    live = 160e6 + 82e6 * 64
    expected = factor * (live - 2 * 5e6) + 2 * 5e6 + 4 * 25e6 + 4 * 5e6 + context
    assert required(experiment(frozen)) == pytest.approx(expected)


def test_each_zero_stage_divides_one_more_part() -> None:
    stages = [required(experiment(optimizer="adamw", zero_stage=stage), devices=8) for stage in range(4)]
    assert stages == sorted(stages, reverse=True)
    assert len(set(stages)) == 4


def test_data_parallel_buckets_cost_one_copy_of_the_gradients() -> None:
    assert required(experiment(), devices=8) - required(experiment(), devices=1) == pytest.approx(4 * 25e6)


def test_usable_memory_of_a_share_of_a_gpu_is_its_share() -> None:
    assert available_bytes(machine(RTX3090, 0.25), CALIBRATION) == pytest.approx(23.69 * GIB / 4)


def test_a_cpu_machine_offers_its_ram_and_unknown_stays_unknown() -> None:
    on_cpu = machine(CPU, 0)
    assert available_bytes(on_cpu, CALIBRATION) == pytest.approx(256 * GIB * CALIBRATION.memory["usable_ram_share"])
    assert available_bytes(on_cpu._replace(ram_bytes=None), CALIBRATION) is None
    nameless = A100._replace(usable_memory_bytes=None, memory_bytes=None)
    assert available_bytes(machine(nameless), CALIBRATION) is None
    assert available_bytes(machine(A100._replace(usable_memory_bytes=None)), CALIBRATION) == pytest.approx(
        40e9 * CALIBRATION.memory["usable_share"]
    )


def _wide(parameters: int = 1_000_000_000) -> Experiment:
    """Many parameters, few activations: the traced peak is where backward begins, before there are gradients."""
    workload = experiment().workload
    live = Linear(2.0 * parameters, 100e6)
    return experiment(workload._replace(parameters=parameters, memory_amp=Memory(live, live)))


def test_gradients_that_come_after_the_peak_do_not_add_to_it() -> None:
    """At the end of backward: weights, gradients, SGD's momentum; the 2-byte copies are gone by then."""
    end = 4e9 + CALIBRATION.memory["activation_factor"] * 4e9 + 4e9 + CALIBRATION.memory["context_bytes"]
    assert required(_wide(), batch=1) == pytest.approx(end)
    assert required(_wide(), batch=100) > end


def test_gradients_stay_between_micro_steps() -> None:
    model = memory_model(_wide(), precision_of(_wide()), 1, CALIBRATION, accumulates=True)
    assert model.required_bytes(100) - required(_wide(), batch=100) == pytest.approx(
        CALIBRATION.memory["activation_factor"] * 4e9
    )


def test_nothing_fits_where_the_end_of_backward_does_not() -> None:
    model = memory_model(_wide(), precision_of(_wide()), 1, CALIBRATION)
    assert model.largest_batch(model.end_bytes) >= 1
    assert model.largest_batch(model.end_bytes * 0.99) == 0


def test_accumulation_by_the_rule_leaves_room_for_the_gradients_it_keeps() -> None:
    question = _wide()._replace(batch_size_per_gpu=None, global_batch_size=4096)
    step = StepModel(question).estimate(machine(A100))
    assert step.grad_accum_steps > 1
    kept = memory_model(question, precision_of(question), 1, CALIBRATION, accumulates=True)
    assert step.memory_required_bytes == pytest.approx(kept.required_bytes(step.batch_size_per_gpu))


def test_four_bit_weights_save_three_quarters_of_what_products_take() -> None:
    """Llama 2's 7 B: all but the embedding and the output layer of 131 M each; the widest unpacks 4,096 x 11,008."""
    adapted = experiment(load_workload("llama-2-7b"), lora_rank=8)
    saved = required(adapted, 1) - required(adapted._replace(four_bit_weights=True), 1)
    packed = 6_738_415_616 - 2 * 131_072_000
    assert saved == pytest.approx(packed * (2.0 - 0.516) - 2.0 * 4096 * 11008, rel=0.01)


def test_sharded_frozen_weights_are_gathered_block_by_block() -> None:
    """Two blocks of about 60 of Llama 2's 70 B, whether they are trained or not."""
    shared = experiment(load_workload("llama-2-70b"), lora_rank=8, zero_stage=3)
    two, many = required(shared, 1, devices=2), required(shared, 1, devices=1 << 20)
    frozen_bytes = 2.0 * shared.workload.parameters
    assert two - many == pytest.approx(frozen_bytes / 2, rel=0.02)
    gathered = dict(memory_model(shared, precision_of(shared), 1 << 20, CALIBRATION).parts)["weights"]
    assert gathered == pytest.approx(frozen_bytes * 2 / (shared.workload.parameter_tensors / 12), rel=0.05)


def test_compiled_gpt2_is_as_large_as_where_it_was_trained() -> None:
    """64 sequences were too many for 45 GB and 32 were not (KellerJordan/modded-nanogpt#12); torch's partitioner keeps
    602 MB of each (tools/check_compiled_memory.py)."""
    asked = resolve_experiment(ExperimentRequest("gpt2", steps=1, precision="bf16", compiled=True))
    assert required(asked, 32) < 44 * GIB < required(asked, 64) < 80e9
    assert required(asked, 64) > 64 * 602e6
    assert required(asked._replace(compiled=False), 64) > 90 * GIB


@pytest.mark.parametrize(("precision", "vocabularies"), [("bf16", 2), ("fp32", 1)])
def test_a_compiled_loss_has_its_vocabulary_once_saved_and_once_as_gradient(precision: str, vocabularies: int) -> None:
    """1,024 tokens over 50,257 words in fp32 are 206 MB: eager has three of them, compiled two, in the logits' type."""
    asked = resolve_experiment(ExperimentRequest("gpt2", steps=1, precision=precision))
    less = required(asked, 65) - required(asked, 64)
    less -= required(asked._replace(compiled=True), 65) - required(asked._replace(compiled=True), 64)
    in_fp32 = 4.0 * 1024 * 50257
    assert less == pytest.approx(CALIBRATION.memory["activation_factor"] * vocabularies * in_fp32, rel=0.01)


@pytest.mark.parametrize("model", ["resnet50", "bert-base", "vit_base_patch16_224"])
def test_compiling_changes_no_memory_where_the_peak_is_not_the_losss(model: str) -> None:
    asked = resolve_experiment(ExperimentRequest(model, steps=1))
    assert required(asked._replace(compiled=True)) == pytest.approx(required(asked), rel=0.01)
