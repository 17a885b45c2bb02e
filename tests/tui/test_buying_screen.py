"""The Buy or rent tab: what it shows, what its keys do, and its pictures."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from planner.plan.buy_or_rent import Terms
from planner.plan.buying_words import verdict
from planner.tui.app import PlannerApp
from planner.tui.panes import PANES
from planner.tui.screens.breakeven import BreakevenScreen, assumed_text, cards_text, flags
from planner.tui.settings import Settings
from planner.tui.theme import PALETTES
from planner.tui.widgets.money_pane import money_text
from planner.units import format_money
from tests.tui.buying import sample_buying
from tests.tui.conftest import Open, settled, shown
from tests.tui.samples import CannedCore

LIMITED = {"model": "resnet50", "dataset": "imagenet", "epochs": "90", "deadline": "32h", "budget": "60"}
PALETTE = PALETTES["planner-dark"]
KEY = str(1 + [pane.mode for pane in PANES].index("buy"))


async def buying_tab(app: PlannerApp, pilot: Pilot[None]) -> BreakevenScreen:
    await pilot.press(KEY)
    await compared(app, pilot)
    screen = app.screen
    assert isinstance(screen, BreakevenScreen)
    return screen


async def compared(app: PlannerApp, pilot: Pilot[None]) -> None:
    """Wait until keys have rested and the comparison is there."""
    await pilot.pause(0.4)
    await app.workers.wait_for_complete()
    await pilot.pause()


def said(screen: BreakevenScreen, pane: str) -> str:
    return str(screen.query_one(pane, Static).render())


def test_the_terms_are_the_flags_of_the_command() -> None:
    assert flags(Terms()) == []
    changed = Terms(purchases=("RTX 4090", "2x RTX 3090"), hours_per_week=72, months=24)
    assert flags(changed) == ["--buy", "RTX 4090, 2x RTX 3090", "--hours-per-week", "72", "--months", "24"]


def test_what_does_not_fit_is_said_in_its_line_and_in_the_chart() -> None:
    found = sample_buying(Terms())
    assert "does not fit" in cards_text(found, 0, PALETTE, 100).plain
    assert max(map(len, cards_text(found, 0, PALETTE, 76).plain.splitlines())) <= 76
    missing = found._replace(bought=tuple(one._replace(misses_limits=not one.problem) for one in found.bought))
    for width in (56, 76, 92, 100):
        lines = cards_text(missing, 0, PALETTE, width).plain.splitlines()
        assert max(map(len, lines)) <= width
        assert sum("misses limits" in line for line in lines) == 2
    last = len(found.bought) - 1
    assert "cannot run it" in money_text(found, last, PALETTE, 80, 14).plain
    assert money_text(found, 0, PALETTE, 30, 5).plain == ""


@pytest.mark.parametrize(("width", "height"), [(98, 15), (72, 9), (40, 7)])
def test_the_chart_marks_the_months_at_which_buying_has_paid(width: int, height: int) -> None:
    found = sample_buying(Terms())
    lines = money_text(found, 0, PALETTE, width, height).plain.split("\n")
    assert len(lines) == height
    assert all(len(line) <= width for line in lines)
    months = lines[-1].split()
    assert months == ["0", "6", "12", "18", "24", *(["30"] if width > 40 else []), "36", "months"]
    paid = [even.months for _, even in found.bought[0].against if even.months <= 36]
    axis = lines[-2].index("└") + 1
    marked = sorted(line.index("◆") - axis for line in lines if "◆" in line)
    assert marked == [round(month / 36 * (width - axis - 1)) for month in sorted(paid)]


@pytest.mark.parametrize("height", [7, 8, 9, 12, 15, 30])
@pytest.mark.parametrize("hours", [1, 40, 168])
def test_money_has_two_labels_at_least_and_rent_begins_at_nothing(height: int, hours: int) -> None:
    found = sample_buying(Terms(hours_per_week=hours))
    for card in range(2):
        lines = money_text(found, card, PALETTE, 72, height).plain.split("\n")
        labels = [line.split("┤")[0].strip() for line in lines if "┤" in line]
        assert len(labels) >= 2
        rows = [index for index, line in enumerate(lines) if "┤" in line]
        assert len({below - above for above, below in itertools.pairwise(rows)}) == 1  # evenly spaced
        dollars = [float(label.strip("$").replace(",", "")) for label in labels]
        assert len({above - below for above, below in itertools.pairwise(dollars)}) == 1
        assert labels[-1] == "$0"
        zero = next(line for line in lines if line.strip().startswith("$0┤"))
        first = chr(ord(zero.split("┤")[1][0]) - 0x2800)
        assert ord(first) & 0xC0 == 0  # none of the lowest dots, which lie under the label


def test_the_chart_names_its_lines_beside_them() -> None:
    text = money_text(sample_buying(Terms()), 0, PALETTE, 98, 15)
    for words, color in (("buy", "workstation"), ("less resale", "workstation"), ("rent, cheapest", "cloud")):
        assert words in [
            text.plain[span.start : span.end] for span in text.spans if span.style == PALETTE.places[color]
        ]


def test_a_narrow_pane_keeps_the_columns_that_matter() -> None:
    heads = [cards_text(sample_buying(Terms()), 0, PALETTE, width).plain.splitlines()[0] for width in (40, 56, 76, 98)]
    assert [head.split() for head in heads[:2]] == [
        ["machine", "price", "pays", "from"],
        ["machine", "price", "takes", "pays", "from", "36", "mo"],
    ]
    assert "samples/s" in heads[2]
    assert "if resold" in heads[3]


@pytest.mark.parametrize("size", [(130, 36), (80, 24), (60, 20)])
async def test_the_answer_is_whole_and_the_chart_keeps_its_months(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app(settings=Settings(LIMITED), size=size) as (app, pilot):
        screen = await buying_tab(app, pilot)
        assert screen.found is not None
        words = verdict(screen.found, format_money).split()
        on_screen = shown(app)
        assert " ".join(words[-3:]) in " ".join(on_screen.replace("│", " ").split())
        assert ("┴" in on_screen) == (size[1] >= 24)  # where there is no room, there is no chart


async def test_keys_change_the_use_the_machine_and_the_horizon(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED)) as (app, pilot):
        screen = await buying_tab(app, pilot)
        assert "months cost" in said(screen, "#told")
        await pilot.press("right")
        await compared(app, pilot)
        assert screen.question.hours_per_week == 50
        await pilot.press("left", "left")
        await compared(app, pilot)
        assert screen.question.hours_per_week == 30
        await pilot.press("h")
        await compared(app, pilot)
        assert screen.question.months == 60
        await pilot.press("h")
        await compared(app, pilot)
        assert screen.question.months == 12
        await pilot.press("down")
        await pilot.pause()
        assert "▌ RTX 4090" in screen.query_one("#cards").query_one(Static).render().plain  # type: ignore[union-attr]


async def test_what_might_be_bought_is_typed_and_a_wrong_name_is_said(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED)) as (app, pilot):
        screen = await buying_tab(app, pilot)
        screen.query_one("#buy-cards", Input).value = "RTX 4090"
        await compared(app, pilot)
        assert screen.question.purchases == ("RTX 4090",)
        assert "RTX 4090" in said(screen, "#told")
        screen.query_one("#buy-cards", Input).value = "FOO"
        await compared(app, pilot)
        assert "unknown accelerator" in said(screen, "#told")
        assert "known are RTX 4090, RTX 5090" in said(screen, "#told")


async def test_a_wrong_name_leaves_the_last_answer_and_has_no_command_line(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED)) as (app, pilot):
        screen = await buying_tab(app, pilot)
        screen.query_one("#buy-cards", Input).value = "FOO"
        await compared(app, pilot)
        await pilot.press("escape")
        again = await buying_tab(app, pilot)
        assert again is not screen
        assert "unknown accelerator" in said(again, "#told")
        assert "Below still stands the last answer." in said(again, "#told")
        assert "used RTX 3090" in again.query_one("#cards").query_one(Static).render().plain  # type: ignore[union-attr]
        await pilot.press("y")
        await pilot.pause()
        assert app.clipboard == ""
        assert "No command line yet" in shown(app)


def test_hours_a_week_say_whose_they_are_and_when_a_week_has_fewer() -> None:
    found = sample_buying(Terms(hours_per_week=168))
    names = [one.purchase.name for one in found.bought]
    slow = assumed_text(found, names.index("used RTX 3090"), PALETTE).plain.splitlines()
    quick = assumed_text(found, names.index("RTX 4090"), PALETTE).plain.splitlines()
    assert slow[:2] == ["work       168 h/week", "   of      RTX 4090"]
    assert "busy       275 h/week" in slow
    assert slow[slow.index("busy       275 h/week") + 1].strip() == "a week has 168!"
    assert quick[:2] == slow[:2]
    assert not any("a week has" in line for line in quick)
    assert "costs      $6.20 a run" in quick
    assert "takes      21h57 a run" in quick


async def test_a_low_screen_shows_the_cards_field_only_while_it_is_edited(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED), size=(80, 24)) as (app, pilot):
        screen = await buying_tab(app, pilot)

        def shown() -> bool:
            return bool(screen.query_one("#buy-form").display)

        assert not shown()
        await pilot.press("f")
        await pilot.pause()
        assert shown()
        await pilot.press("enter")
        await pilot.pause()
        assert not shown()


async def test_the_command_line_asks_the_same(open_app: Open) -> None:
    async with open_app(settings=Settings(LIMITED)) as (app, pilot):
        await buying_tab(app, pilot)
        await pilot.press("y")
        await pilot.pause()
        assert "gpuplanner breakeven" in app.clipboard


Compare = Callable[..., bool]


@pytest.mark.parametrize("size", [(130, 36), (80, 24)], ids=["wide", "narrow"])
def test_pictures(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    async def open_tab(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await settled(app, pilot)
        await pilot.press(KEY)
        await compared(app, pilot)
        await settled(app, pilot)

    app = PlannerApp(CannedCore(), Settings(LIMITED), tmp_path)
    assert snap_compare(app, terminal_size=size, run_before=open_tab)
