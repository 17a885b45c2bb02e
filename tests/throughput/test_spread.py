"""How wide an interval is: by tier, software lineage and doubts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from planner.throughput.calibration import load_calibration
from planner.throughput.spread import edges, widened

SHIPPED = load_calibration().intervals
BEST_FIRST = ("measured_here", "measured_same_gpu", "measured_other_gpu", "same_architecture", "specs_only")


@pytest.mark.parametrize("lineage", ["pytorch", "pytorch-tuned", "tensorflow-tuned", "software that nobody measured"])
def test_better_evidence_is_never_a_wider_interval(lineage: str) -> None:
    shipped = [edges(SHIPPED, tier, lineage) for tier in BEST_FIRST]
    assert all(low < 0.0 < high for low, high in shipped)
    for (better_low, better_high), (low, high) in pairwise(shipped):
        assert low <= better_low
        assert high >= better_high


def test_vendors_scripts_spread_more_than_ordinary_ones() -> None:
    ordinary, tuned = (edges(SHIPPED, "specs_only", name) for name in ("pytorch", "pytorch-tuned"))
    assert tuned[0] < ordinary[0] < 0.0 < ordinary[1] < tuned[1]


def test_software_that_nobody_measured_gets_the_interval_of_any() -> None:
    assert list(edges(SHIPPED, "specs_only", "a framework of tomorrow")) == SHIPPED["tiers"]["specs_only"]


def test_doubts_add_up_as_independent_ones() -> None:
    doubts = {"network": [-0.3, 0.4], "host": [-0.4, 0.3]}
    assert widened((-0.3, 0.3), ("network", "of no consequence"), doubts) == pytest.approx((-(0.18**0.5), 0.5))
    both = widened((-0.3, 0.3), ("network", "host"), doubts)
    assert both == pytest.approx((-(0.34**0.5), 0.34**0.5))
    assert widened((-0.3, 0.3), (), doubts) == (-0.3, 0.3)
