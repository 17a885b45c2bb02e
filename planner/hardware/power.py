"""What a power limit makes of a device: laptop parts are sold with a range of limits and clock accordingly."""

from __future__ import annotations

from planner.hardware.accelerator import Accelerator


def at_power_limit(device: Accelerator, limit_w: float) -> Accelerator:
    """The device under an enforced power limit in watts.

    A part whose clock is known at both ends of its range (laptop GPUs) clocks linearly between them, and its rates go
    with the clock. Elsewhere only the power changes: the throughput model knows what less power does to the clock.
    """
    low_w, high_w, low_hz, high_hz = device.power_min_w, device.power_w, device.boost_min_hz, device.boost_hz
    if low_w is None or high_w is None or low_hz is None or high_hz is None or not low_w < high_w:
        return device._replace(power_w=limit_w)
    position = min(max((limit_w - low_w) / (high_w - low_w), 0.0), 1.0)
    clock_hz = low_hz + position * (high_hz - low_hz)
    factor = clock_hz / high_hz
    return device._replace(
        power_w=limit_w,
        boost_hz=clock_hz,
        fp32_flops_per_s=_scaled(device.fp32_flops_per_s, factor),
        tf32_flops_per_s=_scaled(device.tf32_flops_per_s, factor),
        fp16_flops_per_s=_scaled(device.fp16_flops_per_s, factor),
        bf16_flops_per_s=_scaled(device.bf16_flops_per_s, factor),
        fp8_flops_per_s=_scaled(device.fp8_flops_per_s, factor),
        measured_bf16_flops_per_s=_scaled(device.measured_bf16_flops_per_s, factor),
    )


def _scaled(rate: float | None, factor: float) -> float | None:
    return None if rate is None else rate * factor
