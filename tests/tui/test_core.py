"""The app's core is the planner's own answer, over the shipped prices."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import pytest

from planner.cli.main import main
from planner.errors import InputError, NothingFitsError
from planner.plan import planning
from planner.plan.buy_or_rent import Terms
from planner.plan.buying_words import verdict
from planner.plan.refit import refits
from planner.plan.words import machine_name
from planner.tui.asked import Values, command_line
from planner.tui.core import FIRST_ROWS, LiveCore
from planner.tui.screens.breakeven import flags
from planner.tui.sweep_form import SweepForm
from planner.units import format_money

SHORT: Values = {"model": "resnet50", "epochs": "1"}
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
    runs = core.lever_runs(ranked, row, explanation)
    assert {one.lever.name for one in runs} == {lever.name for lever in explanation.levers}
    asked = row.time_s
    assert asked is not None
    for one in runs:
        assert one.run is None or one.time_factor == pytest.approx(one.run.time_s.p50 / asked.p50)
    assert core.explain(ranked, row._replace(name="nowhere")) is None
    assert core.lever_runs(ranked, row._replace(name="nowhere"), explanation) == ()
    assert core.levers(ranked, row._replace(name="nowhere")) == ()


def test_prices_and_this_machine(core: LiveCore) -> None:
    prices = core.prices()
    assert prices.offers
    assert {(offer.provider, offer.instance_type) for offer in prices.offers} <= set(prices.kinds)
    assert core.machine().host.vcpus > 0


def test_what_is_too_large_has_ways_to_fit_that_are_questions_with_an_answer(core: LiveCore) -> None:
    ranked = core.ask({"model": "llama-3-70b", "epochs": "1"}, "value")
    assert ranked.recommended is None
    way = ranked.ways_to_fit[0]
    changed = core.ask(way.values, "value")
    assert changed.recommended is not None
    assert changed.recommended.name == way.estimate.name
    assert changed.recommended.time_s == way.estimate.time_s
    assert core.ask({"model": "resnet50"}, "value").ways_to_fit == ()


def test_ways_to_fit_are_looked_for_once(core: LiveCore, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def counted(*arguments: object) -> object:
        looked.append(arguments)
        return refits(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "refits", counted)
    ranked = core.ask({"model": "llama-3-70b", "epochs": "1"}, "value")
    whole = core.complete(ranked)
    assert len(looked) == 1
    assert whole.plan.refits == ranked.plan.refits != ()
    assert whole.plan.nearest == ranked.plan.nearest
    assert len(ranked.ways_to_fit) == len(ranked.plan.refits)


def test_a_question_that_cannot_be_asked(core: LiveCore) -> None:
    with pytest.raises(InputError):
        core.ask({"model": "no such network"}, "value")


def printed(capsys: pytest.CaptureFixture[str], words: Sequence[str]) -> dict[str, Any]:
    """What the command line says in JSON."""
    assert main([*words, "-o", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def flags_of(values: Values) -> list[str]:
    return shlex.split(command_line(values))[2:]


def test_a_sweep_is_that_of_its_command_line(core: LiveCore, capsys: pytest.CaptureFixture[str]) -> None:
    form = SweepForm("epochs=1,2 seed=1..2", "RTX 4090=2", "longest")
    swept = core.sweep(SHORT, form)
    record = printed(capsys, ["sweep", *flags_of(SHORT), *form.flags()])
    assert len(swept.plan.labels) == len(record["experiments"]) == 4
    assert swept.plan.makespan_s.p50 == pytest.approx(record["makespan_s"]["p50"])
    assert swept.plan.cost_usd.p50 == pytest.approx(record["cost_usd"]["p50"])


def test_buying_against_renting_is_that_of_its_command_line(core: LiveCore, capsys: pytest.CaptureFixture[str]) -> None:
    terms = Terms(purchases=("RTX 4090", "used RTX 3090"), hours_per_week=50, months=24)
    found = core.buy_or_rent(SHORT, terms)
    record = printed(capsys, ["breakeven", *flags_of(SHORT), *flags(terms)])
    assert verdict(found, format_money) == record["verdict"]


def test_the_largest_batch_fits_and_one_more_does_not(core: LiveCore) -> None:
    asked = {**SHORT, "where": "vast", "gpus": "RTX 4090:1"}
    ranked = core.ask(asked, "value")
    row = ranked.plan.estimates[0]
    largest = core.largest_batch(ranked, row)
    assert largest is not None
    assert largest > 1
    held, refused = (core.ask({**asked, "batch": f"{batch}"}, "value").plan for batch in (largest, largest + 1))
    assert row.name in {one.name for one in held.estimates}
    assert row.name not in {one.name for one in refused.estimates}
    assert row.name in {one.name for one in refused.unranked}
    assert core.largest_batch(ranked, row._replace(name="nowhere")) is None


def test_the_file_that_launches_a_row_is_that_of_the_command_line(
    core: LiveCore, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked = core.ask({**SHORT, "where": "aws"}, "value")
    row = ranked.recommended
    assert row is not None
    text = core.export(ranked, row, "skypilot")
    assert main(["export", "--to", "skypilot", *flags_of({**SHORT, "where": "aws"})]) == 0
    commands = [line for line in capsys.readouterr().out.splitlines() if not line.lstrip().startswith("#")]
    assert [line for line in text.splitlines() if not line.lstrip().startswith("#")] == commands
    with pytest.raises(NothingFitsError, match="ask again"):
        core.export(ranked, row._replace(name="nowhere"), "skypilot")
