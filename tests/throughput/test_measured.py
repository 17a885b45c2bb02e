"""The throughput model of the machine that was profiled."""

from __future__ import annotations

import math
from typing import Any

import pytest

from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.cpus import cpu
from planner.hardware.machine import Machine, cpu_machine
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import ClassRate, MeasuredRates, Profile, TrainingRun
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import shipped_knowledge
from planner.throughput.kernels import kind_of
from planner.throughput.measured import knowledge_with_profile, workload_of
from planner.throughput.step import StepModel

HERE = cpu_machine(cpu("Zen3-Milan"), 2, 2.5e10, name="this machine")
OTHER = cpu_machine(cpu("Zen3-Milan"), 64, 2.5e11, name="another one")
FLOPS, BYTES = 50e9, 10e9
CLASSES = (
    *("conv", "conv_dg", "conv_wg", "conv1", "conv1_dg", "conv1_wg", "gconv", "gconv_dg", "gconv_wg"),
    *("dw", "dw_dg", "dw_wg", "mm", "bmm", "sdpa", "sdpa_bw", "rnn"),
)
MOVING = ("bn", "ln", "gn", "ew", "copy", "pool", "gather", "red", "softmax", "cast")
FLAT = MeasuredRates(
    {name: ClassRate(FLOPS, math.inf) for name in CLASSES} | {name: ClassRate(None, BYTES) for name in MOVING},
    {"sgd": 2e-9},
    launch_s=0.0,
    held_s_per_byte=0.0,
)


def experiment(model: str = "resnet18", batch: int = 8, **more: Any) -> Experiment:
    return resolve_experiment(ExperimentRequest(model=model, steps=1.0, batch_size_per_gpu=batch, **more))


def profile(rates: MeasuredRates | None = FLAT, *runs: TrainingRun) -> Profile:
    return Profile("profile.json", "2026-11-30", rates, runs)


def run(model: str, seconds: float, device: str = "cpu", **more: Any) -> TrainingRun:
    fields = {"precision": "fp32", "optimizer": "sgd", "batch_size": 8, **more}
    return TrainingRun(
        model, device, step_time_s=seconds, low_s=seconds, high_s=seconds, steps=9, measured_at="", **fields
    )


def step_s(asked: Experiment, known: Profile, machine: Machine = HERE) -> float:
    knowledge = knowledge_with_profile(shipped_knowledge(), known, HERE, asked)
    estimate = StepModel(asked, knowledge).estimate(machine)
    assert estimate.step_time_s is not None
    return estimate.step_time_s.p50


def test_a_step_is_its_arithmetic_and_its_traffic_at_the_measured_rates() -> None:
    """With one rate for all arithmetic, one for all traffic and 2 ns a parameter nothing else is left."""
    asked = experiment()
    workload = asked.workload.as_fp32()
    flops = sum(operation.flops.at(8) for operation in workload.operations)
    moved = sum(operation.bytes.at(8) for operation in workload.operations if operation.op_class in MOVING)
    by_hand = flops / FLOPS + moved / BYTES + 2e-9 * asked.workload.parameters
    assert step_s(asked, profile()) == pytest.approx(by_hand, rel=1e-6)


def test_launches_and_held_memory_come_on_top() -> None:
    asked = experiment()
    rates = FLAT._replace(launch_s=1e-5, held_s_per_byte=1e-9)
    workload = asked.workload
    launches = sum(operation.kernels for operation in workload.as_fp32().operations) + 0.5 * workload.parameter_tensors
    held = workload.memory_fp32.saved_bytes.at(8) + 4 * workload.parameters
    extra = step_s(asked, profile(rates)) - step_s(asked, profile())
    assert extra == pytest.approx(1e-5 * launches + 1e-9 * held, rel=1e-6)


def test_twice_the_rates_take_half_the_time() -> None:
    double = FLAT._replace(
        classes={
            name: ClassRate(rate.flops_per_s and 2 * rate.flops_per_s, rate.bytes_per_s and 2 * rate.bytes_per_s)
            for name, rate in FLAT.classes.items()
        },
        updates={"sgd": 1e-9},
    )
    asked = experiment("resnet50")
    assert step_s(asked, profile(double)) == pytest.approx(step_s(asked, profile()) / 2, rel=1e-6)


def test_an_estimate_from_measured_rates_says_so_and_is_narrower() -> None:
    asked = experiment()
    plain = StepModel(asked).estimate(HERE)
    measured = StepModel(asked, knowledge_with_profile(shipped_knowledge(), profile(), HERE, asked)).estimate(HERE)
    assert measured.evidence == "measured_here"
    assert "cpu_unmeasured" in plain.flags
    assert "cpu_unmeasured" not in measured.flags
    assert plain.step_time_s is not None
    assert measured.step_time_s is not None
    wide, narrow = (time.p90 / time.p10 for time in (plain.step_time_s, measured.step_time_s))
    assert narrow < wide


def test_another_machine_is_not_touched_by_a_cpus_rates_and_runs() -> None:
    asked = experiment()
    gpu = machine_from_spec("a", "RTX3090", 1)
    for machine in (OTHER, gpu):
        plain = StepModel(asked).estimate(machine).step_time_s
        assert plain is not None
        assert step_s(asked, profile(FLAT, run("resnet18", 9.0)), machine) == plain.p50


def test_a_run_of_the_model_itself_settles_it() -> None:
    asked = experiment()
    predicted = step_s(asked, profile())
    settled = step_s(asked, profile(FLAT, run("resnet18", 1.3 * predicted)))
    assert 1.2 * predicted < settled < 1.3 * predicted


def test_a_run_of_another_model_moves_it_less_and_widens_it_more() -> None:
    asked, other = experiment("resnet50"), experiment("resnet18")
    known = profile(FLAT, run("resnet18", 1.3 * step_s(other, profile())))
    factor = step_s(asked, known) / step_s(asked, profile())
    assert 1.1 < factor < 1.25

    def width(asked: Experiment, known: Profile) -> float:
        knowledge = knowledge_with_profile(shipped_knowledge(), known, HERE, asked)
        time = StepModel(asked, knowledge).estimate(HERE).step_time_s
        assert time is not None
        return time.p90 / time.p10

    assert width(other, known) < width(asked, known) < width(asked, profile())


def test_costly_functions_are_part_of_a_transformers_elementwise_operations() -> None:
    rates = FLAT._replace(
        classes={**FLAT.classes, "gelu": ClassRate(None, BYTES / 10), "dropout": ClassRate(None, BYTES / 10)}
    )
    transformer, network = experiment("bert-base"), experiment("resnet18")
    assert kind_of(transformer.workload) == "transformer"
    assert step_s(transformer, profile(rates)) > 1.01 * step_s(transformer, profile())
    assert step_s(network, profile(rates)) == pytest.approx(step_s(network, profile()), rel=1e-9)


# Spreads: 0.12 of a kind of network, 0.06 of a network of it, 0.1 of a probe's steps.
PROBES_SHARE = 0.12**2 / (0.12**2 + 0.06**2 + 0.1**2)


@pytest.mark.parametrize(
    ("model", "factor"),
    [("mobilenet_v2", 4.0**PROBES_SHARE), ("resnet18", 1.0), ("bert-base", 1.0), ("resnext50_32x4d", 1.0)],
)
def test_surroundings_are_those_of_the_networks_kind(model: str, factor: float) -> None:
    """A probe that took four times its operations lets expect 4 ** 0.51 of its kind."""
    asked = experiment(model)
    rates = FLAT._replace(surroundings={"depthwise": -math.log(4.0), "recurrent": -math.log(9.0)})
    assert step_s(asked, profile(rates)) == pytest.approx(factor * step_s(asked, profile()), rel=1e-9)


@pytest.mark.parametrize(("model", "pointwise"), [("vgg16", 0.0), ("resnet50", 1.0), ("resnext50_32x4d", 1.0)])
def test_a_convolutional_network_is_like_the_probe_with_as_many_pointwise_convolutions(
    model: str, pointwise: float
) -> None:
    asked = experiment(model)
    rates = FLAT._replace(surroundings={"convolutional": -math.log(2.0), "bottleneck": -math.log(3.0)})
    factor = (2.0 * 1.5**pointwise) ** PROBES_SHARE
    assert step_s(asked, profile(rates)) == pytest.approx(factor * step_s(asked, profile()), rel=2e-3)


def test_a_network_between_two_probes_is_between_them() -> None:
    """A quarter of GoogLeNet's arithmetic in 1x1 convolutions is half of the way to bottlenecks."""
    asked = experiment("googlenet")
    flops = {True: 0.0, False: 0.0}
    for operation in asked.workload.operations:
        if operation.op_class.startswith("conv"):
            flops[operation.op_class.startswith("conv1")] += operation.flops.per_sample
    share = flops[True] / sum(flops.values())
    assert 0.1 < share < 0.4
    rates = FLAT._replace(surroundings={"convolutional": 0.0, "bottleneck": -math.log(3.0)})
    factor = step_s(asked, profile(rates)) / step_s(asked, profile())
    assert factor == pytest.approx(3.0 ** (PROBES_SHARE * share / 0.5))


def test_a_run_corrects_surroundings_too() -> None:
    asked = experiment()
    rates = FLAT._replace(surroundings={"convolutional": -math.log(1.2)})
    predicted = step_s(asked, profile(rates))
    assert predicted < step_s(asked, profile(rates, run("resnet18", 1.3 * predicted))) < 1.3 * predicted


def _estimate(asked: Experiment, known: Profile) -> StepEstimate:
    return StepModel(asked, knowledge_with_profile(shipped_knowledge(), known, HERE, asked)).estimate(HERE)


def _doubt(estimate: StepEstimate) -> tuple[str, float, float]:
    time = estimate.step_time_s
    assert time is not None
    return estimate.evidence, round(time.p10 / time.p50, 9), round(time.p90 / time.p50, 9)


def test_products_alone_leave_the_evidence_as_it_was() -> None:
    """As numpy gives them: what else there is keeps its share of what products reach."""
    alone = MeasuredRates({"mm": ClassRate(20e9, 1e10)}, {})
    asked = experiment()
    assert _doubt(_estimate(asked, profile(alone))) == _doubt(StepModel(asked).estimate(HERE))
    slower = MeasuredRates({"mm": ClassRate(10e9, 1e10)}, {})
    assert step_s(asked, profile(slower)) > 1.5 * step_s(asked, profile(alone))


def test_copying_alone_changes_nothing() -> None:
    """As Python without numpy measures it: no estimate of this machine is worse for it."""
    copied = MeasuredRates({"copy": ClassRate(None, 1e9)}, {})
    asked = experiment()
    assert _estimate(asked, profile(copied)) == StepModel(asked).estimate(HERE)
    assert not profile(copied).words.startswith("rates of the CPU")
    assert profile().words.startswith("rates of the CPU")


@pytest.mark.parametrize("rates", [None, MeasuredRates({"copy": ClassRate(None, 1e9)}, {})])
def test_a_run_settles_its_model_without_rates_too(rates: MeasuredRates | None) -> None:
    asked = experiment()
    plain = StepModel(asked).estimate(HERE).step_time_s
    assert plain is not None
    settled = _estimate(asked, profile(rates, run("resnet18", 1.5 * plain.p50)))
    assert settled.evidence == "measured_here"
    assert settled.step_time_s is not None
    assert 1.2 * plain.p50 < settled.step_time_s.p50 < 1.5 * plain.p50


def test_runs_on_a_gpu_move_its_own_and_like_estimates() -> None:
    machine = machine_from_spec("this machine", "RTX3090", 1)
    asked = experiment("resnet50", 64)
    before = StepModel(asked).estimate(machine).step_time_s
    assert before is not None
    ran = run("resnet50", 1.5 * before.p50, "cuda", batch_size=64, precision="amp")
    knowledge = knowledge_with_profile(shipped_knowledge(), profile(None, ran), machine, asked)
    after = StepModel(asked, knowledge).estimate(machine)
    assert after.evidence == "measured_here"
    assert after.step_time_s is not None
    assert 1.05 * before.p50 < after.step_time_s.p50 < 1.5 * before.p50
    like = machine_from_spec("b", "RTX3080", 1)
    moved, plain = StepModel(asked, knowledge).estimate(like), StepModel(asked).estimate(like)
    assert moved.step_time_s is not None
    assert plain.step_time_s is not None
    assert moved.step_time_s.p50 > plain.step_time_s.p50


@pytest.mark.parametrize("changed", [{"precision": "fp9"}, {"optimizer": "magic"}, {"image_size": 7}])
def test_runs_that_mean_nothing_teach_nothing(changed: dict[str, Any]) -> None:
    asked = experiment()
    assert step_s(asked, profile(FLAT, run("resnet18", 99.0, **changed))) == step_s(asked, profile())


def test_the_record_of_a_run_is_at_its_size() -> None:
    assert workload_of(run("no-such-model", 1.0)) is None
    longer = workload_of(run("bert-base", 1.0, seq_length=256))
    assert longer is not None
    assert longer.seq_length == 256


def test_decoding_is_as_fast_as_measured() -> None:
    asked = resolve_experiment(ExperimentRequest(model="resnet18", epochs=1.0, batch_size_per_gpu=8))
    rates = FLAT._replace(classes={name: ClassRate(1e15, 1e15) for name in (*CLASSES, *MOVING)}, updates={})
    known = profile(rates)._replace(decode_images_per_s_per_core=10.0)
    assert step_s(asked, known) >= 8 / (2 * 10.0)
