"""The lines of the table: order, filter, groups, pins."""

from __future__ import annotations

import pytest

from planner.plan.plan import Estimate
from planner.plan.search import Limits
from planner.tui.arrange import SORTS, Order, Rule, arrange, key_of, misses
from tests.tui.samples import sample_plan

FREE = sample_plan({"model": "resnet50"})
LIMITED = sample_plan({"model": "resnet50", "deadline": "24h", "budget": "60"})
ROWS = FREE.plan.estimates


def names(lines: list[Estimate | Rule]) -> list[str]:
    return [line.title if isinstance(line, Rule) else line.name for line in lines]


def test_without_limits_the_order_is_the_planners() -> None:
    assert arrange(ROWS, Limits(), Order(), "") == list(ROWS)


def test_what_misses_a_limit_stands_under_a_rule() -> None:
    limits = LIMITED.question.limits
    lines = arrange(LIMITED.plan.estimates, limits, Order(), "misses 24h or $60")
    at = names(lines).index("misses 24h or $60")
    above, below = lines[:at], lines[at + 1 :]
    assert above
    assert below
    assert not any(misses(line, limits) for line in above if isinstance(line, Estimate))
    assert all(misses(line, limits) for line in below if isinstance(line, Estimate))


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_keeps_all_rows(sort: str) -> None:
    lines = arrange(ROWS, Limits(), Order(sort=sort), "")
    assert sorted(names(lines)) == sorted(row.name for row in ROWS)


def test_raw_values_are_sorted_not_texts() -> None:
    lines = arrange(ROWS, Limits(), Order(sort="hourly"), "")
    prices = [line.usd_per_hour for line in lines if isinstance(line, Estimate)]
    assert prices == sorted(price for price in prices if price is not None)
    assert arrange(ROWS, Limits(), Order(sort="hourly", backwards=True), "") == lines[::-1]


def test_a_row_must_contain_every_word() -> None:
    assert names(arrange(ROWS, Limits(), Order(words="aws spot"), "")) == ["p4d.24xlarge", "g6e.xlarge", "p5.48xlarge"]
    assert arrange(ROWS, Limits(), Order(words="no such thing"), "") == []


def test_groups_come_in_the_order_of_their_first_rows() -> None:
    lines = arrange(ROWS, Limits(), Order(group="place"), "")
    assert [line.title for line in lines if isinstance(line, Rule)] == [
        "laptop · 1",
        "workstation · 1",
        "cluster · 1",
        "cloud · 8",
    ]


def test_pinned_rows_come_first_whatever_the_filter() -> None:
    key = key_of(ROWS[-1])
    lines = arrange(ROWS, Limits(), Order(words="runpod", pinned=(key,)), "")
    assert names(lines) == [ROWS[-1].name, "pinned above", "RTX4090-16c"]
