"""Pairs of measured rows that differ in one thing only: several GPUs against one, compiled against not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from planner.errors import InputError
from planner.throughput.backtest import experiment_of
from planner.throughput.lineage import lineage_of
from planner.throughput.measurement import Measurement, read_measurement
from planner.throughput.precision import resolve_precision
from planner.throughput.row_rate import MeasuredRow
from tools.fit.scaling import Pair

_SAME = ("source", "model", "gpu", "precision", "framework_version", "batch_per_gpu")
# Old multi-GPU logs of this network state the rate of one GPU: a rate that hardly grows is one.
_PER_GPU_MODEL, _PER_GPU_BELOW = "SSD", 1.3
# Where the same was run with and without a compiler, and the software level that is.
_COMPILED_SOURCES = {"lambdal/lambda-tensorflow-benchmark": "xla", "karpathy/nanoGPT": "compiled"}
# One virtual machine without its links, under the label of the module (docs/model.md, "The prototype").
_BROKEN_GPU, _BROKEN_BELOW = "A100-40GB-SXM", 0.6


def scaling_pairs(rows: Iterable[MeasuredRow]) -> list[Pair]:
    """Every several-GPU row of one machine with the median of its one-GPU rows."""
    groups: dict[tuple[str, ...], list[tuple[MeasuredRow, Measurement]]] = {}
    for row in rows:
        if not row["source"].startswith("lambdal/"):
            continue
        try:
            measurement = read_measurement(row)
        except InputError:
            continue
        variant = row["variant"].replace("NVLink", "")
        groups.setdefault((*(row[column] for column in _SAME), variant), []).append((row, measurement))
    return [pair for members in groups.values() for pair in _pairs_of(members)]


def _pairs_of(members: Sequence[tuple[MeasuredRow, Measurement]]) -> list[Pair]:
    single = [m.samples_per_s for _, m in members if m.machine.devices == 1]
    if not single:
        return []
    alone = median(single)
    pairs = []
    for row, measurement in members:
        devices, accelerator = measurement.machine.devices, measurement.machine.accelerator
        precision = resolve_precision(measurement.precision, accelerator)
        if devices == 1 or precision is None:
            continue
        rate = measurement.samples_per_s
        if row["model"] == _PER_GPU_MODEL and rate < _PER_GPU_BELOW * alone:
            rate *= devices
        batch = measurement.batch_size_per_gpu or measurement.workload.recipe_batch_size_per_gpu
        pair = Pair(
            experiment=(experiment := experiment_of(measurement)),
            precision=precision,
            machine=measurement.machine,
            single_s=batch / alone,
            several_s=batch * devices / rate,
            gpu=accelerator.key,
            lineage=lineage_of(experiment, measurement.software.framework),
        )
        if not (pair.gpu == _BROKEN_GPU and pair.efficiency < _BROKEN_BELOW):
            pairs.append(pair)
    return pairs


def compiled_pairs(rows: Iterable[MeasuredRow]) -> dict[str, list[tuple[Measurement, Measurement]]]:
    """Software level -> (plain, compiled) one-GPU rows that differ in their compiler only.

    Pairs in which XLA changed the layout of 2-byte convolutions as well say nothing of what it fused.
    """
    groups: dict[tuple[str, ...], dict[bool, Measurement]] = {}
    for row in rows:
        if row["source"] not in _COMPILED_SOURCES or row["n_gpus"] != "1":
            continue
        measurement = read_measurement(row)
        version = row["framework_version"].removesuffix(" eager").removesuffix(" torch.compile")
        key = tuple(version if column == "framework_version" else row[column] for column in _SAME)
        groups.setdefault(key, {})[measurement.software.compiled] = measurement
    pairs: dict[str, list[tuple[Measurement, Measurement]]] = {level: [] for level in _COMPILED_SOURCES.values()}
    for key, group in groups.items():
        if len(group) == 2 and group[False].software.channels_last == group[True].software.channels_last:
            pairs[_COMPILED_SOURCES[key[0]]].append((group[False], group[True]))
    return pairs
