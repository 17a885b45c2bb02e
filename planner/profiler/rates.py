"""From measured operations to the rates of their classes.

An operation takes the longer of its arithmetic and its memory traffic (Williams et al., "Roofline", CACM 2009), so a
class has two rates: those that are nearest to its measurements, by the sum of squared logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.hardware.profile import ClassRate, MeasuredRates

Measurement = Mapping[str, Any]
"""One line of kind 'rate' as ``child/torch_bench.py`` writes it."""

# A rate may lie a little above every rate that was reached: each measurement is limited by the other one as well.
_HEADROOM = (1.0, 1.1, 1.25)
_UPDATE = "update "
_NO_CLASS = ("launch", "held", "rewritten", "probe")


def rates_of(measurements: Sequence[Measurement], share_left: float = 1.0) -> MeasuredRates:
    """Rates of every class that was measured; what was not reached stays unknown.

    ``share_left`` is what a warm machine keeps of its arithmetic: the micro-benchmarks are too short to warm it.
    """
    by_class: dict[str, list[Measurement]] = {}
    for row in measurements:
        by_class.setdefault(row["op_class"], []).append(row)
    classes = {
        name: _warm(class_rate(rows), share_left)
        for name, rows in by_class.items()
        if name not in _NO_CLASS and not name.startswith(_UPDATE)
    }
    updates = {
        name.removeprefix(_UPDATE): _update_s(rows) for name, rows in by_class.items() if name.startswith(_UPDATE)
    }
    rates = MeasuredRates(classes, updates, _launch_s(by_class.get("launch", ())), _held_s_per_byte(by_class))
    return rates._replace(surroundings=_surroundings(rates, by_class.get("probe", ())))


def class_rate(rows: Sequence[Measurement]) -> ClassRate:
    """The rates nearest to ``rows``; of a class without arithmetic, bytes over seconds of all."""
    seconds = sum(row["seconds"] for row in rows)
    if not any(row["flops"] for row in rows):
        return ClassRate(None, sum(row["bytes"] for row in rows) / seconds)
    flops_rates = [factor * row["flops"] / row["seconds"] for row in rows for factor in _HEADROOM]
    byte_rates = [factor * row["bytes"] / row["seconds"] for row in rows for factor in _HEADROOM]
    candidates = ((flops, moved) for flops in flops_rates for moved in byte_rates)
    flops, moved = min(candidates, key=lambda pair: _misfit(rows, *pair))
    return ClassRate(flops, moved)


def _surroundings(rates: MeasuredRates, probes: Sequence[Measurement]) -> dict[str, float]:
    """ln(predicted / measured) of each probe whose every class was measured, by its kind of network."""
    found = {}
    for probe in probes:
        seconds = predicted_s(rates, probe)
        if seconds is not None:
            found[probe["phase"]] = math.log(seconds / probe["seconds"])
    return found


def predicted_s(rates: MeasuredRates, probe: Measurement) -> float | None:
    """Seconds of the probe's step at the rates of its classes; None where one of them was not measured."""
    update_s = rates.updates.get(probe["optimizer"])
    if update_s is None or rates.launch_s is None or rates.held_s_per_byte is None:
        return None
    total: float = probe["parameters"] * update_s + _handed_out_bytes(probe, "held_bytes") * rates.held_s_per_byte
    for op_class, flops, moved, kernels in probe["rows"]:
        rate = rates.classes.get(op_class)
        if rate is None:
            return None
        total += max(flops / (rate.flops_per_s or math.inf), moved / (rate.bytes_per_s or math.inf))
        total += kernels * rates.launch_s
    return total


def _warm(rate: ClassRate, share_left: float) -> ClassRate:
    return rate if rate.flops_per_s is None else rate._replace(flops_per_s=rate.flops_per_s * share_left)


def _misfit(rows: Iterable[Measurement], flops_per_s: float, bytes_per_s: float) -> float:
    return sum(
        math.log(max(row["flops"] / flops_per_s, row["bytes"] / bytes_per_s) / row["seconds"]) ** 2 for row in rows
    )


def _update_s(rows: Sequence[Measurement]) -> float:
    """Seconds a parameter (4 bytes) of an optimizer's updates of large tensors."""
    parameters = sum(row["bytes"] for row in rows) / 4.0
    return float(sum(row["seconds"] for row in rows) / parameters)


def _launch_s(rows: Sequence[Measurement]) -> float | None:
    return sum(row["seconds"] for row in rows) / sum(row["kernels"] for row in rows) if rows else None


def _held_s_per_byte(by_class: Mapping[str, Sequence[Measurement]]) -> float | None:
    """What a byte costs that the system hands out anew, beyond writing it; little where the C library keeps it.

    A network is expected to be handed what it holds once a step: ten were handed 0.1 to 2.4 times as much
    (docs/profile.md).
    """
    if "held" not in by_class or "rewritten" not in by_class:
        return None
    held, rewritten = by_class["held"][0], by_class["rewritten"][0]
    extra_s: float = held["seconds"] - rewritten["seconds"]
    handed_out: float = max(_handed_out_bytes(held, "bytes"), held["bytes"])
    return max(0.0, extra_s) / handed_out


def _handed_out_bytes(row: Measurement, held: str) -> float:
    """As the system counted it, which the C library decides and nobody foresees; what is held where nobody counted."""
    counted = row.get("faulted_bytes")
    return float(row[held] if counted is None else counted)
