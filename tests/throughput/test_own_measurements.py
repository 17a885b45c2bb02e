"""--measured: what it reads, and how far one measurement moves the estimates of every machine."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.catalog import accelerator
from planner.hardware.presets import machine_from_spec
from planner.throughput.own_measurements import (
    above_peak,
    contradictions,
    far_below,
    knowledge_with,
    own_measurement,
)
from planner.throughput.step import StepModel

RESNET = resolve_experiment(ExperimentRequest("resnet50", epochs=90))._replace(dataset=None)


def _rate(gpu: str, *measured: str) -> float:
    step = StepModel(RESNET, knowledge_with(measured, RESNET)).estimate(machine_from_spec("x", gpu))
    assert step.samples_per_s is not None
    return step.samples_per_s.p50


def test_what_is_read() -> None:
    plain = own_measurement("RTX 3090=812", RESNET)
    assert (plain.machine.accelerator.key, plain.machine.num_gpus, plain.samples_per_s) == ("RTX3090", 1, 812)
    assert (plain.precision, plain.batch_size_per_gpu) == ("amp", None)
    full = own_measurement("A100-40GB-SXM:8 = 9800, fp32, b128", RESNET)
    assert (full.machine.accelerator.key, full.machine.num_gpus) == ("A100-40GB-SXM", 8)
    assert (full.samples_per_s, full.precision, full.batch_size_per_gpu) == (9800, "fp32", 128)


@pytest.mark.parametrize(
    "text",
    ["", "812", "=812", "RTX 3090=", "RTX 3090=fast", "RTX 3090=-1", "RTX 3090=nan", "RTX 3090=812,b0", "T4=1,int4"],
)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError):
        own_measurement(text, RESNET)


def test_an_unknown_gpu() -> None:
    with pytest.raises(InputError, match="unknown accelerator"):
        own_measurement("RTX 9999=812", RESNET)


def test_a_measurement_moves_its_own_gpu_most_but_never_all_the_way() -> None:
    before = _rate("RTX3090")
    measured = before * 0.7
    after = _rate("RTX3090", f"RTX 3090={measured}")
    assert measured < after < before
    # The same workload and generation move too, a different architecture less, all in the same direction.
    sibling = _rate("RTX3080", f"RTX 3090={measured}") / _rate("RTX3080")
    stranger = _rate("V100-SXM2-16GB", f"RTX 3090={measured}") / _rate("V100-SXM2-16GB")
    assert after / before < sibling < stranger < 1


def test_measurements_narrow_the_interval() -> None:
    def width(*measured: str) -> float:
        step = StepModel(RESNET, knowledge_with(measured, RESNET)).estimate(machine_from_spec("x", "RTX5080"))
        assert step.step_time_s is not None
        return step.step_time_s.p90 / step.step_time_s.p10

    assert width(f"RTX 5080={_rate('RTX5080')}") < width()


def test_no_measurement_is_what_ships() -> None:
    assert _rate("T4") == StepModel(RESNET).estimate(machine_from_spec("x", "T4")).samples_per_s.p50  # type: ignore[union-attr]


GPT2 = resolve_experiment(ExperimentRequest("gpt2", tokens=1e9))


def test_more_than_the_gpus_arithmetic_allows_is_doubted() -> None:
    """An RTX 3090 has 71.2 bf16 TFLOP/s, a step of GPT-2 about 6 FLOP for each of 124 M weights and 1,024 tokens."""
    limit = accelerator("RTX3090").bf16_flops_per_s / GPT2.workload.training_flops_per_sample  # type: ignore[operator]
    assert limit == pytest.approx(71e12 / (6 * 124e6 * 1024), rel=0.2)
    assert above_peak([f"RTX 3090={0.99 * limit}", f"RTX 3090:4={3.9 * limit}"], GPT2) == []
    (text,) = above_peak([f"RTX 3090={0.5 * limit}", f"RTX 3090:2={3 * limit}"], GPT2)
    assert text.startswith(f"the measurement 'RTX 3090:2={3 * limit}' is 150% of what the arithmetic of its 2 GPUs")
    assert text.endswith("it is taken as sequences of 1,024 tokens a second, of gpt2 in amp")


def test_steps_a_second_are_doubted() -> None:
    """resnet50 on an RTX 3090 trains at some 850 images/s: 3 are steps of 256 a second, 200 a loop that waits."""
    assert far_below(["RTX 3090=812", "RTX 3090=200"], RESNET) == []
    (text,) = far_below(["RTX 3090=3"], RESNET)
    assert "'RTX 3090=3'" in text
    assert "images a second, which is steps a second times the batch" in text


def test_measurements_of_one_run_that_differ_are_doubted() -> None:
    assert contradictions(["RTX 3090=812", "RTX 3090=700", "RTX 3090=300,fp32", "RTX 3090:2=1500"], RESNET) == []
    (text,) = contradictions(["RTX 3090=812", "RTX 4090=1000", "GeForce RTX 3090=100"], RESNET)
    assert "'GeForce RTX 3090=100' and 'RTX 3090=812'" in text
    assert "8.1 times" in text


def test_a_measurement_said_twice_is_one() -> None:
    assert _rate("RTX3090", "RTX 3090=600", "RTX 3090=600") == _rate("RTX3090", "RTX 3090=600")


def test_no_estimate_is_quicker_than_its_arithmetic_but_by_transforms() -> None:
    """V100: 125 TFLOP/s of matrix engines bound every quantile; fp32 convolutions multiply less than is counted."""
    step = StepModel(RESNET, knowledge_with(["V100-SXM2-16GB=99999"], RESNET)).estimate(machine_from_spec("x", "V100"))
    assert step.mfu == pytest.approx(1.0)
    assert step.samples_per_s is not None
    assert step.samples_per_s.p90 == pytest.approx(step.samples_per_s.p50)
    plain = RESNET._replace(precision="fp32")
    single = StepModel(plain, knowledge_with(["V100-SXM2-16GB=1600"], plain)).estimate(machine_from_spec("x", "V100"))
    assert single.mfu is not None
    assert single.mfu > 1.2


def test_frozen_weights_have_no_gradients_to_count() -> None:
    limit = accelerator("RTX3090").bf16_flops_per_s / GPT2.workload.training_flops_per_sample  # type: ignore[operator]
    assert above_peak([f"RTX 3090={1.1 * limit}"], GPT2._replace(lora_rank=16)) == []


def test_convolutions_that_multiply_less_than_is_counted_are_not_doubted() -> None:
    """Winograd's F(4x4, 3x3) leaves out three of four multiplications (Lavin and Gray, CVPR 2016)."""
    limit = accelerator("V100-SXM2-16GB").fp32_flops_per_s / RESNET.workload.training_flops_per_sample  # type: ignore[operator]
    assert above_peak([f"V100-SXM2-16GB={1.2 * limit},fp32"], RESNET) == []
    assert above_peak([f"V100-SXM2-16GB={1.2 * limit * 125 / 15.7}"], RESNET) != []


@pytest.mark.parametrize(
    "changes",
    [
        {"lora_rank": 16},
        {"lora_rank": 16, "four_bit_weights": True},
        {"grad_checkpointing": True},
        {"zero_stage": 3},
    ],
)
def test_a_measurement_is_held_against_the_step_that_ran(changes: dict[str, Any]) -> None:
    """What the tool says of just this run teaches nothing: two thirds of the arithmetic are no faster GPU."""
    asked = GPT2._replace(optimizer="adamw", batch_size_per_gpu=8, **changes)
    four = machine_from_spec("x", "RTX 3090", 4)
    said = StepModel(asked).estimate(four).samples_per_s
    without: dict[str, Any] = {
        "lora_rank": None,
        "four_bit_weights": False,
        "grad_checkpointing": False,
        "zero_stage": 0,
    }
    plain = StepModel(asked._replace(**without)).estimate(four).samples_per_s
    assert said is not None
    assert plain is not None
    assert abs(said.p50 / plain.p50 - 1.0) > 0.03, "the step differs"
    (reference,) = knowledge_with([f"RTX 3090:4={said.p50}"], asked).references
    assert reference.log_residual == pytest.approx(0.0, abs=1e-9)


def test_a_gpu_that_cannot_have_run_it_is_named_with_the_reason() -> None:
    with pytest.raises(InputError, match="tensor parallel 2 does not divide"):
        knowledge_with(["RTX 3090=5"], GPT2._replace(tensor_parallel=2))
