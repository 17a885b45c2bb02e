"""The app's core is the planner's own answer, over the shipped prices."""

from __future__ import annotations

import shlex

import pytest

from planner.cli.main import main
from planner.errors import InputError
from planner.plan.words import machine_name
from planner.tui.asked import Values, command_line
from planner.tui.core import FIRST_ROWS, LiveCore

ASKED: Values = {"model": "bert-large", "precision": "bf16", "deadline": "24h", "budget": "100"}


@pytest.fixture(scope="module")
def core() -> LiveCore:
    return LiveCore()


def test_the_command_line_gives_the_same_first_row(core: LiveCore, capsys: pytest.CaptureFixture[str]) -> None:
    ranked = core.ask(ASKED, "value")
    assert main([*shlex.split(command_line(ASKED))[1:], "-o", "markdown", "-n", "3"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 1 |")]
    assert machine_name(ranked.plan.estimates[0]) in rows[0]


def test_the_first_rows_come_before_the_rest(core: LiveCore) -> None:
    first = core.ask(ASKED, "cost")
    rest = core.complete(first)
    assert not first.complete
    assert rest.complete
    assert rest.plan.estimates[:FIRST_ROWS] == first.plan.estimates[:FIRST_ROWS]
    assert len(rest.plan.estimates) > len(first.plan.estimates)
    assert core.complete(rest) is rest


def test_a_row_is_explained_with_its_levers(core: LiveCore) -> None:
    ranked = core.ask(ASKED, "value")
    row = ranked.recommended
    assert row is not None
    explanation = core.explain(ranked, row)
    assert explanation is not None
    assert row.step_time_s is not None
    assert explanation.step.step_time_s == row.step_time_s
    assert [lever.name for lever in core.levers(ranked, row)] == [lever.name for lever in explanation.levers]
    assert core.explain(ranked, row._replace(name="nowhere")) is None
    assert core.levers(ranked, row._replace(name="nowhere")) == ()


def test_prices_and_this_machine(core: LiveCore) -> None:
    prices = core.prices()
    assert prices.offers
    assert {(offer.provider, offer.instance_type) for offer in prices.offers} <= set(prices.kinds)
    assert core.machine().host.vcpus > 0


def test_a_question_that_cannot_be_asked(core: LiveCore) -> None:
    with pytest.raises(InputError):
        core.ask({"model": "no such network"}, "value")
