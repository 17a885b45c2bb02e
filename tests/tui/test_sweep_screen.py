"""The Sweep tab and the export of a row: what they show, what keys do, and their pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.tui.app import PlannerApp
from planner.tui.panes import PANES
from planner.tui.screens.asking import Told
from planner.tui.screens.export import ExportScreen
from planner.tui.screens.sweep import SweepScreen, _answer_text, _idle_words
from planner.tui.settings import Settings
from planner.tui.sweep_form import SweepForm, pool_words
from planner.tui.theme import PALETTES
from planner.tui.widgets.gantt_pane import gantt_text
from tests.tui.conftest import Open, settled
from tests.tui.samples import CannedCore, sample_plan
from tests.tui.sweeps import sample_sweep

LIMITED = {"model": "resnet50", "dataset": "imagenet", "epochs": "90", "deadline": "32h", "budget": "60"}
BASE = ExperimentRequest("resnet50", epochs=90)
SWEEP_KEY = next(str(number) for number, pane in enumerate(PANES, start=1) if pane.mode == "sweep")
PALETTE = PALETTES["planner-dark"]


async def sweep_tab(app: PlannerApp, pilot: Pilot[None]) -> SweepScreen:
    await pilot.press(SWEEP_KEY)
    await planned(app, pilot)
    screen = app.screen
    assert isinstance(screen, SweepScreen)
    return screen


async def planned(app: PlannerApp, pilot: Pilot[None]) -> None:
    """Wait until typing has rested and the sweep is there."""
    await pilot.pause(0.4)
    await app.workers.wait_for_complete()
    await pilot.pause()


def said(screen: SweepScreen, pane: str) -> str:
    return str(screen.query_one(pane, Static).render())


def test_the_form_is_a_question_and_a_command_line() -> None:
    form = SweepForm("epochs=30,90 lr=0.1", "RTX 4090=2, aws:g6e.xlarge:spot", "longest")
    asked = form.question(BASE)
    assert [entry.copies for entry in asked.entries] == [2, 1]
    assert [variant.request.epochs for variant in asked.variants] == [30, 90]
    assert form.flags() == [
        "--grid", "epochs=30,90", "--grid", "lr=0.1", "--pool", "RTX 4090=2", "--pool", "aws:g6e.xlarge:spot",
        "--order", "longest",
    ]  # fmt: skip
    with pytest.raises(InputError, match="write a grid"):
        SweepForm("").question(BASE)


def test_machines_are_added_and_dropped_one_by_one() -> None:
    form = SweepForm().with_machine("RTX 4090").with_machine("laptop").with_machine("RTX 4090")
    assert form.pool == "RTX 4090=2, laptop"
    assert form.without_last().pool == "RTX 4090=2"
    assert form.without_last().without_last().pool == "RTX 4090"
    assert form.without_last().without_last().without_last().pool == "RTX 4090"
    assert SweepForm(pool="laptop, laptop").without_last().pool == "laptop"


def test_the_usual_pool_is_written_out_before_it_is_changed() -> None:
    plan = sample_sweep(LIMITED, SweepForm()).plan
    usual = "desk, aws:g6e.xlarge@us-east-2:spot=2, this laptop"
    assert SweepForm().spelt_out(plan).pool == usual
    assert SweepForm(pool="RTX 4090").spelt_out(plan).pool == "RTX 4090"
    row = sample_plan(LIMITED).plan.estimates[0]
    rented = row._replace(provider="aws", instance_type="g6e.xlarge", region="us-east-2", purchase="spot")
    assert SweepForm().spelt_out(plan).with_machine(pool_words(rented)).pool == usual.replace("=2", "=3")
    assert pool_words(row._replace(provider=None, is_this_machine=False, name="desk")) == "desk"


def test_the_chart_has_every_machine_and_the_sum_of_their_bills() -> None:
    swept = sample_sweep(LIMITED, SweepForm())
    text = gantt_text(swept, PALETTE, 126, 20).plain
    for track in swept.plan.tracks:
        assert track.machine.name in text
    cents = round(sum(track.cost_usd for track in swept.plan.tracks) * 100)
    assert f"sum  ${cents / 100:.2f}" in text
    assert all(len(line) <= 126 for line in text.splitlines())


def test_a_low_pane_gives_each_machine_one_line() -> None:
    swept = sample_sweep(LIMITED, SweepForm())
    assert len(gantt_text(swept, PALETTE, 76, 6).plain.splitlines()) == len(swept.plan.tracks) + 2


async def test_the_tab_plans_the_forms_experiment(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED)) as (app, pilot):
        screen = await sweep_tab(app, pilot)
        assert "8 experiments on 4 machines" in said(screen, "#told")
        assert "this pool" in screen.query_one("#pools Static", Static).render().plain  # type: ignore[union-attr]


async def test_typing_a_grid_plans_anew_and_an_impossible_one_says_why(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        screen = await sweep_tab(app, pilot)
        await pilot.press("f")
        screen.query_one("#sweep-grid", Input).value = "seed=1..3"
        await planned(app, pilot)
        assert "3 experiments" in said(screen, "#told")
        screen.query_one("#sweep-grid", Input).value = "seed"
        await planned(app, pilot)
        assert "cannot read 'seed'" in said(screen, "#told")


async def test_only_the_newest_question_is_answered(open_app: Open) -> None:
    first, second = SweepForm("seed=1..3"), SweepForm("seed=1..5")
    async with open_app(settings=Settings(LIMITED)) as (app, pilot):
        screen = await sweep_tab(app, pilot)
        screen.change(first)
        screen.change(second)
        await planned(app, pilot)
        assert screen.found == sample_sweep(LIMITED, second)
        screen.on_told(Told(LIMITED, first, sample_sweep(LIMITED, first), ""))  # an older one, late
        assert screen.found == sample_sweep(LIMITED, second)
        screen.on_told(Told(LIMITED, second, None, "the pool is empty"))
        assert "✗ the pool is empty" in said(screen, "#told")
        assert "Below still stands the last answer." in said(screen, "#told")


async def test_a_low_screen_shows_the_form_only_while_it_is_edited(open_app: Open) -> None:
    async with open_app(size=(80, 24)) as (app, pilot):
        screen = await sweep_tab(app, pilot)
        assert not screen.query_one("#sweep-form").display
        await pilot.press("f")
        await pilot.pause()
        assert screen.query_one("#sweep-form").display
        await pilot.press("enter")
        await pilot.pause()
        assert not screen.query_one("#sweep-form").display


async def test_a_narrow_answer_keeps_the_verdict(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED), size=(60, 20)) as (app, pilot):
        screen = await sweep_tab(app, pilot)
        first = said(screen, "#told").splitlines()[0]
        assert first.startswith("8 on 4 machines: ")
        assert first.endswith(" sure")


async def test_keys_change_pool_and_order_and_the_form_is_kept(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        screen = await sweep_tab(app, pilot)
        await pilot.press("a", "a", "o")
        await planned(app, pilot)
        assert app.sweep_form is not None
        assert app.sweep_form.order == "longest"
        usual = "desk, aws:g6e.xlarge@us-east-2:spot=2, this laptop"
        assert app.sweep_form.pool == f"{usual}, this machine"  # which there is one of, however often it is added
        await pilot.press("d")
        await planned(app, pilot)
        kept = app.sweep_form
        assert kept.pool == usual
        await pilot.press("1", SWEEP_KEY)
        await planned(app, pilot)
        assert app.sweep_form == kept
        assert screen is not app.screen


async def test_the_last_machine_is_not_dropped(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await sweep_tab(app, pilot)
        await pilot.press("d", "d", "d", "d")
        await planned(app, pilot)
        assert app.sweep_form is not None
        assert app.sweep_form.pool == "desk"


def test_the_bound_is_named_wherever_the_distance_from_it_is() -> None:
    swept = sample_sweep({"model": "resnet50", "epochs": "90"}, SweepForm())
    for width in range(40, 120):
        first = _answer_text(swept, PALETTE, width).plain.splitlines()[0]
        assert not first.endswith(" %")
        assert width < 72 or first.endswith(("above the bound", "above what is possible"))


def test_idle_hours_are_of_the_machines_in_use() -> None:
    swept = sample_sweep(LIMITED, SweepForm("seed=1"))
    assert _answer_text(swept, PALETTE, 120).plain.startswith("1 experiment on 1 machine: ready ")
    assert _idle_words(swept.plan) == "0.0 hours of the 1 machine in use, 3 not used"


async def test_the_sweep_as_a_command_line(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await sweep_tab(app, pilot)
        await pilot.press("y")
        await pilot.pause()
        assert "gpuplanner sweep" in app.clipboard
        assert "--grid 'seed=1..8'" in app.clipboard or "--grid seed=1..8" in app.clipboard


async def test_export_shows_turns_copies_and_writes(open_app: Open, tmp_path: Path) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, ExportScreen)
        screen._folder = tmp_path
        assert "sample for skypilot" in screen.text()
        await pilot.press("y")
        assert "sample for skypilot" in app.clipboard
        await pilot.press("w", "w")
        assert (tmp_path / "task.sky.yaml").read_text(encoding="utf-8") == screen.text()
        await pilot.press("right")
        assert screen.launcher == "dstack"
        await pilot.press("w", "y")
        assert not (tmp_path / "task.dstack.yml").exists()
        await pilot.press("left", "left")
        assert screen.launcher == "bash"
        await pilot.press("escape")
        assert not isinstance(app.screen, ExportScreen)


def pressing(*names: str) -> Callable[[Pilot[None]], Any]:
    async def run(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await settled(app, pilot)
        for name in names:
            await pilot.press(name)
        await planned(app, pilot)
        await settled(app, pilot)

    return run


@pytest.mark.parametrize("size", [(130, 36), (80, 24)], ids=["wide", "narrow"])
@pytest.mark.parametrize("key", [SWEEP_KEY, "x"], ids=["sweep", "export"])
def test_pictures(snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], key: str) -> None:
    app = PlannerApp(CannedCore(), Settings(LIMITED), tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=pressing(key))
