"""What the answer pane says, drawn without an app."""

from __future__ import annotations

import pytest

from planner.tui.theme import DARK
from planner.tui.widgets.answer_pane import answer_text
from tests.tui.samples import sample_plan

FREE = sample_plan({"model": "resnet50"})


@pytest.mark.parametrize(
    ("usd", "sooner", "words"),
    [
        (0.004, False, "If waiting costs you nothing: lab-a100"),
        (0.004, True, "If waiting costs you anything: lab-a100"),
        (0.006, False, "If an hour is worth less than $0.01 to you: lab-a100"),
    ],
)
def test_an_hour_worth_no_cent_has_no_price(usd: float, sooner: bool, words: str) -> None:
    assert FREE.alternative is not None
    other = FREE.alternative._replace(hour_value_usd=usd, sooner=sooner)
    assert answer_text(FREE._replace(alternative=other), "", DARK, 120).plain.split("\n")[1].startswith(words)


def test_a_cost_that_is_only_a_bound_is_marked() -> None:
    chosen = FREE.plan.recommendation
    assert chosen is not None
    bounded = chosen._replace(estimate=chosen.estimate._replace(flags=("cost_bounded",)))
    rows = tuple(row if row.rank != chosen.rank else bounded.estimate for row in FREE.plan.estimates)
    plan = FREE.plan._replace(recommendation=bounded, estimates=rows)
    first = answer_text(FREE._replace(plan=plan), "", DARK, 120).plain.split("\n")[0]
    assert " for ≤$" in first
    assert " for $" in answer_text(FREE, "", DARK, 120).plain.split("\n")[0]
