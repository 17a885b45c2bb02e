"""The operation record: lines in the batch size, and the fp32 step derived from the mixed-precision one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.workloads.catalog import load_workload
from planner.workloads.workload import Linear

finite = st.floats(-1e12, 1e12)


@given(finite, finite, st.floats(0, 1e5))
def test_scaling_a_line_scales_its_values(fixed: float, slope: float, batch: float) -> None:
    line = Linear(fixed, slope)
    assert line.scaled(2.0).at(batch) == pytest.approx(2.0 * line.at(batch), rel=1e-9, abs=1e-3)


def test_fp32_drops_casts_and_doubles_half_operands() -> None:
    amp = load_workload("resnet50")
    fp32 = amp.as_fp32()
    assert not any(op.op_class == "cast" or op.element_bytes == 2 for op in fp32.operations)
    kept = [op for op in amp.operations if op.op_class != "cast"]
    assert len(fp32.operations) == len(kept)
    for before, after in zip(kept, fp32.operations, strict=True):
        assert after.bytes.at(8) == before.bytes.at(8) * (2 if before.element_bytes == 2 else 1)
        assert after.flops == before.flops
    assert fp32.training_flops_per_sample == amp.training_flops_per_sample
