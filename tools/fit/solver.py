"""Regularised robust least squares on ln(time): the constants that explain the rows and stay near their prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.fit.model import Features, predict
from tools.fit.parameters import Parameters, Vector

NOISE_SD = 0.08
HUBER_AT = 0.7
MAX_STEPS = 60
TOLERANCE = 1e-5


class Solution(NamedTuple):
    """Maximum a posteriori values and their covariance (Laplace approximation)."""

    values: Vector
    covariance: NDArray[np.float64]


def solve(
    features: Features, parameters: Parameters, host_s: float, norm: float, start: Vector | None = None
) -> Solution:
    """Minimise the Huber loss of residuals in units of the noise plus quadratic penalties of the priors.

    Levenberg-Marquardt on the reweighted normal equations; the damping falls while steps succeed.
    """
    mean, precision = parameters.mean, 1.0 / parameters.sd**2
    values, damping = (mean if start is None else start).copy(), 1e-3
    objective = _objective(features, parameters, values, host_s, norm, precision, mean)
    for _ in range(MAX_STEPS):
        prediction = predict(features, parameters, values, host_s, norm, slopes=True)
        if prediction.jacobian is None:
            raise AssertionError("derivatives were asked for")
        residual = (prediction.log_time - features.log_measured) / NOISE_SD
        weight = 1.0 / np.maximum(np.abs(residual) / HUBER_AT, 1.0)
        slopes = prediction.jacobian / NOISE_SD
        hessian = slopes.T @ (slopes * weight[:, None]) + np.diag(precision)
        gradient = slopes.T @ (weight * residual) + precision * (values - mean)
        while True:
            damped = hessian + damping * np.diag(np.diag(hessian))
            step = -np.linalg.solve(damped, gradient)
            tried = _objective(features, parameters, values + step, host_s, norm, precision, mean)
            if tried < objective or damping > 1e6:
                break
            damping *= 4.0
        improvement = objective - tried
        if improvement <= 0.0:
            break
        values, objective, damping = values + step, tried, max(damping / 3.0, 1e-6)
        if improvement < TOLERANCE * objective:
            break
    return Solution(values, np.linalg.inv(hessian))


def _objective(
    features: Features,
    parameters: Parameters,
    values: Vector,
    host_s: float,
    norm: float,
    precision: Vector,
    mean: Vector,
) -> float:
    prediction = predict(features, parameters, values, host_s, norm, slopes=False)
    size = np.abs(prediction.log_time - features.log_measured) / NOISE_SD
    huber = np.where(size > HUBER_AT, HUBER_AT * (2.0 * size - HUBER_AT), size**2)
    return float(huber.sum() + precision @ (values - mean) ** 2)
