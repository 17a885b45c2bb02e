"""The fitted constants of the throughput model: one table, its provenance inside it, read once.

``planner/data/calibration.json`` is written by ``tools/fit_throughput.py``; nothing here invents a number.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import DataError

# Not importlib.resources: importing it takes longer than reading the file.
CALIBRATION = Path(__file__).parent.parent / "data" / "calibration.json"


class ClassEfficiency(NamedTuple):
    """One operation class: share of peak FLOP/s, and share of bandwidth with 4- and with 2-byte elements."""

    compute: float
    bytes4: float
    bytes2: float

    def bandwidth_share(self, element_bytes: int) -> float:
        return self.bytes4 if element_bytes == 4 else self.bytes2


class LayoutConstants(NamedTuple):
    """Constants of one memory layout (nchw, nhwc); triples are forward, data gradient, weight gradient."""

    classes: Mapping[str, ClassEfficiency]
    group_width_exponent: tuple[float, float, float]
    group_resnext_log_gain: tuple[float, float, float]
    depthwise_log_kernel_penalty: tuple[float, float, float]
    depthwise_log_large_kernel: tuple[float, float, float]


class DeviceConstants(NamedTuple):
    """How a device of any kind turns its specifications into speed (docs/model.md, "The device")."""

    kappa_flop_per_clock_sm: Mapping[str, float]
    beta_bytes_per_clock_sm: float
    launch_s: float
    host_launch_s: float
    step_s: float
    overlap_norm: float
    power_exponent: float
    power_factor_min: float
    power_factor_max: float
    power_reference_w: Mapping[str, Mapping[str, float]]
    optimizer_bandwidth_share: float
    winograd_log_gain: float
    best_product_share: float
    best_product_kappa: float


class Calibration(NamedTuple):
    """Everything that was fitted or stated as a prior. Sections used by one file only stay plain mappings."""

    provenance: Mapping[str, Any]
    device: DeviceConstants
    layouts: Mapping[str, LayoutConstants]
    cpu: Mapping[str, float]
    levels: Mapping[str, Mapping[str, float]]
    host_factors: Mapping[str, float]
    memory: Mapping[str, float]
    collectives: Mapping[str, Any]
    input: Mapping[str, Any]
    offsets: Mapping[str, Any]
    intervals: Mapping[str, Any]


@cache
def load_calibration() -> Calibration:
    """The shipped constants. Raises DataError when the table is missing or damaged."""
    try:
        text = CALIBRATION.read_text(encoding="utf-8")
        return parse_calibration(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the fitted constants (planner/data/calibration.json) cannot be read: {error}") from error


def parse_calibration(table: Mapping[str, Any]) -> Calibration:
    """A table as :mod:`tools.fit_throughput` writes it. Raises KeyError, TypeError or ValueError when it is not one."""
    return Calibration(
        provenance=table["provenance"],
        device=DeviceConstants(**table["device"]),
        layouts={name: _parse_layout(layout) for name, layout in table["layouts"].items()},
        cpu=table["cpu"],
        levels=table["levels"],
        host_factors=table["host_factors"],
        memory=table["memory"],
        collectives=table["collectives"],
        input=table["input"],
        offsets=table["offsets"],
        intervals=table["intervals"],
    )


def _parse_layout(layout: Mapping[str, Any]) -> LayoutConstants:
    grouped, depthwise = layout["grouped"], layout["depthwise"]
    return LayoutConstants(
        classes={name: ClassEfficiency(*values) for name, values in layout["classes"].items()},
        group_width_exponent=tuple(grouped["width_exponent"]),
        group_resnext_log_gain=tuple(grouped["resnext_log_gain"]),
        depthwise_log_kernel_penalty=tuple(depthwise["log_kernel_penalty"]),
        depthwise_log_large_kernel=tuple(depthwise["log_large_kernel"]),
    )
