"""What the tables of Why say, drawn without an app."""

from __future__ import annotations

from planner.tui.theme import DARK
from planner.tui.widgets.why_panes import StepPane
from tests.tui.samples import CannedCore, sample_plan

LOADING = "loading sets the pace, 173.0 ms a step: computing hides all but 9.8 ms of it"


def test_the_step_has_its_wait_for_input_and_how_long_loading_takes() -> None:
    ranked = sample_plan({"model": "resnet50"})
    row = ranked.plan.estimates[0]
    explanation = CannedCore().explain(ranked, row)
    assert explanation is not None
    waiting = explanation._replace(step=explanation.step._replace(notes=(LOADING,)))
    plain = [line.plain for line in StepPane().lines(row, explanation, DARK, 100)]
    noted = [line.plain for line in StepPane().lines(row, waiting, DARK, 100)]
    assert noted == [*plain, LOADING]
    (waits,) = [line for line in plain if "input" in line]
    assert "9.8 ms" in waits
    assert "6 %" in waits
