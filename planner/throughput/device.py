"""What one device sustains: peak rates of a precision under its power limit, as the reciprocals the roofline needs."""

from __future__ import annotations

from typing import NamedTuple

from planner.hardware.accelerator import Accelerator
from planner.throughput.calibration import Calibration
from planner.throughput.precision import DevicePrecision

# Engines of the roofline: which arithmetic unit an operation runs on.
HALF, CONV32, MATMUL32, VECTOR = range(4)


class DeviceRates(NamedTuple):
    """Seconds per FLOP by engine, per FLOP of operand feed (times kappa), per byte; and per launch."""

    seconds_per_flop: tuple[float, float, float, float]
    seconds_per_sm_clock: float
    seconds_per_byte: float
    optimizer_seconds_per_byte: float
    launch_s: float
    host_launch_s: float
    step_s: float


class HostSpeed(NamedTuple):
    """What the host adds, measured by ``profile``; None where nobody measured it and the calibration's value holds."""

    launch_s: float | None = None


def architecture_group(accelerator: Accelerator) -> str:
    """The group whose members share software and SM design: 'ampere-geforce', 'a100', 'hopper', 'amd' ...

    Consumer and professional parts of one architecture differ in the matrix rate per SM (half rate with fp32
    accumulation on GeForce), which is visible as fp16 rate over fp32 rate: 2 or 4 against 4 or 8.
    """
    if accelerator.kind == "cpu":
        return "cpu"
    if accelerator.vendor.casefold() != "nvidia":
        return accelerator.vendor.casefold()
    family = accelerator.architecture.split()[0].casefold()
    capability = accelerator.compute_capability or (0, 0)
    if family == "ampere" and capability == (8, 0):
        return "a100"
    if family == "blackwell" and capability[0] == 10:
        return "blackwell-datacentre"
    if family not in ("turing", "ampere", "ada", "blackwell"):
        return family
    return f"{family}-{'geforce' if _half_rate(accelerator, family) else 'workstation'}"


def _half_rate(accelerator: Accelerator, family: str) -> bool:
    if accelerator.fp16_flops_per_s is None or accelerator.fp32_flops_per_s is None:
        return True
    full_ratio = 8.0 if family == "turing" else 4.0
    return accelerator.fp16_flops_per_s / accelerator.fp32_flops_per_s < 0.75 * full_ratio


def power_factor(accelerator: Accelerator, calibration: Calibration) -> float:
    """Share of the rated clock that the power limit lets run (MODEL.md section 3, phi); 1 where power is unknown."""
    constants = calibration.device
    sm_clock_hz = accelerator.sm_clock_hz
    family = accelerator.architecture.split()[0].casefold() if accelerator.architecture else ""
    reference = constants.power_reference_w_per_sm_ghz.get(family)
    if accelerator.power_w is None or sm_clock_hz is None or reference is None:
        return 1.0
    watts_per_sm_ghz = accelerator.power_w / (sm_clock_hz / 1e9)
    factor: float = (watts_per_sm_ghz / reference) ** constants.power_exponent
    return min(max(factor, constants.power_factor_min), constants.power_factor_max)


def device_rates(
    accelerator: Accelerator,
    precision: DevicePrecision,
    calibration: Calibration,
    share: float = 1.0,
    host: HostSpeed | None = None,
) -> DeviceRates | None:
    """Rates of ``share`` (0..1] of the device; None where its memory bandwidth is unknown."""
    bandwidth = accelerator.bandwidth_bytes_per_s
    if bandwidth is None:
        return None
    host_launch_s = host.launch_s if host is not None else None
    if accelerator.kind == "cpu":
        return _cpu_rates(accelerator, precision, calibration, bandwidth * share, share)
    constants = calibration.device
    power = power_factor(accelerator, calibration)
    sm_clock_hz = accelerator.sm_clock_hz
    per_sm_clock = 0.0 if sm_clock_hz is None else 1.0 / (sm_clock_hz * power * share)
    rates = (
        precision.half_flops_per_s,
        precision.conv32_flops_per_s,
        precision.matmul32_flops_per_s,
        precision.vector_flops_per_s,
    )
    half, conv32, matmul32, vector = (1.0 / (rate * power * share) for rate in rates)
    return DeviceRates(
        seconds_per_flop=(half, conv32, matmul32, vector),
        seconds_per_sm_clock=per_sm_clock,
        seconds_per_byte=1.0 / (bandwidth * share) + per_sm_clock / constants.beta_bytes_per_clock_sm,
        optimizer_seconds_per_byte=1.0 / (bandwidth * share * constants.optimizer_bandwidth_share),
        launch_s=constants.launch_s,
        host_launch_s=constants.host_launch_s if host_launch_s is None else host_launch_s,
        step_s=constants.step_s,
    )


def _cpu_rates(
    accelerator: Accelerator, precision: DevicePrecision, calibration: Calibration, bandwidth: float, share: float
) -> DeviceRates:
    """A CPU as the device: no launches to hide, one efficiency for arithmetic and one for bandwidth."""
    cpu = calibration.cpu
    arithmetic = 1.0 / (cpu["compute_share"] * share)
    return DeviceRates(
        seconds_per_flop=(
            arithmetic / precision.half_flops_per_s,
            arithmetic / precision.conv32_flops_per_s,
            arithmetic / precision.matmul32_flops_per_s,
            arithmetic / precision.vector_flops_per_s,
        ),
        seconds_per_sm_clock=0.0,
        seconds_per_byte=1.0 / (bandwidth * cpu["bandwidth_share"]),
        optimizer_seconds_per_byte=1.0 / (bandwidth * cpu["bandwidth_share"]),
        launch_s=cpu["launch_s"],
        host_launch_s=0.0,
        step_s=0.0,
    )
