"""What the limits would have to be: quantiles by hand, and the planner's own answer once they are moved."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.probability import p_below
from planner.plan.relax import limit_met
from planner.tui.core import LiveCore
from planner.units import Interval

NOW = datetime(2026, 8, 10, 10, 0, tzinfo=UTC)


@given(
    st.floats(1.0, 1e6),
    st.floats(1.05, 3.0),
    st.floats(1.05, 3.0),
    st.sampled_from([0.05, 0.3, 0.5, 0.9, 0.99]),
)
def test_a_limit_is_met_with_the_probability_it_was_made_for(p50: float, below: float, above: float, p: float) -> None:
    quantity = Interval(p50 / below, p50, p50 * above)
    assert p_below(quantity, limit_met(quantity, p)) == pytest.approx(p, abs=1e-9)


def test_the_quantiles_themselves() -> None:
    quantity = Interval(80.0, 100.0, 150.0)
    assert limit_met(quantity, 0.9) == pytest.approx(150.0)
    assert limit_met(quantity, 0.5) == pytest.approx(100.0)
    assert limit_met(quantity, 0.1) == pytest.approx(80.0)
    assert limit_met(Interval(0.0, 0.0, 0.0), 0.9) == 0.0


@pytest.fixture(scope="module")
def core() -> LiveCore:
    return LiveCore(lambda: NOW)


def test_each_limit_moved_alone_is_met(core: LiveCore) -> None:
    base = {"model": "resnet50", "epochs": "90"}
    for key, text in (("deadline", "20m"), ("budget", "0.05")):
        ranked = core.ask({**base, key: text}, "value")
        assert ranked.recommended is None
        (moved,) = ranked.relaxations
        assert moved.limit == key
        assert moved.meets_all
        deadline, budget = moved.limits.deadline, moved.limits.budget_usd
        if key == "deadline":
            assert deadline is not None
            assert deadline.minute % 15 == 0
            assert deadline > NOW + timedelta(minutes=20)
        else:
            assert budget is not None
            assert budget == math.ceil(budget) > 0.05
        written = f"{deadline:%Y-%m-%d %H:%M}" if key == "deadline" else f"{budget:g}"
        again = core.ask({**base, key: written}, "value")
        assert again.recommended is not None


def test_where_both_are_hopeless_each_moved_one_leaves_the_other(core: LiveCore) -> None:
    ranked = core.ask({"model": "resnet50", "epochs": "90", "deadline": "20m", "budget": "0.05"}, "value")
    assert [(one.limit, one.meets_all) for one in ranked.relaxations] == [("deadline", False), ("budget", False)]
