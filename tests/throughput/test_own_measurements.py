"""--measured: what it reads, and how far one measurement moves the estimates of every machine."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.presets import machine_from_spec
from planner.throughput.own_measurements import knowledge_with, own_measurement
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
