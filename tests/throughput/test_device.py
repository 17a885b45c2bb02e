"""What a device sustains: by its power limit, or by the rate somebody measured."""

from __future__ import annotations

import pytest

from planner.hardware.catalog import resolve
from planner.throughput.calibration import load_calibration
from planner.throughput.device import device_rates, sustained
from planner.throughput.precision import resolve_precision
from tests.throughput.examples import A100

CONSTANTS = load_calibration().device


def test_a_measured_matrix_rate_is_what_a_best_product_then_takes() -> None:
    # A product of the best shape is the peak's share in series with the feed of the SMs: together the measured rate.
    measured = A100._replace(measured_bf16_flops_per_s=250e12)
    peak, clock = measured.bf16_flops_per_s, measured.sm_clock_hz
    assert peak is not None
    assert clock is not None
    factor = sustained(peak, "half", measured, CONSTANTS) / peak
    seconds_per_flop = 1.0 / (peak * CONSTANTS.best_product_share) + 1.0 / (clock * CONSTANTS.best_product_kappa)
    assert factor / seconds_per_flop == pytest.approx(250e12)


def test_other_engines_keep_to_the_power_limit() -> None:
    plain, measured = A100._replace(measured_bf16_flops_per_s=None), A100._replace(measured_bf16_flops_per_s=100e12)
    for engine in ("sm_clock", "fp32"):
        assert sustained(1e12, engine, plain, CONSTANTS) == sustained(1e12, engine, measured, CONSTANTS)


def test_an_sm_clock_that_is_not_published_follows_from_the_fp32_rate() -> None:
    # An ampere data-centre SM does 128 fp32 FLOP a clock.
    known = A100._replace(sm_count=None)
    precision = resolve_precision("bf16", known)
    assert precision is not None
    rates = device_rates(known, precision, load_calibration())
    published = device_rates(A100, precision, load_calibration())
    assert rates is not None
    assert published is not None
    assert rates.seconds_per_sm_clock == pytest.approx(published.seconds_per_sm_clock, rel=0.02)


@pytest.mark.parametrize(("name", "times_longer"), [("V100", 1.0), ("RTX 2080 Ti", 2.0), ("RTX 3090", 1.0)])
def test_turing_waits_twice_as_long_for_operands(name: str, times_longer: float) -> None:
    accelerator = resolve(name).accelerator
    precision = resolve_precision("fp16", accelerator)
    assert precision is not None
    rates = device_rates(accelerator, precision, load_calibration())
    assert rates is not None
    assert rates.seconds_per_fed_clock == pytest.approx(times_longer * rates.seconds_per_sm_clock)
