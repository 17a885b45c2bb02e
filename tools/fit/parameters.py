"""The vector of fitted parameters: each with a name, a prior mean and a prior width in the scale it is fitted in.

Positive constants are fitted as logarithms. The prior is what the prototype found on wider data (``prior.json``), so a
constant that the rows at hand say little about stays near it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.throughput.kernels import DEPTHWISE, GEMM, GROUPED

Vector = NDArray[np.float64]
LAYOUTS = ("nchw", "nhwc")
PRIOR = Path(__file__).with_name("prior.json")

# Prior standard deviations, in ln: how far a constant may move from the prototype's value for one unit of penalty.
CLASS_SD = 0.25
SHAPE_SD = 0.3
LARGE_SD = 0.8
# What feeds 2-byte products comes from measured ones of 35 accelerators, and is better known than the fit could tell.
DEVICE_SD = {"kappa": 0.4, "kappa/matmul2": 0.1, "beta": 0.05, "launch": 0.3, "step": 0.15, "optimizer": 0.4}


class Parameters:
    """Names with their position, prior mean and prior width."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self._mean: list[float] = []
        self._sd: list[float] = []

    def add(self, name: str, mean: float, sd: float) -> int:
        """Register a parameter once; later calls return its position."""
        if name not in self.index:
            self.index[name] = len(self._mean)
            self._mean.append(mean)
            self._sd.append(sd)
        return self.index[name]

    @property
    def mean(self) -> Vector:
        return np.array(self._mean)

    @property
    def sd(self) -> Vector:
        return np.array(self._sd)

    def __len__(self) -> int:
        return len(self._mean)


def load_prior() -> dict[str, Any]:
    """The prototype's constants, in the form of the shipped table."""
    prior: dict[str, Any] = json.loads(PRIOR.read_text(encoding="utf-8"))
    return prior


def register_constants(parameters: Parameters, prior: Mapping[str, Any]) -> None:
    """All class, shape and device constants of both layouts."""
    device = prior["device"]
    for feed, value in device["kappa_flop_per_clock_sm"].items():
        parameters.add(f"kappa/{feed}", np.log(value), DEVICE_SD.get(f"kappa/{feed}", DEVICE_SD["kappa"]))
    parameters.add("beta", np.log(device["beta_bytes_per_clock_sm"]), DEVICE_SD["beta"])
    parameters.add("launch", np.log(device["launch_s"]), DEVICE_SD["launch"])
    parameters.add("step", np.log(device["step_s"]), DEVICE_SD["step"])
    parameters.add("optimizer", np.log(device["optimizer_bandwidth_share"]), DEVICE_SD["optimizer"])
    parameters.add("winograd", device["winograd_log_gain"], SHAPE_SD)
    for layout in LAYOUTS:
        table = prior["layouts"][layout]
        for name, (compute, bytes4, bytes2) in table["classes"].items():
            if name in GEMM:
                parameters.add(f"{layout}/{name}/c", np.log(compute), CLASS_SD)
            parameters.add(f"{layout}/{name}/b4", np.log(bytes4), CLASS_SD)
            parameters.add(f"{layout}/{name}/b2", np.log(bytes2), CLASS_SD)
        for part, name in enumerate(GROUPED):
            parameters.add(f"{layout}/{name}/width", table["grouped"]["width_exponent"][part], SHAPE_SD)
            parameters.add(f"{layout}/{name}/resnext", table["grouped"]["resnext_log_gain"][part], SHAPE_SD)
        for part, name in enumerate(DEPTHWISE):
            parameters.add(f"{layout}/{name}/kernel", table["depthwise"]["log_kernel_penalty"][part], SHAPE_SD)
            parameters.add(f"{layout}/{name}/large", table["depthwise"]["log_large_kernel"][part], LARGE_SD)
