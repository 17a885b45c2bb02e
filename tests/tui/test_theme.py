"""Another theme: every screen is in its colours at once, as if it had been opened in them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from rich.segment import Segment

from planner.tui.app import PlannerApp
from planner.tui.settings import Settings
from tests.tui.conftest import Open, settled

Picture = list[list[tuple[str, str, str, bool]]]
LIMITED = {"model": "resnet50", "dataset": "imagenet", "epochs": "90", "deadline": "32h", "budget": "60"}


def picture(app: PlannerApp) -> Picture:
    """Every line of the screen as (text, colour, ground, bold), neighbours alike together."""
    return [_line(strip) for strip in app.screen._compositor.render_strips()]


def _line(strip: Iterable[Segment]) -> list[tuple[str, str, str, bool]]:
    cells: list[tuple[str, str, str, bool]] = []
    for text, style, _ in strip:
        color = str(style.color) if style and style.color and text.strip() else ""
        ground = str(style.bgcolor) if style and style.bgcolor else ""
        look = (color, ground, bool(style and style.bold and text.strip()))
        if cells and cells[-1][1:] == look:
            cells[-1] = (cells[-1][0] + text, *look)
        else:
            cells.append((text, *look))
    return cells


@pytest.mark.parametrize(
    ("keys", "then"),
    [
        ((), ""),
        (("f", "escape"), ""),
        (("2",), ""),
        (("2",), "1"),
        (("3",), ""),
        (("4",), ""),
        (("5",), ""),
        (("6",), ""),
        (("slash", "a", "enter"), ""),
    ],
    ids=["plan", "form", "why", "under-why", "machine", "prices", "buy", "sweep", "filter"],
)
async def test_a_screen_is_in_the_other_colours_at_once(open_app: Open, keys: tuple[str, ...], then: str) -> None:
    pictures = []
    for theme, changing in (("planner-dark", True), ("planner-light", False)):
        async with open_app(settings=Settings(LIMITED, theme)) as (app, pilot):
            for key in keys:
                await pilot.press(key)
                await settled(app, pilot)
            if changing:
                await pilot.press("ctrl+t")
                await pilot.pause()
                await pilot.pause()
            if then:
                await pilot.press(then)
                await pilot.pause()
            pictures.append(picture(app))
    for changed, opened in zip(*pictures, strict=True):
        assert changed == opened
