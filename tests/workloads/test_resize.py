"""Other image sizes and sequence lengths: recorded ones as recorded, others by rule, none invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.workloads.catalog import load_workload
from planner.workloads.resize import at_image_size, at_seq_length
from planner.workloads.workload import Workload


def _attention_flops(workload: Workload) -> float:
    return sum(op.flops.per_sample for op in workload.operations if op.op_class in ("sdpa", "sdpa_bw"))


def _bytes(workload: Workload) -> float:
    return sum(op.bytes.per_sample for op in workload.operations)


def test_own_size_is_unchanged() -> None:
    resnet, gpt2 = load_workload("resnet50"), load_workload("gpt2")
    assert at_image_size(resnet, 224) is resnet
    assert at_seq_length(gpt2, 1024) is gpt2


def test_a_recorded_size_is_taken_as_recorded() -> None:
    resized = at_image_size(load_workload("resnet50"), 288)
    assert resized.operations == load_workload("resnet50@288").operations
    assert resized.name == "resnet50"
    assert resized.image_size == 288


@pytest.mark.parametrize("size", [192, 256, 320, 384])
def test_convolutions_scale_with_the_area_between_records(size: int) -> None:
    resnet = load_workload("resnet50")
    resized = at_image_size(resnet, size)
    ratio = (size / 224) ** 2
    assert resized.image_size == size
    assert resized.parameters == resnet.parameters
    assert resized.training_flops_per_sample / resnet.training_flops_per_sample == pytest.approx(ratio, rel=0.03)
    saved = resized.memory_amp.saved_bytes.per_sample / resnet.memory_amp.saved_bytes.per_sample
    assert saved == pytest.approx(ratio, rel=0.03)


def test_launches_do_not_grow_with_the_image() -> None:
    resnet = load_workload("resnet50")
    assert sum(op.kernels for op in at_image_size(resnet, 256).operations) == pytest.approx(
        sum(op.kernels for op in resnet.operations)
    )


def test_an_interpolated_size_lies_near_the_record_that_was_left_out() -> None:
    """224 from 160 and 288, against the record at 224."""
    resnet = load_workload("resnet50")
    between = [load_workload("resnet50@160"), load_workload("resnet50@288")]
    share = (224**2 - 160**2) / (288**2 - 160**2)
    flops = (1 - share) * between[0].training_flops_per_sample + share * between[1].training_flops_per_sample
    assert flops == pytest.approx(resnet.training_flops_per_sample, rel=0.02)


@pytest.mark.parametrize("size", [1, 16, 4096, 10**9])
def test_sizes_outside_the_records_are_refused_with_the_sizes_known(size: int) -> None:
    with pytest.raises(InputError, match=r"224.*288"):
        at_image_size(load_workload("resnet50"), size)


def test_a_model_recorded_once_names_its_size() -> None:
    with pytest.raises(InputError, match="224 only"):
        at_image_size(load_workload("swin_tiny_patch4_window7_224"), 256)


def test_sizes_of_things_without_them_are_refused() -> None:
    with pytest.raises(InputError, match="--img-size"):
        at_image_size(load_workload("gpt2"), 224)
    with pytest.raises(InputError, match="--seq-length"):
        at_seq_length(load_workload("resnet50"), 128)


def test_fused_attention_grows_with_the_square_and_the_rest_with_the_length() -> None:
    short = load_workload("llama-2-7b")
    assert short.seq_length is not None
    long = at_seq_length(short, 2 * short.seq_length)
    assert _attention_flops(long) == pytest.approx(4 * _attention_flops(short))
    rest = short.training_flops_per_sample - _attention_flops(short)
    assert long.training_flops_per_sample - _attention_flops(long) == pytest.approx(2 * rest)
    assert _bytes(long) == pytest.approx(2 * _bytes(short))
    assert long.memory_amp.saved_bytes.per_sample == pytest.approx(2 * short.memory_amp.saved_bytes.per_sample)
    assert long.memory_amp.saved_bytes.fixed == short.memory_amp.saved_bytes.fixed


def test_the_rule_meets_a_trace_at_another_length() -> None:
    """MPT-125m traced at 2,048 tokens, stretched to 1,024, against 6 N + 12 L d S FLOPs a token of its weights."""
    shorter = at_seq_length(load_workload("mpt-125m"), 1024)
    weights = 12 * 12 * 768**2 + 50368 * 768
    fused_attention = 14 * 12 * 768 * 1024  # 4 forward, 10 backward, a token, a layer
    assert shorter.training_flops_per_sample == pytest.approx(1024 * (6 * weights + fused_attention), rel=0.01)


def test_stored_scores_at_a_recorded_length() -> None:
    long = at_seq_length(load_workload("bert-large-pretraining"), 512)
    assert long.operations == load_workload("bert-large-pretraining@512").operations


def test_stored_scores_between_lengths_grow_faster_than_the_length() -> None:
    squad = load_workload("bert-base-squad")
    longer = at_seq_length(squad, 768)
    assert longer.memory_amp.saved_bytes.per_sample > 2.5 * squad.memory_amp.saved_bytes.per_sample
    assert 2.0 < longer.training_flops_per_sample / squad.training_flops_per_sample < 2.5


@pytest.mark.parametrize("length", [1, 2, 10**9])
def test_lengths_far_from_every_record_are_refused(length: int) -> None:
    with pytest.raises(InputError, match="tokens"):
        at_seq_length(load_workload("llama-2-7b"), length)


@given(st.integers(64, 16384), st.integers(64, 16384))
def test_longer_sequences_never_cost_less(first: int, second: int) -> None:
    short, long = sorted((first, second))
    gpt2 = load_workload("gpt2")
    a, b = at_seq_length(gpt2, short), at_seq_length(gpt2, long)
    assert a.training_flops_per_sample <= b.training_flops_per_sample
    assert a.memory_amp.live_bytes.at(1) <= b.memory_amp.live_bytes.at(1)


@given(st.integers(32, 448), st.integers(32, 448))
def test_larger_images_never_cost_less(first: int, second: int) -> None:
    small, large = sorted((first, second))
    resnet = load_workload("resnet50")
    a, b = at_image_size(resnet, small), at_image_size(resnet, large)
    assert a.training_flops_per_sample <= b.training_flops_per_sample * (1 + 1e-9)
