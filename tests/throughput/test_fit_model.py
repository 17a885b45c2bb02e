"""The fit evaluates the same equations as the shipped code, and its derivatives are right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.throughput.calibration import load_calibration
from planner.throughput.device import device_rates
from planner.throughput.kernels import Variant, operations_in, prepare
from planner.throughput.optimizer import update_work
from planner.throughput.precision import resolve_precision
from planner.throughput.step import soft_maximum
from planner.workloads.catalog import load_workload
from tests.throughput.examples import A100, GTX1080TI, V100, experiment

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from tools.fit.model import build_features, predict  # noqa: E402
from tools.fit.observations import Observation  # noqa: E402
from tools.fit.parameters import Parameters, register_constants  # noqa: E402
from tools.fit.tables import table_of_constants  # noqa: E402

CALIBRATION = load_calibration()
CASES = [
    (name, device, precision, layout)
    for name in ("efficientnet_b0", "resnext50_32x4d", "bert-base", "gnmt")
    for device, precision in ((A100, "amp"), (V100, "fp16"), (GTX1080TI, "fp32"))
    for layout in ("nchw", "nhwc")
]


def shipped_parameters() -> Parameters:
    parameters = Parameters()
    register_constants(parameters, table_of_constants(CALIBRATION))
    return parameters
