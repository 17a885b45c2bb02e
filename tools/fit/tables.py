"""The shipped table with fitted parameters in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.throughput.kernels import DEPTHWISE, GROUPED
from tools.fit.parameters import LAYOUTS, Parameters, Vector

DIGITS = 4


def with_constants(table: Mapping[str, Any], parameters: Parameters, values: Vector) -> dict[str, Any]:
    """``table`` with its device and layout constants replaced by the fitted ones, rounded."""
    fitted = {name: float(values[position]) for name, position in parameters.index.items()}
    device = {
        **table["device"],
        "kappa_flop_per_clock_sm": {
            feed: _exp(fitted[f"kappa/{feed}"]) for feed in table["device"]["kappa_flop_per_clock_sm"]
        },
        "beta_bytes_per_clock_sm": _exp(fitted["beta"]),
        "launch_s": _exp(fitted["launch"]),
        "step_s": _exp(fitted["step"]),
        "optimizer_bandwidth_share": _exp(fitted["optimizer"]),
        "winograd_log_gain": round(fitted["winograd"], DIGITS),
    }
    layouts = {name: _layout(name, table["layouts"][name], fitted) for name in LAYOUTS}
    return {**table, "device": device, "layouts": layouts}


def _layout(name: str, table: Mapping[str, Any], fitted: Mapping[str, float]) -> dict[str, Any]:
    classes = {}
    for op_class, (compute, _, _) in table["classes"].items():
        prefix = f"{name}/{op_class}"
        share = _exp(fitted[f"{prefix}/c"]) if f"{prefix}/c" in fitted else compute
        classes[op_class] = [share, _exp(fitted[f"{prefix}/b4"]), _exp(fitted[f"{prefix}/b2"])]
    return {
        "classes": classes,
        "grouped": {
            "width_exponent": [round(fitted[f"{name}/{part}/width"], DIGITS) for part in GROUPED],
            "resnext_log_gain": [round(fitted[f"{name}/{part}/resnext"], DIGITS) for part in GROUPED],
        },
        "depthwise": {
            "log_kernel_penalty": [round(fitted[f"{name}/{part}/kernel"], DIGITS) for part in DEPTHWISE],
            "log_large_kernel": [round(fitted[f"{name}/{part}/large"], DIGITS) for part in DEPTHWISE],
        },
    }


def _exp(value: float) -> float:
    return float(f"{math.exp(value):.{DIGITS}g}")
