"""The fit evaluates the same equations as the shipped code, and its derivatives are right."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planner.experiment.experiment import Precision
from planner.hardware.accelerator import Accelerator
from planner.throughput.calibration import CALIBRATION as TABLE
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
from tools.fit.solver import solve  # noqa: E402

CALIBRATION = load_calibration()
DEVICES: tuple[tuple[Accelerator, Precision], ...] = ((A100, "amp"), (V100, "fp16"), (GTX1080TI, "fp32"))
CASES = [
    (name, device, precision, layout)
    for name in ("efficientnet_b0", "resnext50_32x4d", "bert-base", "gnmt")
    for device, precision in DEVICES
    for layout in ("nchw", "nhwc")
]


def shipped_parameters() -> Parameters:
    parameters = Parameters()
    register_constants(parameters, json.loads(TABLE.read_text(encoding="utf-8")))
    return parameters


def observation(name: str, device: Accelerator, precision_name: Precision, layout: str) -> Observation:
    precision = resolve_precision(precision_name, device)
    assert precision is not None
    rates = device_rates(device, precision, CALIBRATION)
    assert rates is not None
    workload = load_workload(name)
    update = update_work(experiment(workload), precision)
    return Observation(
        operations=operations_in(workload, precision),
        batch_size=32,
        accumulation=2,
        layout=layout,
        accelerator=device,
        rates=rates,
        precision=precision,
        update_bytes=update.traffic_bytes,
        update_kernels=update.kernels,
        host_factor=1.0,
        step_time_s=0.1,
    )


@pytest.mark.parametrize(("name", "device", "precision", "layout"), CASES)
def test_the_fit_and_the_step_are_the_same_equations(
    name: str, device: Accelerator, precision: Precision, layout: str
) -> None:
    seen = observation(name, device, precision, layout)
    parameters = shipped_parameters()
    features = build_features([seen], parameters)
    constants = CALIBRATION.device
    fitted = predict(
        features, parameters, parameters.mean, constants.host_launch_s, constants.overlap_norm, slopes=False
    )
    workload = load_workload(name)
    work = prepare(workload, seen.precision, 32, Variant(CALIBRATION.layouts[layout]), CALIBRATION)
    update = update_work(experiment(workload), seen.precision)
    device_s = 2 * (work.forward.seconds(seen.rates)[0] + work.backward.seconds(seen.rates)[0])
    device_s += update.seconds(seen.rates)
    host_s = (2 * work.kernels + update.kernels) * constants.host_launch_s
    shipped = soft_maximum(device_s, host_s, constants.overlap_norm) + constants.step_s
    assert np.exp(fitted.log_time[0]) == pytest.approx(shipped, rel=1e-9)


def test_derivatives_agree_with_differences() -> None:
    seen = [observation(*case) for case in CASES[::5]]
    parameters = shipped_parameters()
    features = build_features(seen, parameters)
    values = parameters.mean
    exact = predict(features, parameters, values, 7e-6, 6.0, slopes=True).jacobian
    assert exact is not None
    for position in range(0, len(parameters), 7):
        step = np.zeros(len(parameters))
        step[position] = 1e-5
        above = predict(features, parameters, values + step, 7e-6, 6.0, slopes=False).log_time
        below = predict(features, parameters, values - step, 7e-6, 6.0, slopes=False).log_time
        assert np.allclose((above - below) / 2e-5, exact[:, position], atol=1e-4)


def test_the_fit_finds_what_made_the_rows() -> None:
    parameters = shipped_parameters()
    seen = [observation(*case) for case in CASES]
    truth = parameters.mean
    moved = parameters.index["kappa/convolution2"]
    truth[moved] += parameters.sd[moved]  # as far as its prior lets a constant go for one unit of penalty
    log_time = predict(build_features(seen, parameters), parameters, truth, 7e-6, 6.0, slopes=False).log_time
    made = [replace(o, step_time_s=float(np.exp(t))) for o, t in zip(seen, log_time, strict=True)]
    features = build_features(made, parameters)
    solution = solve(features, parameters, 7e-6, 6.0)
    left = predict(features, parameters, solution.values, 7e-6, 6.0, slopes=False).log_time - features.log_measured
    assert np.abs(left).max() < 0.02
