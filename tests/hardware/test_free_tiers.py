"""Free notebooks: the table is sound and says what the providers say."""

from __future__ import annotations

from datetime import date

import pytest

from planner.hardware.free_tiers import FreeTier, free_tiers


def tier(name: str) -> FreeTier:
    return next(tier for tier in free_tiers() if tier.name == name)


def test_the_three_known_ones() -> None:
    assert {tier.name for tier in free_tiers()} == {"Colab T4", "Kaggle 2x T4", "Kaggle P100"}


def test_every_row_is_sound() -> None:
    for tier in free_tiers():
        assert len(tier.source) > 20, tier.name
        assert date.fromisoformat(tier.as_of) >= date(2026, 1, 1), tier.name
        assert 1 <= tier.session_hours <= 24, tier.name
        assert tier.weekly_hours is None or tier.session_hours <= tier.weekly_hours <= 168, tier.name
        assert tier.ended is None or date.fromisoformat(tier.ended), tier.name
        assert tier.machine.vcpus, tier.name
        assert tier.machine.ram_bytes, tier.name


@pytest.mark.parametrize(
    ("name", "gpu", "count", "session_hours", "weekly_hours"),
    [
        ("Colab T4", "T4", 1, 12, None),
        ("Kaggle 2x T4", "T4", 2, 12, 30),
        ("Kaggle P100", "P100-PCIe-16GB", 1, 12, 30),
    ],
)
def test_published_limits(name: str, gpu: str, count: int, session_hours: float, weekly_hours: float | None) -> None:
    found = tier(name)
    assert (found.machine.accelerator.key, found.machine.num_gpus) == (gpu, count)
    assert (found.session_hours, found.weekly_hours) == (session_hours, weekly_hours)


def test_the_p100_is_not_lent_any_more() -> None:
    assert tier("Kaggle P100").ended == "2026-09-15"
    assert tier("Kaggle 2x T4").ended is None
