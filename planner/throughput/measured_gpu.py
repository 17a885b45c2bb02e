"""What the micro-benchmarks of a GPU say of its rates, and of those of its like.

Measured and expected are compared kernel by kernel, so that a GPU which measures what the model expects of it changes
nothing. ln(measured / expected) of a rate is a sum of independent deviations of the architecture, of the accelerator,
of this very card, and noise; each part takes the share that its variance has of the sum (best linear unbiased
prediction of a single observation). All parts move this card, the shared ones move its like
(:class:`planner.throughput.device.Deviations`).

Two kinds of measurement say what a specification is worth here: large matrix products by engine, and large copies and
sums. Everything else (convolutions, attention, normalisation ...) says how well a class of operations does beside
them, and moves that class alone, on this machine alone, and little: the constants of a class were fitted to whole
steps, and an operation alone is not an operation in a step.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.machine import Machine
from planner.hardware.profile import GpuRates, Kernel, Profile
from planner.throughput.backtest import experiment_of, reference_of
from planner.throughput.calibration import Calibration, ClassEfficiency, DeviceConstants
from planner.throughput.device import (
    Deviation,
    Deviations,
    DeviceRates,
    HostSpeed,
    all_sms_hz,
    device_rates,
    share_of_device,
    sustained,
)
from planner.throughput.evidence import Expectation, Here, Knowledge, shipped_knowledge, subject_of
from planner.throughput.input_pipeline import with_decode_rate
from planner.throughput.kernels import GEMM, Variant, operation_s
from planner.throughput.measurement import Measurement
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.workloads.workload import Linear, Operation

# Standard deviations of ln(measured / expected). Products: what 35 accelerators of planner/data/accelerators.csv have
# of their best product over the rule of docs/model.md: architecture groups differ by 0.10, members of one by 0.09.
# Copies: T4, V100, A10G, A100, H100 NVL and H200 reach 0.75, 0.87, 0.77, 0.75, 0.78 and 0.90 of their bandwidth
# (CUDA's bandwidthTest, BabelStream, torch's clone): the two Hopper parts differ as much as all. Cards of one model:
# Sinha et al., "Not all GPUs are created equal" (SC 2022), 8 % over five clusters.
_PRODUCT_SD = Deviation(architecture=0.10, accelerator=0.09, card=0.08)
_MOVED_SD = Deviation(architecture=0.0, accelerator=0.08, card=0.08)
_COPY_SHARE = 0.80
# The rule was checked on 2-byte products only; for 4-byte ones it may be off by as much again as accelerators differ.
_RULE_SD = {"half": 0.0, "tf32": 0.13, "fp32": 0.13}

# Priors, no fit. A class on an accelerator: what networks on an architecture differ by (workload_architecture of
# planner/data/calibration.json) is a mean over their classes. Alone or in a step: on the CPU where probes were made,
# operations took up to a third more inside a step (docs/profile.md).
_CLASS_SD = 0.12
_ALONE_SD = 0.3

# Of shorter operations the clock says more of their launch than of their class.
_MOST_LAUNCHING = 0.2

# The forward pass and both gradients occur together: only their sum is well identified (docs/model.md).
_PHASES = ("_dg", "_wg", "_bw")


def knowledge_with_gpu(
    knowledge: Knowledge, profile: Profile, runs: Sequence[Measurement], machine: Machine, experiment: Experiment
) -> Knowledge:
    """What is known, and what a profile of a ``machine`` that trains on GPUs adds.

    Training ``runs`` on it are held against the measured rates: what these explain already is not learnt twice.
    """
    expected = rates_alone(profile, machine)
    known = expected(experiment)
    corrections = [reference_of(run, expected(experiment_of(run)).of_here, on_this_machine=True) for run in runs]
    taught = knowledge._replace(deviations=known.deviations, here=known.here).taught_by(corrections)
    here = None if known.here is None else known.here._replace(references=taught.references, weights=taught.weights)
    return taught._replace(here=here)


def rates_alone(profile: Profile, machine: Machine) -> Expectation:
    """What the rates in the profile of a ``machine`` with GPUs make of what is expected of it and its like."""
    rates = profile.gpu or GpuRates({})
    share = share_of_device(machine)
    deviations = deviations_of(rates, machine.accelerator, shipped_knowledge().calibration.device, share)
    itself = shipped_knowledge()._replace(deviations=deviations._replace(itself=True))
    host = HostSpeed(profile.host_launch_s, profile.disk_bytes_per_s, rates.from_host_bytes_per_s)
    factors = class_factors(rates.kernels, machine.accelerator, itself, share)

    def known(experiment: Experiment) -> Knowledge:
        precision = resolve_precision(experiment.precision, machine.accelerator)
        width = "fp32" if precision is None else precision.width
        calibration = with_class_factors(itself.calibration, factors, 2 if width == "half" else 4)
        if profile.decode_images_per_s_per_core is not None:
            table = with_decode_rate(calibration.input, profile.decode_images_per_s_per_core)
            calibration = calibration._replace(input=table)
        here = Here(machine, calibration, complete=deviations.rates.keys() >= {width, "bandwidth"}, host=host)
        return shipped_knowledge()._replace(deviations=deviations, here=here)

    return known


def deviations_of(
    rates: GpuRates, accelerator: Accelerator, constants: DeviceConstants, share: float = 1.0
) -> Deviations:
    """How the engines and the memory of ``share`` of the accelerator differ from what is expected of them.

    The fitted effects of hardware and software play no part: they are what networks take more, not products or copies.
    """
    found: dict[str, Deviation] = {}
    log_ratios: dict[str, float] = {}
    for engine, measured in rates.products.items():
        expected = expected_product(engine, accelerator, constants, share)
        if expected is not None:
            sd = _product_sd(engine, accelerator)
            log_ratios[engine] = math.log(measured.rate / expected)
            found[engine] = _split(log_ratios[engine], sd, math.hypot(measured.log_sd, _RULE_SD[engine]))
    if len({log_ratio > 0.0 for log_ratio in log_ratios.values()}) == 1:
        found["sm_clock"] = found[_nearest_to_expected(log_ratios, found)]
    if rates.moved is not None and accelerator.bandwidth_bytes_per_s is not None:
        expected = _COPY_SHARE * accelerator.bandwidth_bytes_per_s * share
        found["bandwidth"] = _split(math.log(rates.moved.rate / expected), _MOVED_SD, rates.moved.log_sd)
    return Deviations(accelerator, found)


def _nearest_to_expected(log_ratios: Mapping[str, float], found: Mapping[str, Deviation]) -> str:
    """The engine that says what all deviate by, which is the clock they share: of several alike the best known."""
    return min(log_ratios, key=lambda engine: (round(abs(log_ratios[engine]), 2), -abs(sum(found[engine]))))


def expected_product(
    engine: str, accelerator: Accelerator, constants: DeviceConstants, share: float = 1.0
) -> float | None:
    """FLOP/s of the best matrix product on one engine by the rule of docs/model.md; None where a rate is unknown."""
    rate = {
        "half": accelerator.bf16_flops_per_s or accelerator.fp16_flops_per_s,
        "tf32": accelerator.tf32_flops_per_s,
        "fp32": accelerator.fp32_flops_per_s,
    }[engine]
    if rate is None:
        return None
    clock_hz = all_sms_hz(accelerator, constants)
    kappa = constants.best_product_kappa if engine == "half" else constants.kappa_flop_per_clock_sm["matmul4"]
    feed = 0.0 if clock_hz is None else rate / clock_hz / kappa
    return sustained(rate, engine, accelerator, constants, share) / (1.0 / constants.best_product_share + feed)


def _product_sd(engine: str, accelerator: Accelerator) -> Deviation:
    """Where somebody measured the best product of this model, what is left is the card's."""
    published = accelerator.measured_bf16_flops_per_s is not None and engine in ("half", "tf32")
    return _PRODUCT_SD._replace(architecture=0.0, accelerator=0.0) if published else _PRODUCT_SD


def _offset(knowledge: Knowledge, accelerator: Accelerator, width: str) -> float:
    """What the fitted effects make of a rate already, of no network in particular."""
    return knowledge.correction(subject_of("", "pytorch", width, accelerator)).log_offset


def _split(log_ratio: float, sd: Deviation, noise_sd: float) -> Deviation:
    total = sum(part**2 for part in sd) + noise_sd**2
    return Deviation(*(log_ratio * part**2 / total for part in sd))


def class_factors(
    kernels: Sequence[Kernel], accelerator: Accelerator, knowledge: Knowledge, share: float
) -> dict[tuple[str, int], float]:
    """Factors on the shares that classes reach on this machine, by class without its phase and element size.

    ``knowledge`` already has the measured engines and memory: what is left is the class's.
    """
    factors = {}
    for size in (2, 4):
        precision = resolve_precision("bf16" if size == 2 else "fp32", accelerator)
        if precision is None:
            continue
        rates = device_rates(
            accelerator, precision, knowledge.calibration, share, factors=knowledge.factors(accelerator)
        )
        if rates is None:
            continue
        offset = _offset(knowledge, accelerator, precision.width)
        for name, shapes in _by_class(kernels, size).items():
            ratios = (_log_ratio(shape, precision, rates, knowledge.calibration) for shape in shapes)
            logs = [ratio - offset for ratio in ratios if ratio is not None]
            if logs:
                factors[name, size] = math.exp(_class_weight(logs) * _mean(logs))
    return factors


def _by_class(kernels: Iterable[Kernel], size: int) -> dict[str, list[list[Kernel]]]:
    """Class without phase -> the phases of each of its shapes."""
    shapes: dict[str, dict[str, list[Kernel]]] = {}
    for kernel in kernels:
        if kernel.element_bytes == size:
            shapes.setdefault(_family(kernel.op_class), {}).setdefault(kernel.shape, []).append(kernel)
    return {name: list(found.values()) for name, found in shapes.items()}


def _family(op_class: str) -> str:
    return next((op_class.removesuffix(phase) for phase in _PHASES if op_class.endswith(phase)), op_class)


def _log_ratio(
    phases: Iterable[Kernel], precision: DevicePrecision, rates: DeviceRates, calibration: Calibration
) -> float | None:
    """ln(expected / measured) seconds of one shape, its phases together; None of what is mostly launches."""
    variant = Variant(calibration.layouts["nchw"])
    expected = measured = launching = 0.0
    for kernel in phases:
        expected += operation_s(_operation(kernel), precision, 1.0, variant, calibration, rates)
        measured += kernel.seconds
        launching += kernel.kernels * rates.launch_s
    return math.log(expected / measured) if launching < _MOST_LAUNCHING * expected else None


def _operation(kernel: Kernel) -> Operation:
    return Operation(
        op_class=kernel.op_class,
        phase="forward" if kernel.phase == "forward" else "backward",
        element_bytes=kernel.element_bytes,
        width=kernel.width,
        groups=kernel.groups,
        kernel_size=kernel.kernel_size,
        flops=Linear(kernel.flops, 0.0),
        bytes=Linear(kernel.bytes, 0.0),
        kernels=kernel.kernels,
    )


def _class_weight(logs: Sequence[float]) -> float:
    """How much of the mean over shapes is the class's own: the rest is the shapes', and what a step makes of it."""
    between = _variance(logs) / len(logs) if len(logs) > 1 else 0.0
    return _CLASS_SD**2 / (_CLASS_SD**2 + _ALONE_SD**2 + between)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    return math.fsum((value - _mean(values)) ** 2 for value in values) / (len(values) - 1)


def with_class_factors(
    calibration: Calibration, factors: Mapping[tuple[str, int], float], element_bytes: int
) -> Calibration:
    """The constants of the measured layout with the factors; arithmetic as it is of ``element_bytes`` operands."""
    layout = calibration.layouts["nchw"]
    classes = {name: _scaled(name, fitted, factors, element_bytes) for name, fitted in layout.classes.items()}
    return calibration._replace(layouts={**calibration.layouts, "nchw": layout._replace(classes=classes)})


def _scaled(
    name: str, fitted: ClassEfficiency, factors: Mapping[tuple[str, int], float], element_bytes: int
) -> ClassEfficiency:
    four, two = (factors.get((_family(name), size), 1.0) for size in (4, 2))
    compute = 1.0 if name not in GEMM else two if element_bytes == 2 else four
    return ClassEfficiency(fitted.compute * compute, fitted.bytes4 * four, fitted.bytes2 * two)
