"""The throughput model of the machine that was profiled: its measured rates in place of fitted shares of a peak.

Everything else stays: operation records, the roofline, memory, the input pipeline. The offsets that other machines'
measurements gave do not apply, since the rates were measured here with this software; training runs on this machine
correct what is left (best linear unbiased prediction, as everywhere).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment, Optimizer
from planner.experiment.resolve import PRECISIONS
from planner.hardware.accelerator import Accelerator
from planner.hardware.machine import Machine
from planner.hardware.profile import ClassRate, MeasuredRates, Profile, TrainingRun
from planner.throughput.backtest import experiment_of, reference_of
from planner.throughput.calibration import Calibration, ClassEfficiency, LayoutConstants
from planner.throughput.device import HostSpeed
from planner.throughput.evidence import Here, Knowledge, shipped_knowledge
from planner.throughput.input_pipeline import with_decode_rate
from planner.throughput.kernels import CONVOLUTIONS, kind_of
from planner.throughput.measured_gpu import knowledge_with_gpu
from planner.throughput.measurement import Measurement
from planner.throughput.optimizer import UPDATE_RULES
from planner.throughput.row_software import Software
from planner.workloads.catalog import load_workload
from planner.workloads.resize import at_image_size, at_seq_length
from planner.workloads.workload import Workload

# What a prediction from measured rates is worth: ln(time / P50) at P10 and P90, and the standard deviations of what is
# left: shared by all networks here, of one network, of a run. Judged from a few runs of tools/bench_profile.py on one
# machine (docs/profile.md): priors, no fit.
_RATES_ONLY = (-0.22, 0.22)
_ANOTHER_NETWORK_RAN = (-0.13, 0.13)
_PRIOR_SD = {"architecture": 0.12, "network": 0.06}
_NOISE_SD = 0.03

# What a probe took more or less than its operations is what its kind shares here, what is the probe's own, and chance:
# the same probe's few steps differ by a tenth from one quiet profile to the next. Of these variances, the share of the
# first.
_PROBE_NOISE_SD = 0.1
_PROBE_SHRINKAGE = _PRIOR_SD["architecture"] ** 2 / (
    _PRIOR_SD["architecture"] ** 2 + _PRIOR_SD["network"] ** 2 + _PROBE_NOISE_SD**2
)

# As much of the bottleneck probe's arithmetic is in 1x1 convolutions, nothing of the plain one's.
_POINTWISE_SHARE = 0.5

# A transformer block's elementwise traffic by width d: gelu reads and writes 4 d (32 d bytes), two dropouts 18 d with
# their masks, two residual sums 24 d.
_TRANSFORMER_ELEMENTWISE = {"gelu": 32 / 74, "dropout": 18 / 74, "ew": 24 / 74}
_WITH_COSTLY_ELEMENTWISE = ("transformer", "hybrid")

# Whose surroundings a network's operations have; dense networks are products like a transformer's.
_PROBES_OF_KIND = {
    "convolutional": ("convolutional",),
    "grouped": ("convolutional",),
    "depthwise": ("depthwise",),
    "hybrid": ("convolutional", "transformer"),
    "transformer": ("transformer",),
    "dense": ("transformer",),
    "recurrent": ("recurrent",),
}

# Optimizers that are not measured themselves: the measured one with as many passes over as many moments.
_MEASURED_LIKE: Mapping[Optimizer, str] = {"adam": "adamw", "lamb": "adamw", "adamw8bit": "adamw", "adafactor": "adamw"}


class MeasuredHere(NamedTuple):
    """The device that was profiled, and the rates measured on it."""

    accelerator: Accelerator
    rates: MeasuredRates
    decode_images_per_s_per_core: float | None = None


def knowledge_with_profile(
    knowledge: Knowledge, profile: Profile, machine: Machine, experiment: Experiment
) -> Knowledge:
    """What is known, and what a profile of ``machine`` adds.

    Rates and training runs of a GPU move every estimate by what they share with it. A CPU shares no more with a GPU
    than the network's record, of which it says nothing beside its own large doubts: it moves no other machine. Measured
    rates, the host and its disk answer for the machine itself.
    """
    runs = _measurements(profile.runs, machine)
    if machine.accelerator.kind != "cpu":
        return knowledge_with_gpu(knowledge, profile, runs, machine, experiment)

    def here(experiment: Experiment) -> Knowledge:
        return _of_this_cpu(profile, machine.accelerator, experiment)

    known = here(experiment)
    taught = known.taught_by([reference_of(run, here(experiment_of(run)), on_this_machine=True) for run in runs])
    host = HostSpeed(disk_bytes_per_s=profile.disk_bytes_per_s)
    return knowledge._replace(
        here=Here(machine, taught.calibration, taught.references, taught.weights, known.profiled, host)
    )


def _of_this_cpu(profile: Profile, device: Accelerator, experiment: Experiment) -> Knowledge:
    """What ships, with the measured rates in it.

    A few rates (numpy alone, or interrupted early) leave the evidence and the doubts as they were without them. Without
    even products there is nothing to put in the place of the fitted constants.
    """
    shipped, rates = shipped_knowledge(), profile.rates
    decode = profile.decode_images_per_s_per_core
    if rates is None or "mm" not in rates.classes:
        table = shipped.calibration.input if decode is None else with_decode_rate(shipped.calibration.input, decode)
        return shipped._replace(calibration=shipped.calibration._replace(input=table))
    measured = measured_calibration(shipped.calibration, MeasuredHere(device, rates, decode), experiment)
    if rates.complete:
        return Knowledge(measured, profiled=True)
    offsets, intervals = shipped.calibration.offsets, shipped.calibration.intervals
    return Knowledge(measured._replace(offsets=offsets, intervals=intervals))


def _measurements(runs: Sequence[TrainingRun], machine: Machine) -> list[Measurement]:
    """The runs on the machine's own device as measurements; a model that is not in the zoo says nothing comparable."""
    on_cpu = machine.accelerator.kind == "cpu"
    found = []
    for run in runs:
        workload = workload_of(run)
        precision = next((name for name in PRECISIONS if name == run.precision), None)
        optimizer = next((name for name in UPDATE_RULES if name == run.optimizer), None)
        if workload is None or precision is None or optimizer is None or (run.device == "cpu") != on_cpu:
            continue
        found.append(
            Measurement(
                workload=workload,
                machine=machine._replace(num_gpus=min(machine.num_gpus, 1)),
                precision=precision,
                batch_size_per_gpu=run.batch_size,
                samples_per_s=run.batch_size / run.step_time_s,
                scope="step",
                software=Software(),
                optimizer=optimizer,
            )
        )
    return found


def workload_of(run: TrainingRun) -> Workload | None:
    """The zoo's record of what ran, at its size; None where the zoo has none."""
    try:
        workload = load_workload(run.model, run.seq_length)
        if run.image_size is not None:
            workload = at_image_size(workload, run.image_size)
        return at_seq_length(workload, run.seq_length) if run.seq_length is not None else workload
    except InputError:
        return None


def measured_calibration(shipped: Calibration, measured: MeasuredHere, experiment: Experiment) -> Calibration:
    """The constants with which the model gives the measured rates on the measured device."""
    device, rates, decode = measured
    bandwidth = device.bandwidth_bytes_per_s or 1.0
    peak = device.fp32_flops_per_s or 1.0
    classes = _with_mixed_elementwise(rates.classes, kind_of(experiment.workload))
    layouts = {
        name: _layout(layout, shipped.cpu, {key: _shares(rate, peak, bandwidth) for key, rate in classes.items()})
        for name, layout in shipped.layouts.items()
    }
    cpu = {
        **shipped.cpu,
        "compute_share": 1.0,
        "bandwidth_share": 1.0,
        "launch_s": shipped.cpu["launch_s"] if rates.launch_s is None else rates.launch_s,
        "held_s_per_byte": rates.held_s_per_byte or 0.0,
        "optimizer_bandwidth_share": _optimizer_share(rates, experiment.optimizer, bandwidth, shipped),
    }
    prior = dict.fromkeys(shipped.offsets["prior_sd"], 0.0) | _PRIOR_SD
    surroundings = _surroundings(rates, experiment.workload)
    effects = {} if surroundings is None else {"architecture": {"cpu": (surroundings, _PRIOR_SD["architecture"])}}
    tiers = {
        **shipped.intervals["tiers"],
        "rates_measured_here": _RATES_ONLY,
        "another_network_measured_here": _ANOTHER_NETWORK_RAN,
    }
    return shipped._replace(
        layouts=layouts,
        cpu=cpu,
        input=shipped.input if decode is None else with_decode_rate(shipped.input, decode),
        offsets={"effects": effects, "networks": {}, "prior_sd": prior, "noise_sd": _NOISE_SD},
        intervals={**shipped.intervals, "tiers": tiers},
    )


def _surroundings(rates: MeasuredRates, workload: Workload) -> float | None:
    """ln(predicted / measured) to expect of a network: that of the probes of its kind or nearest to it, shrunk.

    One probe stands for all networks of its kind. What is wrong with the rates themselves is wrong with its sum of
    operations as with theirs.
    """
    names = _PROBES_OF_KIND[kind_of(workload)]
    probes = {name: rates.surroundings[name] for name in names if name in rates.surroundings}
    if "convolutional" in probes and "bottleneck" in rates.surroundings:
        pointwise = min(_pointwise_share(workload) / _POINTWISE_SHARE, 1.0)
        probes["convolutional"] += pointwise * (rates.surroundings["bottleneck"] - probes["convolutional"])
    return _PROBE_SHRINKAGE * sum(probes.values()) / len(probes) if probes else None


def _pointwise_share(workload: Workload) -> float:
    """The 1x1 convolutions' share of the arithmetic of convolutions."""
    flops = {True: 0.0, False: 0.0}
    for operation in workload.operations:
        if operation.op_class in CONVOLUTIONS:
            flops[operation.op_class.startswith("conv1")] += operation.flops.per_sample
    return flops[True] / (flops[True] + flops[False]) if flops[True] else 0.0


def _shares(rate: ClassRate, peak: float, bandwidth: float) -> tuple[float, float]:
    """A class's rates as shares of the device's peak and bandwidth."""
    moved = math.inf if rate.bytes_per_s is None else rate.bytes_per_s / bandwidth
    return (1.0 if rate.flops_per_s is None else rate.flops_per_s / peak), moved


def _layout(
    layout: LayoutConstants, cpu: Mapping[str, float], shares: Mapping[str, tuple[float, float]]
) -> LayoutConstants:
    """Measured shares where a class was measured; elsewhere the fitted ones, as far as matrix products reach theirs.

    Shapes of grouped convolutions are taken as those measured.
    """
    classes = {}
    product = layout.classes["mm"].compute
    unmeasured = shares["mm"][0] / product if "mm" in shares else cpu["compute_share"]
    for name, fitted in layout.classes.items():
        if name in shares:
            compute, moved = shares[name]
            classes[name] = ClassEfficiency(compute, moved, moved)
        else:
            moved = fitted.bytes4 * cpu["bandwidth_share"]
            classes[name] = ClassEfficiency(fitted.compute * unmeasured, moved, moved)
    return LayoutConstants(
        classes=classes,
        group_width_exponent=(0.0, 0.0, 0.0),
        group_resnext_log_gain=(0.0, 0.0, 0.0),
        depthwise_log_kernel_penalty=(-math.inf, -math.inf, -math.inf),
        depthwise_log_large_kernel=(0.0, 0.0, 0.0),
    )


def _with_mixed_elementwise(classes: Mapping[str, ClassRate], kind: str) -> dict[str, ClassRate]:
    """The classes with 'ew' as this kind of network has it; records do not tell a sum from a costly function."""
    mixed = dict(classes)
    parts = {name: mixed[name].bytes_per_s for name in _TRANSFORMER_ELEMENTWISE if name in mixed}
    if kind in _WITH_COSTLY_ELEMENTWISE and len(parts) == len(_TRANSFORMER_ELEMENTWISE):
        seconds_per_byte = sum(_TRANSFORMER_ELEMENTWISE[name] / rate for name, rate in parts.items() if rate)
        mixed["ew"] = ClassRate(None, 1.0 / seconds_per_byte)
    return mixed


def _optimizer_share(rates: MeasuredRates, optimizer: Optimizer, bandwidth: float, shipped: Calibration) -> float:
    """The share of bandwidth at which the update's counted traffic takes the time measured for it."""
    parameter_s = rates.updates.get(_MEASURED_LIKE.get(optimizer, optimizer))
    if parameter_s is None:
        return shipped.cpu["bandwidth_share"]
    return UPDATE_RULES[optimizer].traffic_bytes / parameter_s / bandwidth
