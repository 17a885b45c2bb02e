"""The app: tabs over one question. It asks the core in worker threads and tells the screens what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

from rich.text import Text
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer

from planner.plan.plan import Estimate
from planner.plan.words import machine_name
from planner.throughput.levers import Lever
from planner.tui.arrange import Key, Order, key_of
from planner.tui.asked import FIRST_VALUES, Values, command_line, with_changes
from planner.tui.asking_app import A_MINUTE_S, AskingApp
from planner.tui.changes import Changes
from planner.tui.commands import EVERYWHERE, Command, bindings, with_everywhere
from planner.tui.core import Core, Ranked
from planner.tui.messages import BatchFound, LeversFound
from planner.tui.panes import PANES
from planner.tui.profile_control import ProfileControl
from planner.tui.refresh_control import RefreshControl
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import JumpScreen, TextDialog
from planner.tui.screens.plan import PlanScreen
from planner.tui.settings import Settings, load_settings, save_settings
from planner.tui.texts import assumptions_text, command_text, keys_text, price_text

if TYPE_CHECKING:
    from planner.plan.buy_or_rent import Terms
    from planner.tui.sweep_form import SweepForm

LEVERS_AFTER_S = 0.15
"""The cursor must rest that long before levers are looked for."""


def is_ready(screen: Screen[object]) -> TypeGuard[PlannerScreen]:
    """Whether what a worker tells can be shown on it: not before it is mounted, when it looks at everything itself, nor
    while the app ends, when its panes go one by one."""
    return isinstance(screen, PlannerScreen) and screen.is_mounted and screen.app.is_running


class PlannerApp(AskingApp):
    """``PlannerApp().run()`` opens Plan on the last question. ``core`` and ``settings`` are for tests and pictures."""

    TITLE = "gpuplanner"
    CSS_PATH = "styles.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(EVERYWHERE),
        Binding("q", "quit", show=False),
    ]

    def __init__(
        self, core: Core | None = None, settings: Settings | None = None, directory: Path | None = None
    ) -> None:
        remembered = settings if settings is not None else load_settings(directory)
        super().__init__(core, remembered)
        self._directory = directory
        self._remembered = self.values
        self.chosen: Estimate | None = None
        self.levers: Sequence[Lever] = ()
        self.changes = Changes()
        self.sweep_form: SweepForm | None = None  # the Sweep tab's, kept while other tabs are open
        self.buying: Terms | None = None  # the same of Buy or rent
        # By tab: the form's values, the tab's question, its answer.
        self.last_answers: dict[str, tuple[Values, Any, Any]] = {}
        self._levers_of: tuple[int, Key] | None = None
        self._resting: Timer | None = None
        self.refresh_control = RefreshControl(self)
        self.profile_control = ProfileControl(self)

    def get_default_screen(self) -> Screen[Any]:
        return PlanScreen()

    @property
    def plan_screen(self) -> PlanScreen:
        """Always there: the other tabs lie over it."""
        screen = self.screen_stack[0]
        if not isinstance(screen, PlanScreen):
            raise RuntimeError("the plan is the ground of the stack")
        return screen

    def on_mount(self) -> None:
        # The first picture comes before the first question, which takes most of a second to read its tables.
        self.call_after_refresh(self.ask, self.values)
        self.set_interval(A_MINUTE_S / 4, self.clock_moved)

    def show_answer(self) -> None:
        for screen in self._ready_screens():
            screen.refresh_content()

    def _ready_screens(self) -> list[PlannerScreen]:
        """The plan, and the tab over it."""
        return [screen for screen in self.screen_stack if is_ready(screen)]

    def clock_moved(self) -> None:
        """The bars say what time the answer is of."""
        for screen in self._ready_screens():
            screen.paint_bars()

    @property
    def is_settled(self) -> bool:
        """Whether nothing is still to come: the question is answered in full, and its row's levers are known."""
        ranked, row = self.ranked, self.chosen
        if self._asking or (ranked is None and not self.problem):
            return False
        if ranked is None or row is None:
            return True
        return ranked.complete and self._levers_of == (ranked.number, key_of(row))

    def step(self, by: int) -> None:
        """Move the plan's cursor by so many rows."""
        self.plan_screen.step(by)

    def row_changed(self) -> None:
        """Tell the tab that lies over the plan."""
        for screen in self._ready_screens():
            screen.row_changed()

    # Levers of the row under the cursor

    def find_levers(self, row: Estimate) -> None:
        """Look for the row's levers once the cursor rests; those of the row looked at last are known."""
        if self.ranked is not None and self._levers_of == (self.ranked.number, key_of(row)):
            self.plan_screen.show_levers()
            return
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(LEVERS_AFTER_S, partial(self._find_levers_now, row))

    def _find_levers_now(self, row: Estimate) -> None:
        if self.ranked is not None:
            work = partial(self._ask_levers, self.ranked, row)
            self.in_thread(work, "levers")

    def _ask_levers(self, ranked: Ranked, row: Estimate) -> None:
        self.post_message(LeversFound(ranked.number, row, self.core.levers(ranked, row)))

    def on_levers_found(self, message: LeversFound) -> None:
        if self.chosen is not None and key_of(self.chosen) == key_of(message.row):
            self.levers, self._levers_of = message.levers, (message.number, key_of(message.row))
            self.plan_screen.show_levers()

    def try_lever(self, lever: Lever) -> None:
        """Put it into the form and ask."""
        if self.ranked is not None:
            values = with_changes(self.values, self.ranked.plan.experiment, lever.experiment)
            self.change_question(values, same_row=True)

    @property
    def tried(self) -> str:
        """The lever tried last in the form's word, while it is on; '' where none is."""
        return self.changes.levers_on(self.values)

    # Other questions by a key

    def change_question(self, values: Values, *, same_row: bool = False) -> None:
        """Ask it instead of the form's own; another key takes that back. ``same_row``: the cursor stays on its row."""
        self.changes.add(self.values, values)
        self._ask_otherwise(values, same_row=same_row)

    def action_start_over(self) -> None:
        """The question of a first visit in the usual order."""
        self.order = Order()
        self.change_question(FIRST_VALUES)

    def take_back(self) -> None:
        """The newest change that a key made."""
        values = self.changes.take_back(self.values)
        if values is None:
            self.notify("No key has changed the form, so there is nothing to take back.")
        else:
            self._ask_otherwise(values, same_row=True)

    def _ask_otherwise(self, values: Values, *, same_row: bool) -> None:
        self.remember()
        self.cursor_moved = same_row
        self.plan_screen.fill(values)
        self.ask(values)
        self.remember()

    def action_recent(self) -> None:
        """The questions asked before; one that is chosen goes into the form."""
        from planner.tui.screens.recent import RecentScreen

        def ask(values: Values | None) -> None:
            if values is not None:
                self.change_question(values)

        self.remember()
        self.push_screen(RecentScreen(self.recent, self.palette), ask)

    # The largest batch of a row

    def find_largest_batch(self, row: Estimate) -> None:
        if self.ranked is not None:
            self.in_thread(partial(self._ask_largest_batch, self.ranked, row), "batch")

    def _ask_largest_batch(self, ranked: Ranked, row: Estimate) -> None:
        self.post_message(BatchFound(row, self.core.largest_batch(ranked, row)))

    def on_batch_found(self, message: BatchFound) -> None:
        if message.largest:
            self.plan_screen.take_batch(message.largest)
        else:
            known = "no batch fits" if message.largest == 0 else "the largest batch is not known for"
            self.problem, self.problem_fields = f"batch: {known} {machine_name(message.row)}", ("batch",)
            self.problem_in_form = True
            self.show_answer()

    # Refreshing the prices

    def refresh_moved(self) -> None:
        """The refresh has got on: screens that show it look at it again."""
        screen = self.screen
        if is_ready(screen):
            screen.paint_bars()
            screen.show_refresh()

    def refresh_ended(self, *, wrote: bool) -> None:
        """Rank anew with what was read."""
        if wrote:
            self.core.prices_changed()
            self.ask(self.values)
            for screen in self._ready_screens():
                screen.prices_changed()

    # Profiling this machine

    def profile_moved(self) -> None:
        """The profile has got on: the screen that shows it looks at it again."""
        screen = self.screen
        if is_ready(screen):
            screen.show_profile()

    def profile_ended(self) -> None:
        """Rank anew with what was measured."""
        self.core.prices_changed()
        self.ask(self.values)
        for screen in self._ready_screens():
            screen.profile_changed()

    # Commands

    def action_ask_again(self) -> None:
        self.ask(self.values)

    def action_go(self, mode: str) -> None:
        """Open a tab over the plan; the plan itself is what lies under them all."""
        self.remember()
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if mode != "plan":
            self.push_screen(next(pane for pane in PANES if pane.mode == mode).open())

    def action_command_line(self) -> None:
        if self.problem_in_form and self.problem:
            self.push_screen(TextDialog("No command line yet", Text(self.problem, style=self.palette.bad), "y"))
            return
        line = command_line(self.values, self.order.of_planner)
        self.copy_to_clipboard(line)
        text = command_text(line, True, self.palette)
        self.push_screen(TextDialog("The same question as a command line", text, "y"))

    def action_export(self) -> None:
        """The file that launches the row under the cursor, or the recommended one; never of another question."""
        if self.outdated:
            self.push_screen(TextDialog("No file yet", Text(self.outdated, style=self.palette.bad), "x"))
            return
        ranked = self.ranked
        row = self.chosen or (ranked.recommended if ranked is not None else None)
        if ranked is None or row is None:
            return
        from planner.tui.screens.export import ExportScreen

        write = partial(self.core.export, ranked, row)
        self.push_screen(ExportScreen(machine_name(row), write, self.palette))

    def action_assumptions(self) -> None:
        if self.ranked is not None:
            text = assumptions_text(self.ranked, self.palette, outdated=self.outdated)
            ways = self.plan_screen.ways()
            self.push_screen(TextDialog("The answer and what it assumes", text, "a", does=ways))

    def action_keys(self) -> None:
        text = keys_text(with_everywhere(self._commands_here()), self.palette)
        self.push_screen(TextDialog("Keys", text, "question_mark"))

    def action_help_focused(self) -> None:
        focused = self.focused
        text = getattr(focused, "help_text", None) or getattr(focused, "HELP", None)
        if text is None:
            self.action_keys()
        else:
            self.push_screen(TextDialog("Help", Text(str(text), style=self.palette.text), "f1"))

    def action_jump(self) -> None:
        screen = self.screen
        if not isinstance(screen, PlannerScreen):
            return
        targets = screen.targets()

        def go(index: int | None) -> None:
            if index is not None:
                targets[index].focus()

        self.push_screen(JumpScreen(targets), go)

    def repaint(self) -> None:
        for screen in self._ready_screens():
            screen.repaint()

    async def action_quit(self) -> None:
        self.refresh_control.stop()
        self.profile_control.stop()
        self.remember()
        kept_values, order = self._values_to_keep(), self.order
        settings = Settings(kept_values, self.theme, order.sort, order.group, tuple(self.recent))
        save_settings(settings, self._directory)
        self.exit()

    def _values_to_keep(self) -> Values:
        """The form, or what was answered last where it cannot be used: the next visit opens on an answer."""
        if not self.problem:
            return self.values
        return self.ranked.values if self.ranked is not None else self._remembered

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every command of this screen, under its group and with its key."""
        for command in with_everywhere(self._commands_here()):
            title = f"{command.group}: {command.title}"
            yield SystemCommand(
                title,
                f"key {command.shown_key}" if command.key else "no key",
                partial(self._run_command, command.action),
            )

    async def _run_command(self, action: str) -> None:
        await self.run_action(action, self.screen)

    def _commands_here(self) -> Sequence[Command]:
        screens = [screen for screen in self.screen_stack if isinstance(screen, PlannerScreen)]
        return screens[-1].PANE_COMMANDS if screens else ()

    def price_state(self) -> tuple[Text, Text]:
        """Where the prices come from and how old the oldest one shown is: in full, and short."""
        return price_text(self.refresh_control, self.ranked, self.palette, answered=bool(self.problem))
