"""Interval tables from left-out rows: found again from rows whose spread is known."""

from __future__ import annotations

from typing import Any

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from tools.fit.coverage import coverage, covered  # noqa: E402
from tools.fit.intervals import NARROWEST, TIERS, LeftOutRows, interval_table  # noqa: E402

COUNT = 600


def rows(spread: float, seed: int, **more: Any) -> LeftOutRows:
    """Six dies and networks, half the rows of each lineage."""
    groups = np.array([f"group {i % 6}" for i in range(COUNT)])
    return LeftOutRows(
        residuals=np.random.default_rng(seed).normal(0.0, spread, COUNT),
        lineages=np.array(["calm", "wild"] * (COUNT // 2)),
        kinds=np.array(["transformer"] * COUNT),
        dies=groups,
        networks=groups,
    )._replace(**more)


def by_tier(**more: Any) -> dict[str, LeftOutRows]:
    return {tier: rows(0.1 * (1 + place), place, **more) for place, tier in enumerate(TIERS)}


def width(table: dict[str, Any], tier: str, lineage: str) -> float:
    low, high = table["lineages"][tier][lineage]
    return float(high - low)


def test_rows_that_spread_alike_are_covered_by_four_fifths() -> None:
    left_out = by_tier()
    inside = covered(left_out, "measured_same_gpu")
    found = coverage(inside, left_out["measured_same_gpu"].groups("measured_same_gpu"))
    assert found.covered == pytest.approx(0.8, abs=0.03)
    assert (found.rows, found.groups, found.outside) == (COUNT, 6, {})


def test_a_group_far_off_does_not_widen_its_own_interval() -> None:
    left_out = by_tier()
    tier = left_out["measured_same_gpu"]
    far = np.where(tier.dies == "group 0", tier.residuals + 2.0, tier.residuals)
    left_out["measured_same_gpu"] = tier._replace(residuals=far)
    inside = covered(left_out, "measured_same_gpu")
    assert not inside[tier.dies == "group 0"].any()
    assert coverage(inside, tier.dies).outside["group 0"] == 0.0


def test_each_lineage_is_as_wide_as_its_rows_say() -> None:
    wilder = {tier: left._replace(residuals=np.where(left.lineages == "wild", 4.0, 1.0) * left.residuals)
              for tier, left in by_tier().items()}  # fmt: skip
    table = interval_table(wilder)
    assert width(table, "measured_other_gpu", "wild") > 2.5 * width(table, "measured_other_gpu", "calm")
    assert width(table, "measured_other_gpu", "calm") > 1.5 * 1.28 * 0.2  # only half of what is less is believed
    inside = covered(wilder, "measured_other_gpu")
    wild = wilder["measured_other_gpu"].lineages == "wild"
    assert 0.65 <= inside[wild].mean() <= 0.93


def test_a_handful_of_rows_says_little_of_a_lineage() -> None:
    few = np.array(["wild"] * 3 + ["calm"] * (COUNT - 3))
    left_out = by_tier(lineages=few)
    wild = {t: r._replace(residuals=np.where(few == "wild", 5.0, r.residuals)) for t, r in left_out.items()}
    table = interval_table(wild)
    assert width(table, "specs_only", "calm") < width(table, "specs_only", "wild") < 2.0 * 5.0


def test_tiers_out_of_order_are_brought_into_order() -> None:
    left_out = by_tier()
    left_out["measured_same_gpu"], left_out["specs_only"] = left_out["specs_only"], left_out["measured_same_gpu"]
    table = interval_table(left_out)
    for lineage in ("calm", "wild"):
        widths = [width(table, tier, lineage) for tier in TIERS]
        assert widths == sorted(widths)
        assert widths[0] > 2.0 * NARROWEST
