"""Stored attention scores, derived from fused rows, against networks traced both ways."""

from __future__ import annotations

import pytest

from planner.workloads.attention import with_stored_scores
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Linear

# torch 2.14 with timm's fused attention switched off: live bytes a sample under autocast and in fp32, and launches.
TRACED_UNFUSED = {
    "deit_tiny_patch16_224": (2.619e7, 3.603e7, 835),
    "vit_base_patch16_224": (1.019e8, 1.422e8, 835),
    "vit_base_patch16_384": (4.890e8, 5.482e8, 835),
}


@pytest.mark.parametrize("name", TRACED_UNFUSED)
def test_memory_and_launches_equal_a_trace_without_fused_attention(name: str) -> None:
    amp, fp32, kernels = TRACED_UNFUSED[name]
    unfused = with_stored_scores(load_workload(name))
    assert unfused.memory_amp.live_bytes.per_sample == pytest.approx(amp, rel=0.02)
    assert unfused.memory_fp32.live_bytes.per_sample == pytest.approx(fp32, rel=0.02)
    assert sum(op.kernels for op in unfused.operations) == kernels


def test_flops_lose_only_what_fused_attention_recomputes() -> None:
    fused = load_workload("vit_base_patch16_224")
    unfused = with_stored_scores(fused)
    recomputed = sum(op.flops.per_sample / 5 for op in fused.operations if op.op_class == "sdpa_bw")
    assert unfused.forward_flops_per_sample == pytest.approx(fused.forward_flops_per_sample)
    difference = fused.training_flops_per_sample - unfused.training_flops_per_sample
    assert difference == pytest.approx(recomputed, rel=1e-6)


def test_no_fused_row_is_left_and_bytes_grow() -> None:
    fused = load_workload("vit_base_patch16_224")
    unfused = with_stored_scores(fused)
    assert not any(op.op_class.startswith("sdpa") for op in unfused.operations)
    assert sum(op.bytes.at(1) for op in unfused.operations) > sum(op.bytes.at(1) for op in fused.operations)


def test_fp32_records_have_no_casts() -> None:
    unfused = with_stored_scores(load_workload("vit_base_patch16_224").as_fp32())
    assert not any(op.op_class == "cast" for op in unfused.operations)


def test_a_network_without_attention_is_itself() -> None:
    resnet = load_workload("resnet50")
    assert with_stored_scores(resnet) is resnet


def test_scores_are_counted_from_flops_and_head_width() -> None:
    """197 tokens, 12 heads, 12 layers: 5.6 million scores an image."""
    unfused = with_stored_scores(load_workload("vit_base_patch16_224"))
    softmax = [
        op for op in unfused.operations if op.op_class == "softmax" and op.phase == "forward" and op.kernels == 12
    ]
    (row,) = softmax
    assert row.bytes == pytest.approx(Linear(0.0, 12 * 12 * 197 * 197 * 6), rel=1e-3)
