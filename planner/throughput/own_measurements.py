"""The user's own measurements: 'RTX 3090=812' is a rate of the experiment in samples/s, and moves every estimate."""

from collections.abc import Sequence
from typing import get_args

from planner.errors import InputError
from planner.experiment.experiment import Experiment, Precision
from planner.hardware.presets import machine_from_spec
from planner.hardware.selection import resolve_count
from planner.throughput.backtest import predict, reference_of
from planner.throughput.calibration import load_calibration
from planner.throughput.evidence import Expectation, Knowledge, shipped_knowledge
from planner.throughput.kernels import multiplies_less, training_flops
from planner.throughput.lineage import variant_of
from planner.throughput.measurement import Measurement, Method
from planner.throughput.precision import resolve_precision
from planner.throughput.row_software import Software
from planner.units import counted

FORM = "write GPU[:COUNT]=SAMPLES_PER_S[,PRECISION][,bBATCH], such as 'RTX 3090=812' or 'A100:8=9800,fp32,b128'"
_MAX_BATCH = 1 << 24
_MOST_RATE = 1e12
# A loop may well take five times as long as expected (an old host, a loader); steps a second are farther off than that.
_FAR_BELOW = 8.0
# Runs of one loop on one machine differ by a tenth or so.
_APART = 1.5


def knowledge_with(texts: Sequence[str], experiment: Experiment, expected: Expectation | None = None) -> Knowledge:
    """What ships, and what the measurements teach beside what is ``expected``, shrunk by the model's variances.

    Raises InputError.
    """
    knowledge = shipped_knowledge()
    if not texts:
        return knowledge
    known = knowledge if expected is None else expected(experiment)
    references = []
    for text in dict.fromkeys(texts):  # said twice, it is still one measurement
        measurement = own_measurement(text, experiment)
        reference = reference_of(measurement, known)
        if reference is None:
            why = predict(measurement, known).reason or "too little is known of that GPU"
            raise InputError(f"nothing can be learnt from {text!r}: {why}")
        references.append(reference)
    return knowledge.with_references(references)


def own_measurement(text: str, experiment: Experiment) -> Measurement:
    """The measurement ``text`` states of the experiment, run as it is asked for. Raises InputError."""
    gpu, equals, rest = text.rpartition("=")
    if not equals or not gpu.strip():
        raise InputError(f"cannot read the measurement {text!r}; {FORM}")
    rate_text, *details = (word.strip() for word in rest.split(","))
    try:
        rate = float(rate_text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < _MOST_RATE:
        raise InputError(f"the rate in {text!r} must be a number of samples/s above 0 and below {_MOST_RATE:g}; {FORM}")
    precision, batch = experiment.precision, experiment.batch_size_per_gpu
    for word in details:
        named = _precision(word)
        if named is not None:
            precision = named
        elif word[:1] == "b" and word[1:].isdecimal() and 0 < int(word[1:]) <= _MAX_BATCH:
            batch = int(word[1:])
        else:
            raise InputError(f"cannot read {word!r} in the measurement {text!r}; {FORM}")
    resolution, count = resolve_count(gpu.strip())
    return Measurement(
        workload=experiment.workload,
        machine=machine_from_spec(gpu.strip(), resolution.accelerator.key, count),
        precision=precision,
        batch_size_per_gpu=batch,
        samples_per_s=rate,
        scope="step",
        software=Software(channels_last=experiment.channels_last, compiled=experiment.compiled, tuned=experiment.tuned),
        optimizer=experiment.optimizer,
        method=Method(*(getattr(experiment, field) for field in Method._fields)),
    )


def doubtful(texts: Sequence[str], experiment: Experiment) -> list[str]:
    """A sentence on each measurement that cannot be what it is taken for. Raises InputError."""
    return [*above_peak(texts, experiment), *far_below(texts, experiment), *contradictions(texts, experiment)]


def far_below(texts: Sequence[str], experiment: Experiment) -> list[str]:
    """A sentence on each measurement that is a small part of what is expected, as steps a second are."""
    found = []
    for text in texts:
        measurement = own_measurement(text, experiment)
        expected = predict(measurement, shipped_knowledge()).samples_per_s
        if expected is not None and expected.p50 > _FAR_BELOW * measurement.samples_per_s:
            unit = f"{measurement.workload.sample_unit}s"
            found.append(
                f"the measurement {text!r} is 1/{expected.p50 / measurement.samples_per_s:,.0f} of the "
                f"{expected.p50:,.0f} {unit} a second expected there: it is taken as {unit} a second, which is steps a "
                "second times the batch"
            )
    return found


def contradictions(texts: Sequence[str], experiment: Experiment) -> list[str]:
    """A sentence on measurements of the same run that differ by more than such runs do."""
    runs: dict[Measurement, list[tuple[float, str]]] = {}
    for text in texts:
        measurement = own_measurement(text, experiment)
        run = measurement._replace(samples_per_s=0.0, machine=measurement.machine._replace(name=""))
        runs.setdefault(run, []).append((measurement.samples_per_s, text))
    found = []
    for measured in runs.values():
        (least, low), (most, high) = min(measured), max(measured)
        if most > _APART * least:
            found.append(
                f"the measurements {low!r} and {high!r} are of one run and {most / least:.1f} times apart: estimates "
                "are drawn to what lies between them, so leave out the one that is wrong"
            )
    return found


def above_peak(texts: Sequence[str], experiment: Experiment) -> list[str]:
    """A sentence on each measurement that takes more arithmetic than its GPUs have. Raises InputError."""
    found = []
    for text in texts:
        measurement = own_measurement(text, experiment)
        share = _share_of_peak(measurement, experiment)
        if share is not None and share > 1.0:
            workload = measurement.workload
            length = f" of {workload.seq_length:,} tokens" if workload.seq_length else ""
            found.append(
                f"the measurement {text!r} is {share:,.0%} of what the arithmetic of its "
                f"{counted(measurement.machine.devices, 'GPU')} allows: it is taken as {workload.sample_unit}s{length} "
                f"a second, of {workload.name} in {measurement.precision}"
            )
    return found


def _share_of_peak(measurement: Measurement, experiment: Experiment) -> float | None:
    """The measured rate's FLOP/s over the peak, as MFU counts both.

    None where the peak is unknown, or where convolutions multiply less than is counted (Winograd).
    """
    machine, workload = measurement.machine, measurement.workload
    precision = resolve_precision(measurement.precision, machine.accelerator)
    if precision is None:
        return None
    if multiplies_less(workload, precision):
        return None
    flops = training_flops(workload, variant_of(experiment, load_calibration()))
    return flops * measurement.samples_per_s / (precision.peak_flops_per_s * machine.devices)


def _precision(word: str) -> Precision | None:
    known: tuple[Precision, ...] = get_args(Precision)
    return next((name for name in known if name == word.lower()), None)
