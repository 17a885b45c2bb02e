"""The input pipeline: decoding on vCPUs, workers, and what is not known."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from planner.throughput.calibration import load_calibration
from planner.throughput.input_pipeline import decode_rate_per_vcpu, input_rate, vcpus_needed
from tests.throughput.examples import A100, IMAGES, TENSORS, experiment, machine

CALIBRATION = load_calibration()
IMAGE_EXPERIMENT = experiment(dataset=IMAGES)
PER_VCPU = decode_rate_per_vcpu(IMAGE_EXPERIMENT, CALIBRATION) or math.nan


def test_every_vcpu_decodes() -> None:
    assert input_rate(IMAGE_EXPERIMENT, machine(A100, vcpus=12.0), CALIBRATION).samples_per_s == 12 * PER_VCPU


def test_workers_are_per_gpu_and_bounded_by_the_vcpus() -> None:
    few = experiment(dataset=IMAGES, workers=2)
    assert input_rate(few, machine(A100, 4, vcpus=48.0), CALIBRATION).samples_per_s == 8 * PER_VCPU
    many = experiment(dataset=IMAGES, workers=64)
    assert input_rate(many, machine(A100, 4, vcpus=48.0), CALIBRATION).samples_per_s == 48 * PER_VCPU


def test_no_workers_means_one_process_that_is_not_overlapped() -> None:
    alone = input_rate(experiment(dataset=IMAGES, workers=0), machine(A100, vcpus=48.0), CALIBRATION)
    assert alone.samples_per_s == PER_VCPU
    assert not alone.overlapped


def test_every_node_decodes_its_share() -> None:
    assert input_rate(IMAGE_EXPERIMENT, machine(A100, 8, num_nodes=3, vcpus=10.0), CALIBRATION).samples_per_s == (
        30 * PER_VCPU
    )


def test_tensors_text_and_no_data_set_need_no_decoding() -> None:
    for dataset in (TENSORS, TENSORS._replace(decode="text"), None):
        assert input_rate(experiment(dataset=dataset), machine(vcpus=None), CALIBRATION).samples_per_s == math.inf
        assert vcpus_needed(experiment(dataset=dataset), 1000.0, CALIBRATION) is None
    assert decode_rate_per_vcpu(experiment(dataset=None), CALIBRATION) is None


def test_unknown_vcpus_and_unmeasured_classes_are_unknown_and_flagged() -> None:
    for question, on in (
        (IMAGE_EXPERIMENT, machine(vcpus=None)),
        (experiment(dataset=IMAGES._replace(decode="hologram")), machine()),
    ):
        found = input_rate(question, on, CALIBRATION)
        assert found.samples_per_s is None
        assert found.flags == ("input_unknown",)
    assert vcpus_needed(experiment(dataset=IMAGES._replace(decode="hologram")), 10.0, CALIBRATION) is None


@given(st.floats(1.0, 1e6))
def test_the_vcpus_named_are_enough_and_one_less_is_not(rate: float) -> None:
    needed = vcpus_needed(IMAGE_EXPERIMENT, rate, CALIBRATION) or 0
    assert needed * PER_VCPU >= rate > (needed - 1) * PER_VCPU


def test_workers_bound_the_rate_where_nobody_knows_the_vcpus() -> None:
    found = input_rate(experiment(dataset=IMAGES, workers=4), machine(A100, 2, vcpus=None), CALIBRATION)
    assert found.samples_per_s == 8 * PER_VCPU
    assert found.flags == ("input_unknown",)
