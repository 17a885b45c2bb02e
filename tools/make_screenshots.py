"""Take the pictures of the README: the app over the shipped prices, as SVG.

Usage: python tools/make_screenshots.py [--to docs] [NAME ...]

The clock stands still, so that the pictures change only where the app or its numbers do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from planner.tui.app import PlannerApp
from planner.tui.core import LiveCore
from planner.tui.settings import Settings

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
LIMITED = {"model": "resnet50", "dataset": "imagenet", "epochs": "90", "deadline": "24h", "budget": "40"}
WIDE, NARROW = (130, 36), (80, 24)
SETTLE_S = 1.5
"""Long enough for a tab to open and to start what it asks."""

PICTURES = (
    ("app-plan", WIDE, Settings(LIMITED), ()),
    ("app-plan-light", WIDE, Settings(LIMITED, "planner-light"), ()),
    ("app-plan-80", NARROW, Settings(LIMITED), ()),
    ("app-why", WIDE, Settings(LIMITED), ("2",)),
    ("app-prices", WIDE, Settings(LIMITED), ("4",)),
    ("app-buy", WIDE, Settings(LIMITED), ("5",)),
    ("app-sweep", WIDE, Settings(LIMITED), ("6",)),
)


async def take(path: Path, size: tuple[int, int], settings: Settings, keys: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        app = PlannerApp(LiveCore(lambda: NOW), settings, Path(directory))
        async with app.run_test(size=size) as pilot:
            while not app.is_settled:
                await pilot.pause(0.05)
            await pilot.press(*keys)
            for _ in range(3):  # a tab asks, and may ask again of what came
                await pilot.pause(SETTLE_S)
                await app.workers.wait_for_complete()
            await pilot.pause(SETTLE_S)
            path.write_text(app.export_screenshot(), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the README.")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent.parent / "docs", metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME", help="pictures to take (all)")
    arguments = parser.parse_args()
    directory: Path = arguments.to
    with tempfile.TemporaryDirectory() as cache:
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            os.environ[name] = cache  # no prices, ledger, machines or profile of whoever takes the pictures
        for name, size, settings, keys in PICTURES:
            if not arguments.names or name in arguments.names:
                asyncio.run(take(directory / f"{name}.svg", size, settings, keys))
                print(directory / f"{name}.svg")


if __name__ == "__main__":
    main()
