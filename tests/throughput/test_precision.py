"""Precision as each device runs it (docs/model.md)."""

from __future__ import annotations

import pytest

from planner.experiment.experiment import Precision
from planner.throughput.precision import resolve_precision
from tests.throughput.examples import A100, CPU, GTX1080TI, V100


@pytest.mark.parametrize(
    ("device", "asked", "resolved"),
    [
        (A100, "amp", "bf16"),
        (V100, "amp", "fp16"),
        (GTX1080TI, "amp", "fp32"),
        (CPU, "amp", "fp32"),
        (A100, "fp16", "fp16"),
        (A100, "tf32", "tf32"),
        (V100, "tf32", "fp32"),
        (A100, "fp32-strict", "fp32-strict"),
        (A100, "bf16-pure", "bf16-pure"),
        (A100, "fp8", "bf16"),
    ],
)
def test_the_resolved_name(device: object, asked: Precision, resolved: str) -> None:
    found = resolve_precision(asked, device)  # type: ignore[arg-type]
    assert found is not None
    assert found.name == resolved
    assert bool(found.note) == (asked not in ("amp", resolved) or resolved == "fp32")


def test_fp32_convolves_in_tf32_and_multiplies_in_fp32_as_pytorch_does() -> None:
    found = resolve_precision("fp32", A100)
    assert found is not None
    assert (found.conv32_flops_per_s, found.matmul32_flops_per_s) == (156e12, 19.5e12)
    strict = resolve_precision("fp32-strict", A100)
    assert strict is not None
    assert strict.conv32_flops_per_s == 19.5e12
    everywhere = resolve_precision("tf32", A100)
    assert everywhere is not None
    assert everywhere.matmul32_flops_per_s == 156e12


def test_bf16_on_a_device_without_it_is_said_to_be_emulated() -> None:
    found = resolve_precision("bf16", V100)
    assert found is not None
    assert "emulated" in found.note
    assert found.half_flops_per_s == V100.fp32_flops_per_s


def test_fp8_hardware_speeds_up_matrix_products_only() -> None:
    hopper = A100._replace(fp8_flops_per_s=1979e12)
    found = resolve_precision("fp8", hopper)
    assert found is not None
    assert (found.name, found.half_flops_per_s, found.conv32_flops_per_s) == ("fp8", 1979e12, 156e12)


def test_pure_half_keeps_weights_in_two_bytes() -> None:
    pure, mixed = resolve_precision("bf16-pure", A100), resolve_precision("bf16", A100)
    assert pure is not None
    assert mixed is not None
    assert (pure.weight_bytes, mixed.weight_bytes) == (2, 4)


def test_a_matrix_only_device_runs_fp32_at_a_quarter_of_bf16() -> None:
    tpu = A100._replace(fp32_flops_per_s=None, tf32_flops_per_s=None, fp16_flops_per_s=None, bf16_flops_per_s=200e12)
    found = resolve_precision("fp32", tpu)
    assert found is not None
    assert found.peak_flops_per_s == 50e12
    assert resolve_precision("amp", tpu._replace(bf16_flops_per_s=None)) is None
