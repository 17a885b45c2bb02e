"""Pictures of every screen and state; `pytest tests/tui/test_snapshots.py --snapshot-update` takes them anew.

The plans are samples: a picture changes where the app does, and not with the calibration or the prices.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from planner.tui.app import PlannerApp
from planner.tui.core import Core
from planner.tui.refreshing import Refreshing
from planner.tui.settings import Settings
from tests.tui.conftest import settled
from tests.tui.refreshes import REFUSED, SampleRefreshing, outcomes
from tests.tui.samples import BrokenCore, CannedCore, SilentCore

LIMITED = {"model": "resnet50", "dataset": "imagenet", "epochs": "90", "deadline": "32h", "budget": "60"}
HOPELESS = {**LIMITED, "deadline": "1h", "budget": "10"}
WRONG = {**LIMITED, "levers": "fast"}
WIDE, NARROW = (130, 36), (80, 24)
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
THEMES = pytest.mark.parametrize("theme", ["planner-dark", "planner-light"], ids=["dark", "light"])

Compare = Callable[..., bool]


class FailedCore(CannedCore):
    """Its refresh finds one provider that refuses."""

    def refreshing(self, providers: Sequence[str]) -> Refreshing:
        return SampleRefreshing(outcomes(REFUSED))


def keys(*names: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Press keys once the first answer is shown, and wait for what comes of them."""

    async def run(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await settled(app, pilot)
        for name in names:
            await pilot.press(name)
            await settled(app, pilot)
        while app.refresh_control.busy:
            await pilot.pause(0.05)
        await pilot.pause(0.3 if app.refresh_control.state else 0)
        await settled(app, pilot)

    return run


@SIZES
@THEMES
@pytest.mark.parametrize(
    ("core", "values"),
    [(CannedCore, LIMITED), (CannedCore, HOPELESS), (CannedCore, WRONG), (BrokenCore, LIMITED)],
    ids=["offline", "empty", "wrong", "error"],
)
def test_the_plan(
    snap_compare: Compare,
    tmp_path: Path,
    size: tuple[int, int],
    theme: str,
    core: Callable[[], Core],
    values: dict[str, str],
) -> None:
    app = PlannerApp(core(), Settings(values, theme), tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=keys())


@SIZES
@THEMES
def test_loading(snap_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    core = SilentCore()

    async def look(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await pilot.pause()

    try:
        app = PlannerApp(core, Settings(LIMITED, theme), tmp_path)
        assert snap_compare(app, terminal_size=size, run_before=look)
    finally:
        core.release.set()


@SIZES
@pytest.mark.parametrize(
    ("core", "pressed"),
    [
        (CannedCore, ("2",)),
        (CannedCore, ("4",)),
        (FailedCore, ("4", "r")),
        (BrokenCore, ("4",)),
        (CannedCore, ("down", "p", "down", "p", "v")),
        (CannedCore, ("c",)),
        (CannedCore, ("question_mark",)),
    ],
    ids=["why", "prices", "refreshed", "unreadable", "compared", "chart", "keys"],
)
def test_other_screens(
    snap_compare: Compare, tmp_path: Path, size: tuple[int, int], core: Callable[[], Core], pressed: tuple[str, ...]
) -> None:
    app = PlannerApp(core(), Settings(LIMITED), tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


@pytest.mark.parametrize("size", [(60, 20), (100, 30), (160, 45)], ids=["60x20", "100x30", "160x45"])
def test_other_widths(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(PlannerApp(CannedCore(), Settings(LIMITED), tmp_path), terminal_size=size, run_before=keys())
