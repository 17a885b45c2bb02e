"""What one device sustains: peak rates of a precision under its power limit, as the reciprocals the roofline needs."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from planner.hardware.accelerator import Accelerator
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration, DeviceConstants
from planner.throughput.precision import DevicePrecision

# Engines of the roofline: which arithmetic unit an operation runs on.
HALF, CONV32, MATMUL32, VECTOR = range(4)


class DeviceRates(NamedTuple):
    """Seconds per FLOP by engine, per SM clock, per SM clock of operand feed (what kappa is per), per byte; and per
    launch."""

    seconds_per_flop: tuple[float, float, float, float]
    seconds_per_sm_clock: float
    seconds_per_fed_clock: float
    seconds_per_byte: float
    optimizer_seconds_per_byte: float
    launch_s: float
    host_launch_s: float
    step_s: float
    held_seconds_per_byte: float = 0.0
    """Per byte that a step holds (activations, gradients): what the system takes to hand out memory anew."""


class HostSpeed(NamedTuple):
    """What the host adds, measured by ``profile``; None where nobody measured it and the calibration's value holds.

    ``disk_bytes_per_s`` is what the disk reads, ``from_host_bytes_per_s`` what one GPU is sent.
    """

    launch_s: float | None = None
    disk_bytes_per_s: float | None = None
    from_host_bytes_per_s: float | None = None


class Deviation(NamedTuple):
    """ln(measured / expected) of one rate of a device, split by what it is due to; what noise is due to is left out.

    ``card`` is this very card's (its limit of power, its cooling), ``accelerator`` its model's, ``architecture`` all of
    its group's.
    """

    architecture: float
    accelerator: float
    card: float


class Deviations(NamedTuple):
    """How the rates measured on one accelerator differ from what was expected of it.

    ``rates`` are by engine ('half', 'tf32', 'fp32'), 'sm_clock', and 'bandwidth'; ``itself`` when it is that very card
    that is asked about.
    """

    accelerator: Accelerator
    rates: Mapping[str, Deviation]
    itself: bool = False

    def factors(self, accelerator: Accelerator) -> dict[str, float]:
        """What to multiply the expected rates of ``accelerator`` by, by name; 1 where a name is missing."""
        same_model = accelerator.key == self.accelerator.key
        if architecture_group(accelerator) != architecture_group(self.accelerator):
            return {}
        return {
            name: math.exp(part.architecture + part.accelerator * same_model + part.card * self.itself)
            for name, part in self.rates.items()
        }


def architecture_group(accelerator: Accelerator) -> str:
    """The group whose members share software and SM design: 'ampere-geforce', 'ampere-datacentre', 'hopper', 'amd' ...

    Consumer and professional parts of one architecture differ in the matrix rate per SM (half rate with fp32
    accumulation on GeForce), which is visible as fp16 rate over fp32 rate: 2 or 4 against 4 or 8.
    """
    if accelerator.kind == "cpu":
        return "cpu"
    if accelerator.vendor.casefold() != "nvidia":
        return accelerator.vendor.casefold()
    family = accelerator.architecture.split()[0].casefold()
    capability = accelerator.compute_capability or (0, 0)
    if (family, capability) in (("pascal", (6, 0)), ("ampere", (8, 0))) or (
        family == "blackwell" and capability[0] == 10
    ):
        return f"{family}-datacentre"
    if family not in ("turing", "ampere", "ada", "blackwell"):
        return family
    return f"{family}-{'geforce' if _half_rate(accelerator, family) else 'workstation'}"


def _half_rate(accelerator: Accelerator, family: str) -> bool:
    if accelerator.fp16_flops_per_s is None or accelerator.fp32_flops_per_s is None:
        return True
    full_ratio = 8.0 if family == "turing" else 4.0
    return accelerator.fp16_flops_per_s / accelerator.fp32_flops_per_s < 0.75 * full_ratio


def sustained(
    rate: float, engine: str, accelerator: Accelerator, constants: DeviceConstants, share: float = 1.0
) -> float:
    """What the power limit lets run of a rate: ``rate * (watts per unit of rate / what its kind has) ** exponent``.

    Every engine ('sm_clock', 'half', 'tf32', 'fp32') has its own reference in its architecture group, so that more of
    any rate never slows another one down (docs/model.md, "The device"). Unknown power counts as the reference's. A
    measured rate of matrix products is better evidence for the matrix engines than the power limit is.
    """
    measured = _measured_factor(accelerator, constants) if engine in ("half", "tf32") else None
    if measured is not None:
        return rate * share * measured
    reference = constants.power_reference_w.get(architecture_group(accelerator), {}).get(engine)
    if accelerator.power_w is None or reference is None:
        return rate * share
    factor: float = (accelerator.power_w / (rate * reference)) ** constants.power_exponent
    return rate * share * min(max(factor, constants.power_factor_min), constants.power_factor_max)


def _measured_factor(accelerator: Accelerator, constants: DeviceConstants) -> float | None:
    """Measured best rate of bf16 matrix products over what the roofline gives one at full clock; None: not measured."""
    measured, peak = accelerator.measured_bf16_flops_per_s, accelerator.bf16_flops_per_s or accelerator.fp16_flops_per_s
    if measured is None or peak is None or accelerator.sm_clock_hz is None:
        return None
    feed = peak / accelerator.sm_clock_hz / constants.best_product_kappa
    return measured / peak * (1.0 / constants.best_product_share + feed)


def share_of_device(machine: Machine) -> float:
    """The part of an accelerator that each device of the machine is: less than 1 for a rented fraction of a GPU."""
    return min(machine.num_gpus, 1.0) if machine.num_gpus > 0 else 1.0


def with_slower_products(rates: DeviceRates, share: float) -> DeviceRates:
    """Rates with fp32 matrix products at a share of their speed."""
    per_flop = list(rates.seconds_per_flop)
    per_flop[MATMUL32] /= share
    half, conv32, matmul32, vector = per_flop
    return rates._replace(seconds_per_flop=(half, conv32, matmul32, vector))


def device_rates(
    accelerator: Accelerator,
    precision: DevicePrecision,
    calibration: Calibration,
    share: float = 1.0,
    host: HostSpeed | None = None,
    factors: Mapping[str, float] | None = None,
) -> DeviceRates | None:
    """Rates of ``share`` (0..1] of the device; None where its memory bandwidth is unknown.

    ``factors`` is what measurements make of them, by engine, 'sm_clock' and 'bandwidth'; 1 where nothing is said.
    """
    bandwidth = accelerator.bandwidth_bytes_per_s
    if bandwidth is None:
        return None
    host_launch_s = host.launch_s if host is not None else None
    measured = factors or {}
    if accelerator.kind == "cpu":
        return _cpu_rates(accelerator, precision, calibration, bandwidth * share, share)
    constants = calibration.device
    per_sm_clock, clock_hz = 0.0, all_sms_hz(accelerator, constants)
    if clock_hz is not None:
        clock_hz = sustained(clock_hz, "sm_clock", accelerator, constants, share)
        per_sm_clock = 1.0 / (clock_hz * measured.get("sm_clock", 1.0))
    bandwidth *= share * measured.get("bandwidth", 1.0)

    def seconds_per_flop(rate: float) -> float:
        engine = _engine_of_rate(rate, accelerator)
        return 1.0 / (sustained(rate, engine, accelerator, constants, share) * measured.get(engine, 1.0))

    return DeviceRates(
        seconds_per_flop=(
            seconds_per_flop(precision.half_flops_per_s),
            seconds_per_flop(precision.conv32_flops_per_s),
            seconds_per_flop(precision.matmul32_flops_per_s),
            seconds_per_flop(precision.vector_flops_per_s),
        ),
        seconds_per_sm_clock=per_sm_clock,
        seconds_per_fed_clock=per_sm_clock * _feed_narrowness(accelerator),
        seconds_per_byte=1.0 / bandwidth + per_sm_clock / constants.beta_bytes_per_clock_sm,
        optimizer_seconds_per_byte=1.0 / (bandwidth * constants.optimizer_bandwidth_share),
        launch_s=constants.launch_s,
        host_launch_s=constants.host_launch_s if host_launch_s is None else host_launch_s,
        step_s=constants.step_s,
    )


# An SM reads 128 bytes a clock from its shared memory, of Turing 64 (Jia et al., "Dissecting the NVidia Turing T4 GPU
# via Microbenchmarking", 2019): operands arrive at half the rate.
_USUAL_FEED_BYTES, _FEED_BYTES = 128.0, {"turing": 64.0}


def _feed_narrowness(accelerator: Accelerator) -> float:
    """How many times longer an SM waits for its operands than one of the usual width."""
    family = accelerator.architecture.split()[0].casefold()
    return _USUAL_FEED_BYTES / _FEED_BYTES.get(family, _USUAL_FEED_BYTES)


def all_sms_hz(accelerator: Accelerator, constants: DeviceConstants) -> float | None:
    """SM count x clock; where it is not published, what the fp32 rate means in the architecture's SMs."""
    if accelerator.sm_clock_hz is not None:
        return accelerator.sm_clock_hz
    reference = constants.power_reference_w.get(architecture_group(accelerator))
    if reference is None or accelerator.fp32_flops_per_s is None:
        return None
    flop_per_clock = reference["sm_clock"] / reference["fp32"]
    return accelerator.fp32_flops_per_s / flop_per_clock


def _engine_of_rate(rate: float, accelerator: Accelerator) -> str:
    """Which of the device's engines a rate is: an emulated type runs on the engine it falls back to."""
    if rate == accelerator.fp32_flops_per_s:
        return "fp32"
    return "tf32" if rate == accelerator.tf32_flops_per_s else "half"


def _cpu_rates(
    accelerator: Accelerator, precision: DevicePrecision, calibration: Calibration, bandwidth: float, share: float
) -> DeviceRates:
    """A CPU as the device: no launches to hide, one efficiency for arithmetic and one for bandwidth.

    A profile of this machine adds what it measured of optimizers and of memory that a step holds.
    """
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
        seconds_per_fed_clock=0.0,
        seconds_per_byte=1.0 / (bandwidth * cpu["bandwidth_share"]),
        optimizer_seconds_per_byte=1.0 / (bandwidth * cpu.get("optimizer_bandwidth_share", cpu["bandwidth_share"])),
        launch_s=cpu["launch_s"],
        host_launch_s=0.0,
        step_s=0.0,
        held_seconds_per_byte=cpu.get("held_s_per_byte", 0.0),
    )
