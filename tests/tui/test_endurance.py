"""Random keys, and sizes from large to small and back: nothing crashes, no text is lost.

``RANDOM_KEYS=1000 pytest tests/tui/test_endurance.py`` presses a thousand; a run of all tests fewer, to stay quick.
"""

from __future__ import annotations

import os
import random

from planner.tui.widgets.field import FieldInput
from tests.tui.conftest import Open, settled, to_field

SEED = 20261130
BURST = 25
PRESSED = int(os.environ.get("RANDOM_KEYS", "100"))
KEYS = (
    *"abcdfgjknprsuyzBSR123456?/",
    *("up", "down", "left", "right", "enter", "escape", "tab", "shift+tab", "space", "home", "end", "pagedown"),
    *("backspace", "f1", "ctrl+o", "ctrl+t", "ctrl+r"),
)


async def test_random_keys(open_app: Open) -> None:
    chance = random.Random(SEED)
    async with open_app(size=(80, 24)) as (app, pilot):
        for _ in range(PRESSED // BURST):
            # Keys in bursts: faster than a person, so that answers come while others are asked.
            await app._press_keys(chance.choices(KEYS, k=BURST))
            await pilot.pause()
        await settled(app, pilot)
        assert app.is_running
        await pilot.press("escape", "escape", "1")
        assert len(app.screen_stack) == 1


async def test_sizes_from_large_to_small_and_back(open_app: Open) -> None:
    async with open_app(size=(200, 60)) as (app, pilot):
        await to_field(app, pilot, "budget")
        await pilot.press("4", "2")
        for size in ((120, 30), (100, 24), (80, 20), (60, 20), (79, 50), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await settled(app, pilot)
        assert app.query_one("#field-budget", FieldInput).value == "42"
        assert app.values["budget"] == "42"
        await pilot.press("escape", "2")
        await pilot.resize_terminal(60, 20)
        await pilot.resize_terminal(130, 36)
        await settled(app, pilot)
        assert app.is_running
