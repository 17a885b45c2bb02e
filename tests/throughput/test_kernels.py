"""What a convolution's window, its stride and the roofline's corner do to the seconds of an operation."""

from __future__ import annotations

import math

import pytest

from planner.hardware.catalog import resolve
from planner.throughput.calibration import load_calibration
from planner.throughput.device import device_rates
from planner.throughput.kernels import (
    Variant,
    multiplies_less,
    operation_s,
    precision_in,
    roofline_s,
    runs_winograd,
    time_by_class,
    worked_per_counted,
)
from planner.throughput.kernels import prepare as prepared
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Linear, Operation
from tests.throughput.examples import A100

CALIBRATION = load_calibration()
NCHW = Variant(CALIBRATION.layouts["nchw"])


def precision(gpu: str, name: str) -> DevicePrecision:
    found = resolve_precision(name, resolve(gpu).accelerator)  # type: ignore[arg-type]
    assert found is not None
    return found


def operation(op_class: str, *, kernel_size: int = 0, stride: float = 1, moved: float = 0.0) -> Operation:
    return Operation(op_class, "backward", 4, 0.0, 0, kernel_size, Linear(0.0, 1e12), Linear(0.0, moved), 1.0, stride)


@pytest.mark.parametrize(
    ("op_class", "kernel_size", "stride", "fewer"),
    [
        ("conv", 3, 1, True),
        ("conv_wg", 5, 1, True),
        ("conv", 0, 1, True),  # a record that does not know the window
        ("conv", 1, 1, False),  # 1 x 7
        ("conv", 3, 2, False),
        ("conv1", 0, 1, False),
    ],
)
def test_winograd_needs_a_wide_window_without_a_stride(
    op_class: str, kernel_size: int, stride: float, fewer: bool
) -> None:
    given = operation(op_class, kernel_size=kernel_size, stride=stride)
    assert runs_winograd(given, precision("V100", "fp32")) == fewer


def test_winograd_needs_fp32_units() -> None:
    assert not runs_winograd(operation("conv", kernel_size=3), precision("A100", "tf32"))
    assert runs_winograd(operation("conv", kernel_size=3), precision("A100", "fp32-strict"))


@pytest.mark.parametrize(
    ("gpu", "name", "element_bytes", "channels", "worked"),
    [
        ("V100", "fp16", 2, 3, 8 / 3),  # an image's three channels work like eight
        ("V100", "fp16", 2, 0, 1.0),  # eight or more, or a record that does not know
        ("A100", "tf32", 4, 3, 4 / 3),
        ("A100", "tf32", 4, 6, 1.0),
        ("V100", "fp32", 4, 3, 1.0),  # vector units take what there is
        ("GTX 1080 Ti", "fp16", 2, 3, 1.0),  # no matrix engine
    ],
)
def test_matrix_engines_fill_up_few_channels(
    gpu: str, name: str, element_bytes: int, channels: int, worked: float
) -> None:
    given = operation("conv", kernel_size=7, stride=2)._replace(element_bytes=element_bytes, width=channels)
    assert worked_per_counted(given, precision(gpu, name)) == pytest.approx(worked)


def test_transforms_gain_more_on_wider_windows() -> None:
    """Tiles of 32 x 32 give 30 x 30 results of 3 x 3, and 28 x 28 of 5 x 5: (5 * 28)^2 / (3 * 30)^2 fewer."""
    plain = precision("V100", "fp32")
    worked = [worked_per_counted(operation("conv", kernel_size=k), plain) for k in (0, 3, 5, 31)]
    assert worked == pytest.approx([1.0, 1.0, (90 / 140) ** 2, (90 / 272) ** 2])
    assert worked_per_counted(operation("conv", kernel_size=5), precision("A100", "tf32")) == 1.0


def test_volumes_are_not_convolved_by_winograd() -> None:
    plain, given = precision("V100", "fp32"), operation("conv", kernel_size=3)
    assert runs_winograd(given, precision_in(load_workload("nnunet-2d"), plain))
    assert not runs_winograd(given, precision_in(load_workload("nnunet-3d"), plain))
    assert multiplies_less(load_workload("nnunet-2d"), plain)
    assert not multiplies_less(load_workload("nnunet-3d"), plain)
    assert not multiplies_less(load_workload("nnunet-2d"), precision("A100", "tf32"))


def test_the_gradient_of_a_strided_depthwise_convolution_tries_every_input() -> None:
    """A stride of 2 leaves one position in four: its gradient takes four times as long for the FLOPs it counts."""
    plain = precision("V100", "fp32")
    rates = device_rates(resolve("V100").accelerator, plain, CALIBRATION)
    assert rates is not None

    def seconds(op_class: str, stride: float) -> float:
        given = operation(op_class, kernel_size=3, stride=stride)
        return operation_s(given, plain, 1.0, NCHW, CALIBRATION, rates._replace(launch_s=0.0))

    assert seconds("dw_dg", 2) == pytest.approx(4 * seconds("dw_dg", 1))
    assert seconds("dw", 2) == seconds("dw", 1)


def test_the_corner_of_the_roofline_is_round() -> None:
    assert roofline_s(3.0, 0.0) == 3.0
    assert roofline_s(0.0, 0.0) == 0.0
    assert roofline_s(2.0, 2.0) == pytest.approx(2.0 * 2**0.25)
    assert roofline_s(3.0, 1.0) == pytest.approx(3.0, rel=0.01)
    assert roofline_s(1.0, 3.0) == roofline_s(3.0, 1.0)


def test_classes_add_up_to_the_step() -> None:
    amp = precision("A100 SXM 40GB", "amp")
    rates = device_rates(A100, amp, CALIBRATION)
    assert rates is not None
    workload = load_workload("efficientnet_b0")
    work = prepared(workload, amp, 64, NCHW, CALIBRATION)
    by_class = time_by_class(workload, amp, 64, NCHW, CALIBRATION, rates)
    total = work.forward.seconds(rates)[0] + work.backward.seconds(rates)[0]
    assert math.fsum(part.seconds for part in by_class) == pytest.approx(total)
