"""A tenth more of one specification: on machines taken by their specifications and on those that were measured."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.experiment.experiment import Experiment, Precision
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.cpus import cpu
from planner.hardware.machine import Machine, cpu_machine
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import ClassRate, GpuRates, Measured, MeasuredRates, Profile
from planner.throughput.estimate import Evidence
from planner.throughput.evidence import shipped_knowledge
from planner.throughput.measured import knowledge_with_profile
from planner.throughput.sensitivity import sensitivity
from planner.throughput.step import StepModel
from tests.throughput.examples import (
    A100,
    CPU,
    ETHERNET_100,
    GTX1080TI,
    IMAGES,
    NVSWITCH,
    PCIE4,
    RTX3090,
    V100,
    experiment,
    machine,
)

MOST_SAVED = 1 / 1.1 - 1
"""Where all of the time is one specification's, a tenth more of it leaves 1 / 1.1 of the time."""

THIS_CPU = cpu_machine(cpu("Zen3-Milan"), 2, 2.5e10, name="this machine")
THIS_GPU = machine_from_spec("this machine", "RTX3090", 1)._replace(cpu=cpu("Zen3-Milan"), vcpus=16.0, ram_bytes=64e9)


def _asked(model: str, precision: Precision = "amp") -> Experiment:
    return resolve_experiment(ExperimentRequest(model=model, steps=1.0, batch_size_per_gpu=8, precision=precision))


@pytest.mark.parametrize(
    "on",
    [
        machine(A100),
        machine(A100, vcpus=2.0),
        machine(RTX3090),
        machine(V100),
        machine(GTX1080TI),
        machine(CPU, 0),
        machine(A100, 8, link=NVSWITCH),
        machine(RTX3090, 4, link=PCIE4),
        machine(A100, 8, link=NVSWITCH, num_nodes=4, network=ETHERNET_100),
        machine(A100, 0.5),
    ],
    ids=lambda on: f"{on.accelerator.key}x{on.num_gpus}x{on.num_nodes}",
)
def test_a_tenth_more_saves_at_most_its_share(on: Machine) -> None:
    answers = sensitivity(experiment(dataset=IMAGES), on)
    assert answers
    for answer in answers:
        assert MOST_SAVED - 1e-9 <= answer.time_change <= 1e-9, answer


rates = st.floats(1e9, 1e13)
measured_classes = st.dictionaries(
    st.sampled_from(["mm", "bmm", "conv", "conv1", "conv_dg", "conv_wg", "bn", "ew", "ln", "copy", "gelu"]),
    st.builds(ClassRate, rates, rates),
)
profiles_of_a_cpu = st.builds(
    lambda classes, update_s, launch_s, held_s: Profile(
        "profile.json",
        "2026-11-30",
        MeasuredRates(classes, {"sgd": update_s}, launch_s, held_s),
        (),
    ),
    measured_classes,
    st.floats(1e-10, 1e-7),
    st.floats(0.0, 1e-4),
    st.floats(0.0, 1e-8),
)
measured = st.builds(Measured, st.floats(1e12, 1e14), st.just(0.05))
profiles_of_a_gpu = st.builds(
    lambda products, moved: Profile("profile.json", "2026-11-30", None, (), gpu=GpuRates(products, moved)),
    st.dictionaries(st.sampled_from(["half", "tf32", "fp32"]), measured),
    st.builds(Measured, st.floats(1e11, 1e12), st.just(0.05)),
)
profiled = st.one_of(st.tuples(st.just(THIS_CPU), profiles_of_a_cpu), st.tuples(st.just(THIS_GPU), profiles_of_a_gpu))


@given(profiled, st.sampled_from(["resnet18", "bert-base"]), st.sampled_from(["amp", "fp32", "bf16"]))
def test_a_tenth_more_saves_at_most_its_share_where_rates_were_measured(
    here: tuple[Machine, Profile], model: str, precision: Precision
) -> None:
    on, profile = here
    asked = _asked(model, precision)
    answers = sensitivity(asked, on, knowledge_with_profile(shipped_knowledge(), profile, on, asked))
    assert answers
    for answer in answers:
        assert MOST_SAVED - 1e-9 <= answer.time_change <= 1e-9, answer


def test_measured_rates_rise_with_the_specification_that_limits_them() -> None:
    """Arithmetic, traffic and updates alone: a tenth more of both saves 1/11, and bandwidth the part of the traffic."""
    product, copy, update_s = 50e9, 10e9, 2e-9
    products = ("conv", "conv_dg", "conv_wg", "conv1", "conv1_dg", "conv1_wg", "mm")
    moving = ("bn", "ew", "pool", "red", "softmax", "copy")
    classes = {name: ClassRate(product, math.inf) for name in products}
    classes |= {name: ClassRate(None, copy) for name in moving}
    flat = MeasuredRates(classes, {"sgd": update_s}, launch_s=0.0, held_s_per_byte=0.0)
    asked = _asked("resnet18")
    operations = asked.workload.as_fp32().operations
    arithmetic_s = sum(operation.flops.at(8) for operation in operations) / product
    moved = sum(operation.bytes.at(8) for operation in operations if operation.op_class in moving)
    moving_s = moved / copy + update_s * asked.workload.parameters
    profile = Profile("profile.json", "2026-11-30", flat, ())
    knowledge = knowledge_with_profile(shipped_knowledge(), profile, THIS_CPU, asked)
    found = {row.spec: row.time_change for row in sensitivity(asked, THIS_CPU, knowledge)}
    assert found["bandwidth"] == pytest.approx(MOST_SAVED * moving_s / (arithmetic_s + moving_s), rel=1e-6)
    assert found["flops"] == pytest.approx(MOST_SAVED * arithmetic_s / (arithmetic_s + moving_s), rel=1e-6)
    assert found["link"] == found["vcpus"] == 0.0


EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
"""Best first."""


@given(profiles_of_a_cpu, st.sampled_from(["resnet18", "bert-base"]))
def test_no_profile_makes_the_evidence_worse(profile: Profile, model: str) -> None:
    asked = _asked(model)
    plain = StepModel(asked).estimate(THIS_CPU)
    known = StepModel(asked, knowledge_with_profile(shipped_knowledge(), profile, THIS_CPU, asked)).estimate(THIS_CPU)
    assert EVIDENCE.index(known.evidence) <= EVIDENCE.index(plain.evidence)
    assert profile.rates is not None
    assert (known.evidence == "measured_here") == profile.rates.complete
