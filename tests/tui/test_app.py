"""The app driven by its keys."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.events import Key
from textual.widgets import DataTable, Input, Static

from planner.plan.search import Sort
from planner.tui.asked import FIRST_VALUES, Values
from planner.tui.core import Ranked, WayToFit
from planner.tui.panes import PANES
from planner.tui.screens.dialogs import ChartScreen, JumpScreen, TextDialog
from planner.tui.screens.export import ExportScreen
from planner.tui.screens.machine import MachineScreen
from planner.tui.screens.prices import PricesScreen
from planner.tui.screens.why import LeverTable, WhyScreen
from planner.tui.settings import Settings, load_settings
from planner.tui.theme import LIGHT
from planner.tui.widgets.answer_pane import AnswerPane
from planner.tui.widgets.bars import TitleBar
from planner.tui.widgets.field import FieldInput
from planner.tui.widgets.form import ExperimentForm
from planner.tui.widgets.offers_table import OffersTable
from planner.tui.widgets.plan_table import PlanTable
from planner.units import Interval
from tests.tui.conftest import Open, settled, shown, to_field
from tests.tui.samples import BrokenCore, CannedCore, SilentCore


async def test_it_opens_on_the_plan_of_resnet50(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, _):
        assert core.asked == [({"model": "resnet50", "dataset": "imagenet", "epochs": "90"}, "value")]
        table = app.query_one("#plan", DataTable)
        assert table.row_count == 11
        assert app.focused is table
        assert app.chosen is not None
        assert app.chosen.name == "this laptop"


async def test_every_key_in_the_form_asks_again(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        await to_field(app, pilot, "budget")
        await pilot.press("6", "0")
        await settled(app, pilot)
        assert core.asked[-1][0]["budget"] == "60"
        assert app.ranked is not None
        assert app.ranked.question.limits.budget_usd == 60


async def test_a_wrong_text_is_named_and_the_last_answer_stays(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await to_field(app, pilot, "deadline")
        await pilot.press("s", "o", "o", "n")
        await settled(app, pilot)
        assert "cannot read the deadline 'soon'" in app.problem
        assert app.query_one("#field-deadline", FieldInput).has_class("-invalid")
        assert app.query_one(PlanTable).row_count == 11
        assert "cannot read the deadline" in str(app.query_one(AnswerPane).render())
        await pilot.press(*["backspace"] * 4, "2", "4", "h")
        await settled(app, pilot)
        assert app.problem == ""
        assert not app.query_one("#field-deadline", FieldInput).has_class("-invalid")


async def test_what_is_exported_is_never_the_answer_to_another_question(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await to_field(app, pilot, "buy")
        await pilot.press(*"1000", "escape")
        await settled(app, pilot)
        await pilot.press("x")
        assert isinstance(app.screen, TextDialog)
        assert "buy: unknown way to buy '1000'" in shown(app)
        await pilot.press("escape", "a")
        assert "not that to the form" in shown(app)
        assert "unknown way to buy '1000'" in shown(app)
        await pilot.press("escape")
        await to_field(app, pilot, "buy")
        await pilot.press(*["backspace"] * 4, "escape")
        await settled(app, pilot)
        await pilot.press("x")
        assert isinstance(app.screen, ExportScreen)


async def test_another_model_lets_go_of_the_data_set_nobody_typed(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        app.query_one("#field-model", FieldInput).value = "bert-large"
        await settled(app, pilot)
        assert core.asked[-1][0] == {"model": "bert-large"}


async def test_a_completion_is_taken_with_enter(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("f", *"resnet3", "enter")
        await settled(app, pilot)
        assert app.query_one("#field-model", FieldInput).value == "resnet34"
        await pilot.press("enter")
        assert app.focused is app.query_one(PlanTable)


async def test_sorting_by_what_the_planner_orders_asks_it(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        await pilot.press("s")
        await settled(app, pilot)
        assert core.asked[-1][1] == "time"
        asked = len(core.asked)
        await pilot.press("s", "s", "s")
        await settled(app, pilot)
        assert app.order.sort == "hourly"
        assert len(core.asked) <= asked + 3  # cost, and the planner's own order under the two columns beside it
        await pilot.press("S")
        assert app.order.backwards


async def test_filter_group_and_pin(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("slash", *"aws", "enter")
        assert app.query_one(PlanTable).row_count == 3
        await pilot.press("p", "escape")
        assert app.order.words == ""
        assert len(app.order.pinned) == 1
        assert "11 of 11" in str(app.query_one("#plans").border_subtitle)  # each machine counts once
        assert app.query_one(PlanTable).row_count == 13  # all, the pinned one again, and the rule under it
        await pilot.press("g")
        assert app.order.group == "gpu"


async def test_a_filter_that_leaves_nothing_says_so(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("slash", *"zzzz")
        await settled(app, pilot)
        assert "no row has all of 'zzzz'" in shown(app)
        assert "No row is shown." in shown(app)
        assert "0 of 11" in str(app.query_one("#plans").border_subtitle)
        await pilot.press("enter", "down", "up", "escape")
        assert app.query_one(PlanTable).row_count == 11


async def test_the_cursor_steps_over_rules(open_app: Open) -> None:
    settings = Settings({"model": "resnet50", "deadline": "24h", "budget": "60"})
    async with open_app(settings=settings) as (app, pilot):
        table = app.query_one(PlanTable)
        seen = []
        for _ in range(11):
            assert table.chosen is not None
            seen.append(table.chosen.name)
            await pilot.press("down")
        assert len(set(seen)) == 11
        await pilot.press("home")
        assert table.cursor_row == 0


SCREENS: dict[str, type[object]] = {
    "y": TextDialog,
    "a": TextDialog,
    "u": TextDialog,
    "v": TextDialog,
    "question_mark": TextDialog,
    "f1": TextDialog,
    "c": ChartScreen,
    "ctrl+o": JumpScreen,
    "2": WhyScreen,
    "enter": WhyScreen,
    "3": MachineScreen,
    "4": PricesScreen,
}


async def test_every_screen_opens_and_closes(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        for key, screen in SCREENS.items():
            await pilot.press(key)
            assert isinstance(app.screen, screen), key
            await pilot.press(key if screen is TextDialog else "escape")
            assert len(app.screen_stack) == 1, key


async def test_command_line_palette_help_and_jumps(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Plan: filter the rows" in titles
        assert "Sort: by cost" in titles
        helps = {command.title: command.help for command in app.get_system_commands(app.screen)}
        assert helps["Go: Machine, what this one is"] == "key 3"
        assert helps["Sort: by cost"] == "no key"
        await pilot.press("ctrl+p")
        await pilot.pause(0.1)
        assert all(cell_len(char) < 2 for char in shown(app))
        await pilot.press("escape")
        await pilot.press("y")
        assert app.clipboard == "gpuplanner estimate --model resnet50 --dataset imagenet --epochs 90"
        await pilot.press("escape", "ctrl+o", "a")
        assert isinstance(app.focused, FieldInput)
        await pilot.press("f1")
        assert "model: A network of the zoo" in str(app.screen.query_one("VerticalScroll Static").render())


async def test_a_lever_is_tried_and_undone(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        await pilot.press("down", "2")
        await settled(app, pilot)
        assert app.screen.query_one(LeverTable).row_count == 3
        await pilot.press("space")
        await settled(app, pilot)
        assert core.asked[-1][0]["levers"] == "compile"
        assert app.plan_screen.query_one("#field-levers", FieldInput).value == "compile"
        await pilot.press("1", "2")  # a look at the plan, and back: it can still be undone
        await settled(app, pilot)
        await pilot.press("z")
        await settled(app, pilot)
        assert "levers" not in core.asked[-1][0]
        await pilot.press("space")
        await settled(app, pilot)
        await pilot.press("1", "z")
        await settled(app, pilot)
        assert "levers" not in core.asked[-1][0]
        await pilot.press("2")
        await settled(app, pilot)
        before = app.chosen
        await pilot.press("n")
        await settled(app, pilot)
        assert app.chosen != before


async def test_a_lever_out_of_sight_is_shown_before_it_is_tried(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core, size=(80, 24)) as (app, pilot):
        await pilot.press("2")
        await settled(app, pilot)
        asked = len(core.asked)
        await pilot.press("space")
        await settled(app, pilot)
        assert len(core.asked) == asked
        assert app.focused is app.screen.query_one(LeverTable)
        assert "torch.compile" in shown(app)
        await pilot.press("space")
        await settled(app, pilot)
        assert core.asked[-1][0]["levers"] == "compile"
        assert "this machine · compile is on, z takes it back" in shown(app)
        await pilot.press("z")
        await settled(app, pilot)
        assert "is on, z takes it back" not in shown(app)


async def test_prices_are_filtered(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("4")
        await settled(app, pilot)
        table = app.screen.query_one(OffersTable)
        assert [line.offer.instance_type for line in table._lines] == ["p5.48xlarge", "p5.48xlarge"]
        await pilot.press("o")
        assert [line.kind.unranked for line in table._lines] == ["retired", "", ""]
        await pilot.press("c", "s", "slash", *"m7i", "enter")
        await settled(app, pilot)
        assert table.row_count == 1
        await pilot.press("escape")
        assert table.row_count == 4
        await pilot.press("q")
        assert isinstance(app.screen, TextDialog)


async def test_what_cannot_be_read_is_said_in_the_pane(open_app: Open) -> None:
    async with open_app(BrokenCore()) as (app, pilot):
        assert "snapshot.sqlite is missing" in str(app.query_one(AnswerPane).render())
        await pilot.press("4")
        await settled(app, pilot)
        assert "missing" in app.screen.question_words()[0].plain  # type: ignore[attr-defined]


async def test_of_several_faults_the_field_that_is_typed_into_comes_first(open_app: Open) -> None:
    wrong = {"model": "resnet50", "epochs": "soon", "buy": "gift"}
    async with open_app(settings=Settings(wrong)) as (app, pilot):
        await to_field(app, pilot, "budget")
        await pilot.press("x")
        await settled(app, pilot)
        assert app.problem.startswith("budget: ")
        assert app.problem.endswith("Also wrong: epochs, buy.")
        marked = {entry.field.key for entry in app.query(FieldInput) if entry.has_class("-invalid")}
        assert marked == {"epochs", "buy", "budget"}
        await pilot.press("backspace", "9")
        await settled(app, pilot)
        assert app.problem.startswith("epochs: ")
        assert app.problem.endswith("Also wrong: buy.")


async def test_limits_say_that_the_worth_of_an_hour_is_out_of_use(open_app: Open) -> None:
    async with open_app(settings=Settings({"model": "resnet50", "hour_value": "12"})) as (app, pilot):
        assert "not in use" not in shown(app)
        await to_field(app, pilot, "budget")
        await pilot.press("6", "0")
        await settled(app, pilot)
        assert "the cheapest within the limits, whatever an hour is worth" in shown(app)
        assert "my hour   not in use" in shown(app)


async def test_the_field_at_fault_is_named_by_its_label(open_app: Open) -> None:
    async with open_app(settings=Settings({"model": "resnet50", "hour_value": "-1"})) as (app, _):
        assert app.problem.startswith("my hour: ")
        assert app.problem_fields == ["hour_value"]


async def test_a_limit_is_relaxed_with_one_key_where_nothing_meets_it(open_app: Open) -> None:
    core = CannedCore()
    hopeless = {"model": "resnet50", "deadline": "1h", "budget": "10"}
    async with open_app(core, Settings(hopeless)) as (app, pilot):
        keys = app.plan_screen.keys()
        assert [word for _, word, _ in keys][:2] == ["Deadline", "Budget"]
        await pilot.press("d")
        await settled(app, pilot)
        assert app.values["deadline"] == "Mon 12:15"
        await pilot.press("b")
        await settled(app, pilot)
        assert app.values["budget"] == "18"
        assert app.ranked is not None
        assert app.ranked.recommended is not None
        asked = len(core.asked)
        await pilot.press("d", "b")  # nothing is left to relax
        await settled(app, pilot)
        assert len(core.asked) == asked
        await pilot.press("z")
        await settled(app, pilot)
        assert app.values["budget"] == "10"


class SmallMachinesCore(CannedCore):
    """Nothing fits without gradient checkpointing."""

    def ask(self, values: Values, sort: Sort) -> Ranked:
        ranked = super().ask(values, sort)
        if "ckpt" in values.get("levers", ""):
            return ranked
        way = WayToFit({**values, "levers": "ckpt"}, ranked.plan.estimates[0], "slower")
        plan = ranked.plan._replace(recommendation=None, no_recommendation="Nothing fits as it stands.")
        return ranked._replace(plan=plan, ways_to_fit=(way,))


@pytest.mark.parametrize("size", [(130, 36), (80, 24)])
async def test_one_key_makes_fit_what_is_too_large(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app(SmallMachinesCore(), size=size) as (app, pilot):
        assert app.plan_screen.keys()[0][1] == "Make it fit"
        assert " t  ckpt   then 2d03h for $4.56 (slower) on this machine" in shown(app)
        await pilot.press("t")
        await settled(app, pilot)
        assert app.values["levers"] == "ckpt"
        assert app.ranked is not None
        assert app.ranked.recommended is not None
        assert "z Take back" in shown(app) or size[0] < 120
        words = [word for _, word, _ in app.plan_screen.keys()]  # noqa: SIM118
        assert "Make it fit" not in words
        await pilot.press("t", "z")
        await settled(app, pilot)
        assert "levers" not in app.values


async def test_the_answer_in_full_has_the_ways_in_the_words_and_with_the_keys_of_the_app(open_app: Open) -> None:
    async with open_app(SmallMachinesCore()) as (app, pilot):
        await pilot.press("a")
        assert " t  ckpt   then 2d03h for $4.56 (slower) on this machine" in shown(app)
        assert "precision amp (precision in the form)" in shown(app)
        assert "--" not in shown(app)
        await pilot.press("t")
        await settled(app, pilot)
        assert len(app.screen_stack) == 1
        assert app.values["levers"] == "ckpt"
        await pilot.press("a", "z")
        await settled(app, pilot)
        assert "levers" not in app.values
        await pilot.press("T")  # the second way, where there is one alone
        await pilot.pause(0.1)
        assert [said.message for said in app._notifications] == ["There is no other way than that named."]


async def test_what_was_typed_since_stays_when_a_key_is_taken_back(open_app: Open) -> None:
    async with open_app(SmallMachinesCore()) as (app, pilot):
        await pilot.press("t")
        await settled(app, pilot)
        await to_field(app, pilot, "budget")
        await pilot.press("6", "0", "escape", "z")
        await settled(app, pilot)
        assert app.values["budget"] == "60"
        assert "levers" not in app.values


async def test_the_largest_batch_goes_into_the_form(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("B")
        await settled(app, pilot)
        assert app.values["batch"] == "288"
        await to_field(app, pilot, "batch")
        await pilot.press(*["backspace"] * 3, *"max")
        await settled(app, pilot)
        assert app.query_one("#field-batch", FieldInput).value == "288"
        assert app.problem == ""


async def test_places_are_shown_and_hidden(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        app.plan_screen.action_toggle_place("cloud")
        await settled(app, pilot)
        assert app.values["where"] == "laptop, workstation, cluster"
        app.plan_screen.action_toggle_place("cloud")
        await settled(app, pilot)
        assert app.values["where"] == ""
        await pilot.press("z", "z")
        await settled(app, pilot)
        assert "where" not in app.values
        await pilot.press("w", "w")
        await settled(app, pilot)
        assert app.values["where"] == "workstation"


async def test_every_tab_is_named_at_80_columns(open_app: Open) -> None:
    async with open_app(size=(80, 24)) as (app, _):
        bar = str(app.screen.query_one(TitleBar).render())
        for pane in PANES:
            assert pane.title in bar
        assert "offline" in bar


async def test_only_the_latest_question_is_kept_while_one_is_asked(open_app: Open) -> None:
    core = SilentCore()
    core.release.set()
    async with open_app(core) as (app, pilot):
        core.release.clear()
        for budget in ("1", "12", "123"):
            app.ask({"model": "resnet50", "budget": budget})
        core.release.set()
        await settled(app, pilot)
        assert [values.get("budget") for values, _ in core.asked] == [None, "1", "123"]


async def test_the_theme_and_the_question_are_remembered(open_app: Open, tmp_path: object) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("ctrl+t")
        await to_field(app, pilot, "budget")
        await pilot.press("7", "escape", "ctrl+q")
    remembered = load_settings(app._directory)
    assert remembered.theme == "planner-light"
    assert remembered.values["budget"] == "7"


async def test_a_question_without_an_answer_is_not_remembered(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await to_field(app, pilot, "budget")
        await pilot.press("7")
        await settled(app, pilot)
        await pilot.press("x")
        await settled(app, pilot)
        assert app.problem
        await pilot.press("escape", "ctrl+q")
    assert load_settings(app._directory).values["budget"] == "7"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("b", "No budget is set"),
        ("d", "The deadline is not in the way."),
        ("t", "not too large"),
        ("z", "nothing to take back"),
    ],
)
async def test_a_key_that_has_nothing_to_do_says_so(open_app: Open, key: str, words: str) -> None:
    core = CannedCore()
    async with open_app(core, Settings({"model": "resnet50", "deadline": "90h"})) as (app, pilot):
        await pilot.press(key)
        await pilot.pause(0.1)
        assert [words in said.message for said in app._notifications] == [True]
        assert len(core.asked) == 1


async def test_one_can_start_over_and_come_back(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core, Settings({"model": "bert-large", "budget": "x"}, sort="cost")) as (app, pilot):
        assert app.problem
        command = next(one for one in app.get_system_commands(app.screen) if "start over" in one.title)
        await command.callback()
        await settled(app, pilot)
        assert core.asked[-1] == (FIRST_VALUES, "value")
        assert app.query_one(ExperimentForm).values == FIRST_VALUES
        await pilot.press("z")
        await settled(app, pilot)
        assert app.values == {"model": "bert-large", "budget": "x"}


async def test_only_some_places(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        app.plan_screen.action_only("cloud")
        await settled(app, pilot)
        assert app.query_one(PlanTable).row_count == 8
        assert app.query_one("#field-where", Input).value == "cloud"


async def test_keys_that_come_faster_than_they_are_heard(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        await pilot.press("f")
        entry = app.query_one("#field-model", FieldInput)
        entry.value = ""
        for letter in "bert-large":
            entry.value += letter
        await settled(app, pilot)
        assert core.asked[-1][0] == {"model": "bert-large"}


async def test_keys_that_follow_tab_at_once_go_into_the_next_field(open_app: Open) -> None:
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        await to_field(app, pilot, "model")
        for key in (*"bert-large", "tab", *"wiki", "tab", "1", "tab", "tab", "8", "shift+tab", "9"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await settled(app, pilot)
        typed = {"model": "bert-large", "dataset": "wiki", "epochs": "1", "batch": "8", "size": "9"}
        assert app.query_one(ExperimentForm).values == typed


async def test_tab_leaves_the_form_at_its_ends(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        for key, field in (("shift+tab", "model"), ("tab", "hour_value")):
            await to_field(app, pilot, field)
            await pilot.press(key)
            assert app.focused is app.query_one(PlanTable)


@pytest.mark.parametrize(("text", "width"), [("workstation", 130), ("2026-12-24 12:15", 160)])
async def test_a_value_is_seen_from_its_start_and_as_a_whole(open_app: Open, text: str, width: int) -> None:
    async with open_app(size=(width, 36)) as (app, pilot):
        app.plan_screen._ask_with("where", text)
        await settled(app, pilot)
        assert f"where     {text}" in shown(app)
        await to_field(app, pilot, "where")
        await pilot.press("end")
        assert f"where     {text}" in shown(app)
        await pilot.press("escape", "f")
        assert f"where     {text}" in shown(app)


async def test_the_time_axis_is_not_stretched_by_one_row(open_app: Open) -> None:
    async with open_app() as (app, _):
        assert app.ranked is not None
        rows = app.ranked.plan.estimates
        usual = app.plan_screen._view(app.ranked, rows).axis
        for seconds in (2.0, 1e9):
            odd = rows[-1]._replace(time_s=Interval(seconds, seconds, seconds))
            assert app.plan_screen._view(app.ranked, (*rows[:-1], odd)).axis == usual


async def test_whoever_types_goes_on_typing_however_narrow_it_gets(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("f", "down", "down", "down", "down")
        await pilot.pause()
        await pilot.resize_terminal(60, 20)
        await settled(app, pilot)
        await pilot.press("6", "4")
        await settled(app, pilot)
        field = app.screen.query_one("#field-batch", FieldInput)
        assert field.has_focus
        assert field.value == "64"
        assert field.region.bottom < 20
        await pilot.resize_terminal(130, 36)
        await settled(app, pilot)
        assert field.has_focus


async def test_another_theme_reaches_every_pane_also_those_under_a_tab(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("4")
        await settled(app, pilot)
        await pilot.press("ctrl+t")
        await settled(app, pilot)
        for screen in app.screen_stack:
            panes = screen.query(".pane")
            assert panes
            assert {pane.styles.background.hex.lower() for pane in panes} == {LIGHT.surface}


async def test_a_dialog_that_closes_leaves_the_rows_as_they_are(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app() as (app, pilot):
        shown: list[object] = []
        monkeypatch.setattr(PlanTable, "show", lambda *args: shown.append(args))
        await pilot.press("a", "escape", "2", "1")
        await settled(app, pilot)
        assert shown == []
        await pilot.press("s")
        await settled(app, pilot)
        assert shown


class FirstRowsCore(CannedCore):
    """Never writes out more than the first rows."""

    def ask(self, values: Values, sort: Sort) -> Ranked:
        return super().ask(values, sort)._replace(complete=False)


async def test_machines_are_not_counted_before_all_are_written_out(open_app: Open) -> None:
    async with open_app(FirstRowsCore()) as (app, pilot):
        for tab in ("2", "3"):
            await pilot.press(tab)
            await pilot.pause(0.1)
            assert "of …" in shown(app)
            assert "of 11" not in shown(app)


async def test_an_answers_now_becomes_as_of_when_a_minute_has_gone(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        assert "now Mon 10:00" in shown(app)
        answered_s = app.clock()
        app.clock = lambda: answered_s + 61
        app.clock_moved()
        await pilot.pause()
        assert "as of Mon 10:00" in shown(app)
        await pilot.press("ctrl+r")
        await settled(app, pilot)
        assert "now Mon 10:00" in shown(app)


async def test_help_says_what_the_focused_pane_is(open_app: Open) -> None:
    async with open_app() as (app, pilot):
        await pilot.press("5")
        await settled(app, pilot)
        app.screen.set_focus(app.screen.query_one("#assumed"))
        await pilot.press("f1")
        await settled(app, pilot)
        assert isinstance(app.screen, TextDialog)
        assert "resale are assumptions." in str(app.screen.query_one(Static).render())
