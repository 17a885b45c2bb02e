"""The doubt of an architecture that no row is of, from the means of those that were left out."""

from __future__ import annotations

import math
from typing import Any

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from tools.fit.architectures import doubt_of_architecture  # noqa: E402


def left(**means: float) -> dict[str, Any]:
    """Rows of each architecture of NVIDIA's that scatter around its mean."""
    return {f"NVIDIA {name}": np.array([mean - 0.3, mean, mean + 0.3]) for name, mean in means.items()}


def test_it_is_the_t_quantile_of_the_means_spread() -> None:
    """Of four means -0.1, 0.1, -0.1, 0.1: sd 0.1155; t of three degrees of freedom at 0.9: 1.638; root of 5 / 4."""
    low, high = doubt_of_architecture(left(a=-0.1, b=0.1, c=-0.1, d=0.1))
    assert low == high == pytest.approx(1.638 * 0.1155 * math.sqrt(1.25), abs=0.001)


def test_rows_do_not_count_and_other_vendors_have_a_doubt_of_their_own() -> None:
    own = left(a=-0.1, b=0.1, c=-0.1, d=0.1)
    more = {**own, "NVIDIA a": np.full(1000, -0.1), "AMD GCN": np.array([5.0])}
    assert doubt_of_architecture(more) == doubt_of_architecture(own)
