"""Precision, resolved per device (docs/model.md): which type runs, at which peak rate, and what to say of it."""

from typing import NamedTuple

from planner.experiment.experiment import Precision
from planner.hardware.accelerator import Accelerator


class DevicePrecision(NamedTuple):
    """A precision as one device runs it. Rates are peak dense FLOP/s of the device; ``note`` is "" when nothing is odd.

    ``autocast`` is True for 2-byte operands with fp32 master weights, ``pure`` when the weights are 2 bytes as well.
    ``winograd`` is True for fp32 convolutions of a GPU's vector units, whose libraries multiply less than is counted.
    """

    name: str
    autocast: bool
    pure: bool
    half_flops_per_s: float
    conv32_flops_per_s: float
    matmul32_flops_per_s: float
    vector_flops_per_s: float
    note: str = ""
    winograd: bool = False

    @property
    def weight_bytes(self) -> int:
        return 2 if self.pure else 4

    @property
    def wire_bytes(self) -> float:
        """Bytes of a weight, gradient or activation as sharded software moves it: the arithmetic's own type."""
        return 2.0 if self.autocast or self.pure else 4.0

    @property
    def width(self) -> str:
        """What most operands are: 'half', 'tf32' or 'fp32'; measured speeds are compared within a width."""
        if self.autocast or self.pure:
            return "half"
        return "tf32" if self.conv32_flops_per_s > self.vector_flops_per_s else "fp32"

    @property
    def peak_flops_per_s(self) -> float:
        """The peak that MFU is measured against: the matrix rate of the type most of the work runs in."""
        return self.half_flops_per_s if self.autocast or self.pure else self.conv32_flops_per_s


def resolve_precision(precision: Precision, accelerator: Accelerator) -> DevicePrecision | None:
    """``precision`` on ``accelerator``; None where the device's arithmetic rate is unknown."""
    fp32 = accelerator.fp32_flops_per_s or _weakest_matrix_rate(accelerator)
    if fp32 is None:
        return None
    if precision in ("fp32", "tf32", "fp32-strict"):
        return _single(precision, accelerator, fp32)
    return _half(precision, accelerator, fp32)


def _weakest_matrix_rate(accelerator: Accelerator) -> float | None:
    """Matrix-only devices (TPU, Trainium) publish no fp32 vector rate: fp32 then runs at a quarter of bf16."""
    if accelerator.tf32_flops_per_s is not None:
        return accelerator.tf32_flops_per_s
    half = accelerator.bf16_flops_per_s or accelerator.fp16_flops_per_s
    return None if half is None else half / 4


def _single(precision: str, accelerator: Accelerator, fp32: float, note: str = "") -> DevicePrecision:
    """PyTorch's fp32 multiplies matrices in fp32 and convolves in TF32 where TF32 exists (its defaults since 1.12)."""
    tf32 = max(accelerator.tf32_flops_per_s or fp32, fp32)
    if precision == "tf32" and accelerator.tf32_flops_per_s is None:
        precision, note = "fp32", "no TF32 on this device: fp32"
    return DevicePrecision(
        name=precision,
        autocast=False,
        pure=False,
        half_flops_per_s=fp32,
        conv32_flops_per_s=fp32 if precision == "fp32-strict" else tf32,
        matmul32_flops_per_s=tf32 if precision == "tf32" else fp32,
        vector_flops_per_s=fp32,
        note=note,
        winograd=accelerator.kind != "cpu" and (precision == "fp32-strict" or tf32 == fp32),
    )


def _half(precision: str, accelerator: Accelerator, fp32: float) -> DevicePrecision:
    bf16, fp16 = accelerator.bf16_flops_per_s, accelerator.fp16_flops_per_s
    note = ""
    if precision == "fp8":
        return _eight_bit(accelerator, fp32)
    if precision == "amp":
        if bf16 is None and fp16 is None:
            return _single("fp32", accelerator, fp32, "no fp16 or bf16 matrix rate: amp runs as fp32")
        name, rate = ("bf16", bf16) if bf16 is not None else ("fp16", fp16)
    else:
        name, rate = precision, (bf16 if precision.startswith("bf16") else fp16)
    if rate is None:
        note = f"no {name} matrix rate on this device: {name} is emulated at the fp32 rate"
        rate = fp32
    return DevicePrecision(
        name=name,
        autocast=not name.endswith("-pure"),
        pure=name.endswith("-pure"),
        half_flops_per_s=rate,
        conv32_flops_per_s=max(accelerator.tf32_flops_per_s or fp32, fp32),
        matmul32_flops_per_s=fp32,
        vector_flops_per_s=fp32,
        note=note,
    )


def _eight_bit(accelerator: Accelerator, fp32: float) -> DevicePrecision:
    """fp8 speeds up matrix products only, and needs hardware for it; the rest of the step is bf16 autocast."""
    if accelerator.fp8_flops_per_s is None:
        fallback = _half("amp", accelerator, fp32)
        return fallback._replace(note=f"no fp8 matrix rate on this device: {fallback.name}")
    base = _half("bf16", accelerator, fp32)
    return DevicePrecision(
        name="fp8",
        autocast=True,
        pure=False,
        half_flops_per_s=accelerator.fp8_flops_per_s,
        conv32_flops_per_s=base.conv32_flops_per_s,
        matmul32_flops_per_s=base.matmul32_flops_per_s,
        vector_flops_per_s=base.vector_flops_per_s,
        note="fp8 by rule: the fp8 matrix rate with bf16 everywhere else; no measurement was fitted",
    )
