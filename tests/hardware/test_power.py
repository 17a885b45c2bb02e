"""Power limits: laptop parts clock with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.hardware.catalog import accelerator
from planner.hardware.power import at_power_limit


def test_the_ends_of_the_range() -> None:
    part = accelerator("RTX4090-Laptop")
    assert at_power_limit(part, 150) == part
    low = at_power_limit(part, 80)
    assert low.boost_hz == part.boost_min_hz
    assert low.power_w == 80
    assert low.fp16_flops_per_s == pytest.approx(79.38e12 * 1455 / 2040)
    assert low.measured_bf16_flops_per_s is None


@given(st.floats(1, 400), st.floats(1, 400))
def test_more_power_is_never_slower(one: float, other: float) -> None:
    part = accelerator("RTX3060-Laptop")
    low, high = (at_power_limit(part, watts) for watts in sorted((one, other)))
    assert low.fp16_flops_per_s is not None
    assert high.fp16_flops_per_s is not None
    assert low.fp16_flops_per_s <= high.fp16_flops_per_s <= (part.fp16_flops_per_s or 0)


def test_a_card_without_a_known_range_keeps_its_rates() -> None:
    card = accelerator("RTX4090")
    limited = at_power_limit(card, 300)
    assert limited.power_w == 300
    assert limited.fp16_flops_per_s == card.fp16_flops_per_s
