"""The Machine tab: a profile with progress and an end, before and after, own machines in an editor."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from planner.tui.app import PlannerApp
from planner.tui.profile_control import ProfileControl
from planner.tui.profiling import MOST_S, LiveProfiling, Profiling, StoppedError
from planner.tui.screens.machine import edit
from tests.profiler.interpreters import DEVICE, RATES, interpreter
from tests.profiler.test_session import LOCAL, session
from tests.tui.conftest import Open, settled
from tests.tui.profiles import SampleProfiling
from tests.tui.samples import NOW, CannedCore


class ProfiledCore(CannedCore):
    """Makes the profile it is given, and knows of it afterwards."""

    def __init__(self, profiling: SampleProfiling) -> None:
        super().__init__()
        self.sample = profiling

    def profiling(self) -> Profiling:
        return self.sample

    def profile_words(self) -> str:
        return "measured: rates of the CPU, 2026-11-30" if self.sample.ended else ""


def said(app: PlannerApp) -> str:
    """What the pane shows; '' before its tab is there."""
    return next((str(shown.render()) for shown in app.screen.query("#profile Static").results(Static)), "")


async def until(pilot: Pilot[None], app: PlannerApp, words: str) -> None:
    for _ in range(200):
        if words in said(app):
            return
        await pilot.pause(0.02)
    raise AssertionError(f"{words!r} never came: {said(app)}")


async def test_a_profile_shows_before_and_after(open_app: Open) -> None:
    core = ProfiledCore(SampleProfiling())
    async with open_app(core) as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        assert "Nothing was measured here yet." in said(app)
        await pilot.press("p")
        await until(pilot, app, "before")
        await until(pilot, app, "measured: rates of the CPU")
        await settled(app, pilot)
        assert core.reopened == 1
        assert "evidence" in said(app)


async def test_progress_is_shown_and_escape_stops_it_before_it_leaves(open_app: Open) -> None:
    sample = SampleProfiling(waits=True)
    async with open_app(ProfiledCore(sample)) as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        await pilot.press("p")
        await until(pilot, app, "2 of 3")
        assert "at most " in said(app)
        assert [line for line in said(app).splitlines() if line.startswith("✓")] == [
            "✓ cpu: matmul 512x640x640",
            "✓ cpu: conv 3x3 96>96@28",
        ]
        assert app.screen.query_one("#profile").border_subtitle == "Esc stops"
        await pilot.press("p")  # one is enough
        await pilot.press("escape")
        await until(pilot, app, "Stopped: what was measured until then is kept.")
        await settled(app, pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.plan_screen


async def test_a_profile_goes_on_under_other_tabs(open_app: Open) -> None:
    sample = SampleProfiling(waits=True)
    async with open_app(ProfiledCore(sample)) as (app, pilot):
        await pilot.press("3", "p")
        for _ in range(200):
            if sample.told.is_set():
                break
            await pilot.pause(0.02)
        await pilot.press("1")
        assert app.profile_control.busy
        await pilot.press("3")
        await until(pilot, app, "2 of 3")
        app.profile_control.stop()
        await settled(app, pilot)


async def test_what_goes_wrong_is_said(open_app: Open) -> None:
    async with open_app(ProfiledCore(SampleProfiling(fails="measuring failed: no room"))) as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        await pilot.press("p")
        await until(pilot, app, "measuring failed: no room")
        await settled(app, pilot)


async def test_what_a_profile_has_to_say_stands_over_what_is_known(open_app: Open) -> None:
    kept = "python has no torch: what torch 2.9 measured here is kept"
    async with open_app(ProfiledCore(SampleProfiling(note=kept))) as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        await pilot.press("p")
        await until(pilot, app, kept)
        await settled(app, pilot)
        assert said(app).splitlines()[1] == "measured: rates of the CPU, 2026-11-30"


def test_the_time_left_is_the_most_that_it_may_take() -> None:
    control = ProfileControl(cast(PlannerApp, None))
    control.clock = lambda: 9.0
    assert (control.elapsed_s, control.left_s) == (9.0, MOST_S - 9.0)
    control.clock = lambda: 100.0
    assert control.left_s == 1.0


async def test_without_an_editor_the_file_is_named(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    async with open_app() as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        await pilot.press("e")
        await pilot.pause()
        text = str(app.screen.query_one(Static).render())
        assert "config.toml" in text
        assert "[[machine]]" in text


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell script")
def test_the_editor_gets_the_file_and_a_new_one_begins_with_an_example(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "hour_value_usd = 3" >> "$2"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    path = tmp_path / "new" / "config.toml"
    edit(path, f"'{editor}' -w")
    lines = path.read_text().splitlines()
    assert lines[0] == "# [[machine]]"
    assert lines[-1] == "hour_value_usd = 3"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in interpreter is a script")
def test_the_live_profile_keeps_what_it_measured_until_it_was_stopped(tmp_path: Path) -> None:
    from planner.profiler.profile_file import read_profile
    from planner.profiler.this_machine import profile_path

    path = profile_path()
    assert path is not None
    first = session(path)
    first.measure(interpreter(tmp_path, torch=[DEVICE]), quick=True, seconds=20, progress=lambda *_: None)
    python = interpreter(tmp_path, torch=[DEVICE, *RATES], then="time.sleep(30)")
    assert session(path).python == python
    live = LiveProfiling(lambda: LOCAL, lambda: NOW)
    seen = []

    def heard(name: str, done: int, total: int | None) -> None:
        seen.append(done)
        if done == 2:
            live.stop()

    with pytest.raises(StoppedError):
        live.run(heard)
    assert seen == [1, 2]
    rates = read_profile(path).rates
    assert rates is not None
    assert set(rates.classes) == {"mm", "conv", "ew"}
