"""From the micro-benchmarks of a GPU to the rates that take the place of its specifications."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.hardware.profile import GpuRates, Kernel, Measured

# The engine that a product's type runs on. Where both 2-byte types were measured the faster one is the engine's own:
# the other may be emulated.
_ENGINES = {"float16": "half", "bfloat16": "half", "tfloat32": "tf32", "float32": "fp32"}
_PRODUCT = "product "
_MOVED = "moved"
_NO_KERNEL = ("launch", "held", "rewritten", "probe", "host copy", "all-reduce", _MOVED)
# Quartiles of a normal distribution are 1.35 standard deviations apart.
_QUARTILES_APART = 1.35


def gpu_rates(measurements: Sequence[Mapping[str, Any]], share_left: float = 1.0) -> GpuRates | None:
    """The rates of what was measured on the GPU (lines of kind 'rate' of ``child/torch_bench.py``); None of nothing.

    ``share_left`` is what a warm machine keeps of its arithmetic.
    """
    reduced = next((row for row in measurements if row["op_class"] == "all-reduce"), None)
    from_host = next((row for row in measurements if row["op_class"] == "host copy"), None)
    moved = [row for row in measurements if row["op_class"] == _MOVED]
    rates = GpuRates(
        products=_products(measurements, share_left),
        moved=_moved(moved) if moved else None,
        kernels=tuple(_kernels(measurements)),
        from_host_bytes_per_s=None if from_host is None else from_host["bytes"] / from_host["seconds"],
        all_reduce_bytes_per_s=None if reduced is None else _bus_bandwidth(reduced),
        num_reduced=0 if reduced is None else reduced["devices"],
    )
    return rates if rates != GpuRates({}) else None


def _products(measurements: Iterable[Mapping[str, Any]], share_left: float) -> dict[str, Measured]:
    """The fastest product of each engine."""
    found: dict[str, Measured] = {}
    for row in measurements:
        engine = _ENGINES.get(row["op_class"].removeprefix(_PRODUCT))
        if engine is None or not row["op_class"].startswith(_PRODUCT):
            continue
        rate = share_left * row["flops"] / row["seconds"]
        if engine not in found or rate > found[engine].rate:
            found[engine] = Measured(rate, math.log(row["high_s"] / row["low_s"]) / _QUARTILES_APART)
    return found


def _moved(rows: Sequence[Mapping[str, Any]]) -> Measured:
    """The geometric mean over copies and sums; what they differ by says how well one number stands for all."""
    logs = [math.log(row["bytes"] / row["seconds"]) for row in rows]
    spread = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    return Measured(math.exp(statistics.fmean(logs)), spread)


def _bus_bandwidth(row: Mapping[str, Any]) -> float:
    """A ring of n GPUs sends 2 (n - 1) / n of the summed bytes over each link (Patarasuk and Yuan, 2009)."""
    count = row["devices"]
    rate: float = 2.0 * (count - 1) / count * row["bytes"] / row["seconds"]
    return rate


def _kernels(measurements: Iterable[Mapping[str, Any]]) -> Iterable[Kernel]:
    for row in measurements:
        op_class = row["op_class"]
        if op_class in _NO_KERNEL or op_class.startswith(("update ", _PRODUCT)):
            continue
        yield Kernel(
            shape=row["name"],
            op_class=op_class,
            phase=row["phase"],
            element_bytes=row.get("element_bytes", 4),
            flops=row["flops"],
            bytes=row["bytes"],
            kernels=row["kernels"],
            seconds=row["seconds"],
            width=row.get("width", 0.0),
            groups=row.get("groups", 1),
            kernel_size=row.get("kernel_size", 0),
        )
