"""The questions asked before: kept, called, and asked again."""

from __future__ import annotations

from planner.tui.recent import MOST, called, kept
from planner.tui.screens.recent import RecentScreen
from planner.tui.settings import Settings, load_settings
from planner.tui.widgets.field import FieldInput
from tests.tui.conftest import Open, settled, shown, to_field

FIRST = {"model": "resnet50", "dataset": "imagenet", "epochs": "90"}


def test_a_question_is_kept_once_and_the_oldest_goes() -> None:
    one, other = {"model": "resnet50"}, {"model": "vgg16", "budget": ""}
    assert kept(other, (one,)) == ({"model": "vgg16"}, one)
    assert kept(one, ({"model": "vgg16"}, one)) == (one, {"model": "vgg16"})
    many = tuple({"model": f"m{number}"} for number in range(MOST))
    assert kept(one, many) == (one, *many[:-1])


def test_a_question_is_called_by_what_the_form_says() -> None:
    values = {"model": "bert-large", "dataset": "squad", "epochs": "3", "precision": "bf16", "deadline": "24h"}
    assert called({**values, "budget": "$100"}) == "bert-large · squad · 3 epochs · bf16 · by 24h · ≤ $100"
    assert called({"model": "gpt2", "epochs": "300B tokens", "where": "aws, gcp", "nodes": "2"}) == (
        "gpt2 · 300B tokens · on aws, gcp · 2 nodes"
    )


async def test_an_earlier_question_is_asked_again_and_taken_back(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await to_field(app, pilot, "budget")
        await pilot.press("6", "0", "escape")
        await settled(app, pilot)
        app.query_one("#field-model", FieldInput).value = "bert-large"
        await settled(app, pilot)
        await pilot.press("l")
        assert isinstance(app.screen, RecentScreen)
        assert " 1  bert-large · ≤ $60" in shown(app)
        assert " 2  resnet50 · imagenet · 90 epochs · ≤ $60" in shown(app)
        await pilot.press("2")
        await settled(app, pilot)
        assert app.values == {**FIRST, "budget": "60"}
        assert app.query_one("#field-model", FieldInput).value == "resnet50"
        await pilot.press("z")
        await settled(app, pilot)
        assert app.values == {"model": "bert-large", "budget": "60"}
        await pilot.press("l", "down", "enter")
        await settled(app, pilot)
        assert app.values == {**FIRST, "budget": "60"}
        await pilot.press("l", "9")  # no such line
        assert isinstance(app.screen, RecentScreen)
        await pilot.press("l")
        assert len(app.screen_stack) == 1


async def test_questions_are_remembered_from_visit_to_visit(open_app: Open) -> None:
    earlier = ({"model": "vgg16", "budget": "7"},)
    async with open_app(settings=Settings(recent=earlier)) as (app, pilot):
        await to_field(app, pilot, "deadline")
        await pilot.press(*"soon", "escape")  # has no answer: not one to come back to
        await settled(app, pilot)
        await pilot.press("ctrl+q")
    assert load_settings(app._directory).recent == earlier
    async with open_app(settings=Settings(recent=earlier)) as (app, pilot):
        await pilot.press("ctrl+q")
    assert load_settings(app._directory).recent == (FIRST, *earlier)


async def test_the_palette_has_them_too(open_app: Open) -> None:
    async with open_app() as (app, _):
        helps = {command.title: command.help for command in app.get_system_commands(app.screen)}
        assert helps["Go: back to a question asked before"] == "key l"
