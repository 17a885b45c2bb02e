"""Regularised robust least squares on ln(time): the constants that explain the rows and stay near their prior."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from tools.fit.model import Features, predict
from tools.fit.parameters import Parameters, Vector

NOISE_SD = 0.08
HUBER_AT = 1.5


def solve(
    features: Features, parameters: Parameters, host_s: float, norm: float, start: Vector | None = None
) -> Vector:
    """Maximum a posteriori parameters: residuals in units of the noise, soft-L1 loss; priors as quadratic penalties."""
    mean, sd = parameters.mean, parameters.sd
    values = mean.copy() if start is None else start.copy()
    for _ in range(4):  # iteratively reweighted least squares: outliers count linearly
        residual = (
            predict(features, parameters, values, host_s, norm, slopes=False).log_corrected - features.log_measured
        )
        weight = features.weight / np.maximum(np.abs(residual) / (HUBER_AT * NOISE_SD), 1.0)
        scale = np.sqrt(weight) / NOISE_SD

        def residuals(x: Vector, scale: Vector = scale) -> Vector:
            error = predict(features, parameters, x, host_s, norm, slopes=False).log_corrected - features.log_measured
            return np.concatenate([error * scale, (x - mean) / sd])

        def slopes(x: Vector, scale: Vector = scale) -> Vector:
            table = predict(features, parameters, x, host_s, norm, slopes=True).jacobian
            assert table is not None
            return np.vstack([table * scale[:, None], np.diag(1.0 / sd)])

        values = least_squares(residuals, values, slopes, method="trf", max_nfev=25, ftol=1e-6, xtol=1e-6).x
    return values
