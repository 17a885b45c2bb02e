"""The roofline of ``planner.throughput.kernels`` over many observations at once, with its derivatives.

Same equations as the shipped code (a test compares the two), on arrays over all operations of all observations, so that
one evaluation of some hundred thousand operations takes milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.throughput.kernels import (
    DEPTHWISE,
    GEMM,
    GROUPED,
    LARGE_KERNEL,
    ROOFLINE_NORM,
    engine_of,
    feed_of,
    runs_winograd,
    worked_per_counted,
)
from planner.workloads.workload import Operation
from tools.fit.observations import Observation
from tools.fit.parameters import Parameters, Vector

Index = NDArray[np.int64]


@dataclass
class Features:
    """Arrays over operations (``owner`` is their observation) and, from ``launches`` on, over observations.

    Parameter indices point into the parameter vector extended by one zero, which stands for "no such parameter".
    """

    owner: Index
    arithmetic_s: Vector  # seconds at full peak
    sm_clock_s: Vector  # FLOPs x seconds per SM clock: times 1 / kappa
    bytes_s: Vector  # seconds at full bandwidth
    bytes_sm_s: Vector  # bytes x seconds per SM clock: times 1 / beta
    compute: Index
    kappa: Index
    moved: Index
    slope: Index
    slope_value: Vector
    gain: Index
    winograd: Index
    kernel: Index
    kernel_value: Vector
    launches: Vector
    host_launches: Vector
    update_s: Vector
    log_measured: Vector

    def subset(self, keep: NDArray[np.bool_]) -> Features:
        """The arrays of the observations for which ``keep`` is True."""
        operations = keep[self.owner]
        kept = {name: getattr(self, name)[keep] for name in ("launches", "host_launches", "update_s", "log_measured")}
        others = (name for name in self.__dataclass_fields__ if name not in (*kept, "owner"))
        kept.update((name, getattr(self, name)[operations]) for name in others)
        return Features(owner=(np.cumsum(keep) - 1)[self.owner[operations]], **kept)


def build_features(observations: Sequence[Observation], parameters: Parameters) -> Features:
    """Arrays of the observations."""
    columns = _OperationColumns(parameters)
    for position, observation in enumerate(observations):
        columns.add(position, observation)
    kernels = [sum(op.kernels for op in o.operations) * o.accumulation + o.update_kernels for o in observations]
    return Features(
        **columns.arrays(),
        launches=np.array(kernels),
        host_launches=np.array([k * o.host_factor for k, o in zip(kernels, observations, strict=True)]),
        update_s=np.array([o.update_bytes / o.bandwidth_bytes_per_s for o in observations]),
        log_measured=np.log([o.step_time_s for o in observations]),
    )


class _OperationColumns:
    """Collects one entry an operation."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._none = -1
        self._rows: list[tuple[float, ...]] = []

    def add(self, position: int, observation: Observation) -> None:
        index = self._parameters.index
        rates, batch = observation.rates, observation.batch_size
        for operation in observation.operations:
            op_class = operation.op_class if f"{observation.layout}/{operation.op_class}/b4" in index else "ew"
            name = f"{observation.layout}/{op_class}"
            size = 4 if operation.element_bytes >= 4 else 2
            moved = operation.bytes.at(batch) * observation.accumulation
            flops = operation.flops.at(batch) * observation.accumulation if op_class in GEMM else 0.0
            engine = engine_of(op_class, size, observation.precision)
            per_fed_clock = 0.0 if op_class in DEPTHWISE else rates.seconds_per_fed_clock
            slope, slope_value, gain, kernel, kernel_value = self._shape(operation, name)
            winograd = runs_winograd(operation, observation.precision)
            self._rows.append(
                (
                    position,
                    flops * worked_per_counted(operation, observation.precision) * rates.seconds_per_flop[engine],
                    flops * per_fed_clock,
                    moved / observation.bandwidth_bytes_per_s,
                    moved * rates.seconds_per_sm_clock,
                    index.get(f"{name}/c", self._none),
                    index[f"kappa/{feed_of(op_class, size)}"],
                    index[f"{name}/b{size}"],
                    slope,
                    slope_value,
                    gain,
                    index["winograd"] if winograd else self._none,
                    kernel,
                    kernel_value,
                )
            )

    def _shape(self, operation: Operation, name: str) -> tuple[int, float, int, int, float]:
        index, none = self._parameters.index, self._none
        if operation.op_class in GROUPED:
            width = min(max(operation.width, 4.0), 128.0)
            resnext = operation.groups == 32 and operation.width <= 33
            return (
                index[f"{name}/width"],
                math.log(width / 32.0),
                index[f"{name}/resnext"] if resnext else none,
                none,
                0.0,
            )
        if operation.op_class in DEPTHWISE:
            large = index[f"{name}/large"] if operation.kernel_size > LARGE_KERNEL else none
            return none, 0.0, large, index[f"{name}/kernel"], 1.0 / max(operation.kernel_size, 1) ** 2
        return none, 0.0, none, none, 0.0

    def arrays(self) -> dict[str, NDArray]:  # type: ignore[type-arg]
        table = np.array(self._rows)
        names = (
            "owner", "arithmetic_s", "sm_clock_s", "bytes_s", "bytes_sm_s", "compute", "kappa", "moved",
            "slope", "slope_value", "gain", "winograd", "kernel", "kernel_value",
        )  # fmt: skip
        whole = {"owner", "compute", "kappa", "moved", "slope", "gain", "winograd", "kernel"}
        return {
            name: table[:, column].astype(np.int64) if name in whole else table[:, column]
            for column, name in enumerate(names)
        }


@dataclass
class Prediction:
    """ln(step time) of every observation, and its derivatives."""

    log_time: Vector
    jacobian: NDArray[np.float64] | None


def predict(
    features: Features, parameters: Parameters, values: Vector, host_s: float, norm: float, slopes: bool
) -> Prediction:
    """Evaluate the model at ``values`` (one for each parameter); derivatives only where ``slopes``."""
    extended = np.append(values, 0.0)
    index, count = parameters.index, len(features.launches)
    f = features
    kernel_weight = np.exp(extended[f.kernel]) * f.kernel_value
    log_share = extended[f.compute] + extended[f.slope] * f.slope_value + extended[f.gain] - np.log1p(kernel_weight)
    log_share = log_share + extended[f.winograd]
    peak_s = f.arithmetic_s * np.exp(-log_share)
    feed_s = f.sm_clock_s * np.exp(-extended[f.kappa])
    beta = extended[index["beta"]]
    moved_scale = np.exp(-extended[f.moved])
    wire_s, port_s = f.bytes_s * moved_scale, f.bytes_sm_s * moved_scale * np.exp(-beta)
    arithmetic_s, moving_s = peak_s + feed_s, wire_s + port_s
    operation_s = (arithmetic_s**ROOFLINE_NORM + moving_s**ROOFLINE_NORM) ** (1.0 / ROOFLINE_NORM)
    launch_s, step_s = math.exp(extended[index["launch"]]), math.exp(extended[index["step"]])
    update_s = f.update_s * math.exp(-extended[index["optimizer"]])
    device_s = np.bincount(f.owner, operation_s, count) + update_s + f.launches * launch_s
    waiting_s = f.host_launches * host_s
    together_s = (device_s**norm + waiting_s**norm) ** (1.0 / norm)
    total_s = together_s + step_s
    log_time = np.log(total_s)
    if not slopes:
        return Prediction(log_time, None)
    chain = (device_s / together_s) ** (norm - 1.0) / total_s
    columns = len(parameters) + 1
    jacobian = np.zeros(count * columns)

    def accumulate(parameter: Index, slope: Vector) -> None:
        cell = f.owner * columns + np.where(parameter < 0, columns - 1, parameter)
        jacobian[:] += np.bincount(cell, slope, count * columns)

    some_s = np.maximum(operation_s, np.finfo(float).tiny)  # an operation may take no time at all
    of_arithmetic, of_moving = ((seconds / some_s) ** (ROOFLINE_NORM - 1) for seconds in (arithmetic_s, moving_s))
    by_peak, by_feed = of_arithmetic * peak_s, of_arithmetic * feed_s
    by_bytes, by_port = of_moving * moving_s, of_moving * port_s
    accumulate(f.compute, -by_peak)
    accumulate(f.slope, -by_peak * f.slope_value)
    accumulate(f.gain, -by_peak)
    accumulate(f.winograd, -by_peak)
    accumulate(f.kernel, by_peak * kernel_weight / (1.0 + kernel_weight))
    accumulate(f.kappa, -by_feed)
    accumulate(f.moved, -by_bytes)
    accumulate(np.full(len(f.owner), index["beta"]), -by_port)
    table = jacobian.reshape(count, columns)[:, :-1]
    table[:, index["launch"]] += f.launches * launch_s
    table[:, index["optimizer"]] -= update_s
    table *= chain[:, None]
    table[:, index["step"]] += step_s / total_s
    return Prediction(log_time, table)
