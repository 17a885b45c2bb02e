"""The app over the sample core, and waiting for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from planner.tui.app import PlannerApp
from planner.tui.core import Core
from planner.tui.settings import Settings
from tests.tui.samples import CannedCore

Opened = tuple[PlannerApp, Pilot[None]]
Open = Callable[..., AbstractAsyncContextManager[Opened]]


@pytest.fixture
def open_app(tmp_path: Path) -> Open:
    """``async with open_app() as (app, pilot)``: the app with its first answer shown."""

    @asynccontextmanager
    async def opened(
        core: Core | None = None, settings: Settings | None = None, size: tuple[int, int] = (130, 36)
    ) -> AsyncIterator[Opened]:
        app = PlannerApp(core or CannedCore(), settings or Settings(), tmp_path)
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            yield app, pilot

    return opened


async def settled(app: PlannerApp, pilot: Pilot[None]) -> None:
    """Wait until no question is open and everything is shown."""
    for _ in range(3):
        await pilot.pause()
        await app.workers.wait_for_complete()
    for _ in range(200):
        if app.is_settled:
            break
        await pilot.pause(0.02)
    await app.workers.wait_for_complete()
    await pilot.pause()


async def to_field(app: PlannerApp, pilot: Pilot[None], key: str) -> None:
    """Open the form and go to one of its fields."""
    await pilot.press("f")
    app.screen.query_one(f"#field-{key}").focus()
    await pilot.pause()


def shown(app: PlannerApp) -> str:
    """The lines of the screen as a terminal has them."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
