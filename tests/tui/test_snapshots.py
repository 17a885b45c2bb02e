"""Pictures of every screen and state; `pytest tests/tui/test_snapshots.py --snapshot-update` takes them anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from planner.tui.app import PlannerApp
from planner.tui.core import Core
from planner.tui.settings import Settings
from tests.tui.conftest import settled
from tests.tui.samples import BrokenCore, CannedCore, SilentCore

LIMITED = {"model": "resnet50", "dataset": "imagenet", "epochs": "90", "deadline": "32h", "budget": "60"}
HOPELESS = {**LIMITED, "deadline": "1h", "budget": "10"}
WRONG = {**LIMITED, "levers": "fast"}
WIDE, NARROW = (130, 36), (80, 24)

Compare = Callable[..., bool]


def keys(*names: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Press keys once the first answer is shown, and wait for what comes of them."""

    async def run(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await settled(app, pilot)
        for name in names:
            await pilot.press(name)
        await settled(app, pilot)

    return run


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    ("state", "settings", "pressed"),
    [
        ("plan", Settings(LIMITED), ()),
        ("light", Settings(LIMITED, "planner-light"), ()),
        ("nothing", Settings(HOPELESS), ()),
        ("wrong", Settings(WRONG), ()),
        ("why", Settings(LIMITED), ("2",)),
        ("prices", Settings(LIMITED), ("4",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_pictures(
    snap_compare: Compare,
    tmp_path: Path,
    size: tuple[int, int],
    state: str,
    settings: Settings,
    pressed: tuple[str, ...],
) -> None:
    app = PlannerApp(CannedCore(), settings, tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=keys(*pressed))


def test_the_machine(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(PlannerApp(CannedCore(), Settings(LIMITED), tmp_path), terminal_size=WIDE, run_before=keys("3"))


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_prices_that_cannot_be_read(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    core: Core = BrokenCore()
    assert snap_compare(PlannerApp(core, Settings(LIMITED), tmp_path), terminal_size=size, run_before=keys())


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_loading(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    core = SilentCore()

    async def look(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await pilot.pause()

    try:
        assert snap_compare(PlannerApp(core, Settings(LIMITED), tmp_path), terminal_size=size, run_before=look)
    finally:
        core.release.set()


@pytest.mark.parametrize("size", [(60, 20), (100, 30), (160, 45)], ids=["60x20", "100x30", "160x45"])
def test_other_widths(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(PlannerApp(CannedCore(), Settings(LIMITED), tmp_path), terminal_size=size, run_before=keys())
