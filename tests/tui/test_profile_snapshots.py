"""Pictures of the Machine tab while a profile runs, after it, and when it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from planner.tui.app import PlannerApp
from planner.tui.settings import Settings
from tests.tui.conftest import settled
from tests.tui.profiles import SampleProfiling
from tests.tui.test_profile_screen import ProfiledCore, until
from tests.tui.test_snapshots import LIMITED, NARROW, WIDE, Compare


def profiled(words: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Open the tab, start a profile, and wait for these words in its pane."""

    async def run(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await settled(app, pilot)
        await pilot.press("3")
        await settled(app, pilot)
        await pilot.press("p")
        await until(pilot, app, words)
        if words != "2 of 3":
            await settled(app, pilot)

    return run


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (lambda: SampleProfiling(waits=True), "2 of 3"),
        (SampleProfiling, "before"),
        (lambda: SampleProfiling(fails="measuring failed: no more memory"), "measuring failed"),
    ],
    ids=["running", "done", "failed"],
)
def test_a_profile(
    snap_compare: Compare, tmp_path: Path, size: tuple[int, int], sample: Callable[[], SampleProfiling], words: str
) -> None:
    profiling = sample()
    app = PlannerApp(ProfiledCore(profiling), Settings(LIMITED), tmp_path)
    app.profile_control.clock = lambda: 0.0
    try:
        assert snap_compare(app, terminal_size=size, run_before=profiled(words))
    finally:
        profiling.stop()
