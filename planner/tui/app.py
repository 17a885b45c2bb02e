"""The app: tabs over one question. It asks the core in worker threads and tells the screens what came of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer

from planner.errors import InputError, PlannerError
from planner.plan.plan import Estimate
from planner.plan.words import machine_name
from planner.throughput.levers import Lever
from planner.tui.arrange import Key, Order, key_of
from planner.tui.asked import FIRST_VALUES, Values, changed_words, command_line, faults, with_changes
from planner.tui.commands import EVERYWHERE, Command, bindings, with_everywhere
from planner.tui.core import Core, LiveCore, Ranked, local_now
from planner.tui.messages import Answered, BatchFound, Completed, LeversFound, Unanswerable
from planner.tui.panes import PANES
from planner.tui.profile_control import ProfileControl
from planner.tui.refresh_control import RefreshControl
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import JumpScreen, TextDialog
from planner.tui.screens.plan import PlanScreen
from planner.tui.settings import Settings, load_settings, save_settings
from planner.tui.texts import assumptions_text, command_text, keys_text, price_text
from planner.tui.theme import PALETTES, Palette, themes
from planner.tui.widgets.field import LABELS, FieldInput

if TYPE_CHECKING:
    from planner.plan.buy_or_rent import Terms
    from planner.tui.sweep_form import SweepForm

LEVERS_AFTER_S = COMPLETE_AFTER_S = 0.15
"""The cursor, or the form, must rest that long before levers are looked for and the last rows are written."""

A_MINUTE_S = 60.0
"""As exact as clock times are shown."""

RESTYLED_AT_ONCE = 12
"""Widgets whose styles are worked out in one turn of the loop: Plan has about forty."""


def is_ready(screen: Screen[object]) -> TypeGuard[PlannerScreen]:
    """Whether what a worker tells can be shown on it: not before it is mounted, when it looks at everything itself, nor
    while the app ends, when its panes go one by one."""
    return isinstance(screen, PlannerScreen) and screen.is_mounted and screen.app.is_running


class PlannerApp(App[None]):
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
        super().__init__()
        self._directory = directory
        remembered = settings if settings is not None else load_settings(directory)
        self.core: Core = core or LiveCore()
        self._remembered: Values = dict(remembered.values)
        self.values: Values = self._remembered
        self.order = Order(sort=remembered.sort, group=remembered.group)
        self.ranked: Ranked | None = None
        self.problem = ""
        self.problem_fields: Sequence[str] = ()
        self.problem_in_form = True
        self.chosen: Estimate | None = None
        self.cursor_moved = False
        self.levers: Sequence[Lever] = ()
        self.before_levers: list[Values] = []
        self.sweep_form: SweepForm | None = None  # the Sweep tab's, kept while other tabs are open
        self.buying: Terms | None = None  # the same of Buy or rent
        self.last_answers: dict[
            str, tuple[Values, Any, Any]
        ] = {}  # by tab: the form's values, its question, its answer
        self._levers_of: tuple[int, Key] | None = None
        self._asking = self._ask_again = False
        self.clock: Callable[[], float] = time.monotonic
        self._answered_s = self.clock()
        self._resting: Timer | None = None
        self.refresh_control = RefreshControl(self)
        self.profile_control = ProfileControl(self)
        for theme in themes():
            self.register_theme(theme)
        self.theme = remembered.theme

    @property
    def palette(self) -> Palette:
        return PALETTES.get(self.theme, PALETTES["planner-dark"])

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

    def in_thread(self, work: Callable[[], None], group: str) -> None:
        """Run long work beside the interface. An older one of the group is let go of; what it still says is ignored."""
        # Without a description Textual makes one of the work's repr, and so of every row of a plan among its arguments.
        self.run_worker(work, thread=True, group=group, exclusive=True, description=group)

    # Asking

    def ask(self, values: Values) -> None:
        """Rank the form's question; while one is being ranked, only the latest of those that come is kept."""
        self.values = values
        self._ask_again = True
        if not self._asking:
            self._ask_next()

    def _ask_next(self) -> None:
        self._ask_again, self._asking = False, True
        self.in_thread(partial(self._ask_core, dict(self.values), self.order), "ask")

    def _ask_core(self, values: Values, order: Order) -> None:
        try:
            self.post_message(Answered(self.core.ask(values, order.of_planner)))
        except InputError as error:
            self.post_message(Unanswerable(faults(error, values, local_now()), in_form=True))
        except PlannerError as error:
            self.post_message(Unanswerable({None: str(error)}, in_form=False))

    def on_answered(self, message: Answered) -> None:
        self.ranked, self.problem, self.problem_fields = message.ranked, "", ()
        self._answered_s = self.clock()
        self._settled()

    @property
    def answer_is_old(self) -> bool:
        """Whether the clock has gone on since the answer was made: its "now" is no longer now."""
        return self.clock() - self._answered_s >= A_MINUTE_S

    def clock_moved(self) -> None:
        """The bars say what time the answer is of."""
        for screen in self._ready_screens():
            screen.paint_bars()

    def on_unanswerable(self, message: Unanswerable) -> None:
        """Tell of the field that is being typed into first; of others only which they are."""
        typed = self.focused.field.key if isinstance(self.focused, FieldInput) else None
        fields = sorted((key for key in LABELS if key in message.faults), key=lambda key: key != typed)
        first = fields[0] if fields else None
        label = f"{LABELS[first]}: " if first is not None else ""
        others = f" Also wrong: {', '.join(LABELS[key] for key in fields[1:])}." if fields[1:] else ""
        self.problem = f"{label}{message.faults[first]}{'.' if others else ''}{others}"
        self.problem_fields = fields
        self.problem_in_form = message.in_form
        self._settled()

    def _settled(self) -> None:
        self._asking = False
        if self._ask_again:
            self._ask_next()
        else:
            self._show()
            self.set_timer(COMPLETE_AFTER_S, self._complete)

    def _complete(self) -> None:
        """Write out the rest of the rows, unless another question came meanwhile."""
        ranked = self.ranked
        if ranked is not None and not ranked.complete and not self._asking:
            self.in_thread(lambda: self._ask_rest(ranked), "complete")

    def _ask_rest(self, ranked: Ranked) -> None:
        self.post_message(Completed(self.core.complete(ranked)))

    def on_completed(self, message: Completed) -> None:
        if self.ranked is not None and self.ranked.number == message.ranked.number:
            self.ranked = message.ranked
            self._show()

    def reorder(self, order: Order) -> None:
        """Show the rows in another order; the planner is asked only where the order is its own."""
        before, self.order = self.order, order
        if order.of_planner != before.of_planner:
            self.cursor_moved = False
            self.ask(self.values)
        else:
            self._show()

    def _show(self) -> None:
        for screen in self._ready_screens():
            screen.refresh_content()

    def _ready_screens(self) -> list[PlannerScreen]:
        """The plan, and the tab over it."""
        return [screen for screen in self.screen_stack if is_ready(screen)]

    @property
    def is_settled(self) -> bool:
        """Whether nothing is still to come: the question is answered in full, and its row's levers are known."""
        ranked, row = self.ranked, self.chosen
        if self._asking or (ranked is None and not self.problem):
            return False
        if ranked is None or row is None:
            return True
        return ranked.complete and self._levers_of == (ranked.number, key_of(row))

    def row_changed(self) -> None:
        """Tell the tab that lies over the plan."""
        for screen in self._ready_screens():
            screen.row_changed()

    @property
    def outdated(self) -> str:
        """Why the answer shown is not that to the form as it stands; '' where it is."""
        if self.problem:
            return self.problem
        answered = self.ranked is None or self.ranked.values == self.values
        return "" if answered else "The form has changed, and its answer is still to come."

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
        """Put it into the form and ask; what was asked before is kept, to come back to."""
        if self.ranked is not None:
            self.before_levers.append(self.values)
            self._ask_otherwise(with_changes(self.values, self.ranked.plan.experiment, lever.experiment))

    @property
    def tried(self) -> str:
        """The lever tried last in the form's word, while it is on; '' where none is."""
        if not self.before_levers:
            return ""
        before, now = (values.get("levers", "") for values in (self.before_levers[-1], self.values))
        return changed_words({"levers": before}, {"levers": now})

    def change_question(self, values: Values) -> None:
        """Ask it instead of the form's own, which is kept, to come back to."""
        self.before_levers.append(self.values)
        self._ask_otherwise(values)
        self.cursor_moved = False

    def action_start_over(self) -> None:
        """The question of a first visit in the usual order."""
        self.order = Order()
        self.change_question(FIRST_VALUES)

    def undo_lever(self) -> None:
        if self.before_levers:
            self._ask_otherwise(self.before_levers.pop())
        else:
            self.notify("No lever was tried, so there is none to undo.")

    def _ask_otherwise(self, values: Values) -> None:
        self.cursor_moved = True
        self.plan_screen.fill(values)
        self.ask(values)

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
            self._show()

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
            text = assumptions_text(self.ranked.plan, self.palette, outdated=self.outdated)
            self.push_screen(TextDialog("The answer and what it assumes", text, "a"))

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

    def action_other_theme(self) -> None:
        self.theme = "planner-light" if self.theme == "planner-dark" else "planner-dark"

    def refresh_css(self, animate: bool = True) -> None:
        """What Textual does when the theme changes, but some widgets at a time: all at once hold up the keys."""
        self.stylesheet.set_variables(self.get_css_variables())
        self.stylesheet.reparse()
        self.call_later(self._restyle, animate)

    async def _restyle(self, animate: bool) -> None:
        nodes = [self, *(node for screen in self.screen_stack for node in screen.walk_children(with_self=True))]
        with self.batch_update():
            for first in range(0, len(nodes), RESTYLED_AT_ONCE):
                self.stylesheet.update_nodes(nodes[first : first + RESTYLED_AT_ONCE], animate=animate)
                await asyncio.sleep(0)
            self.screen.refresh(layout=True)

    def watch_theme(self, theme: str) -> None:
        if theme in PALETTES and self.is_running:
            self.call_after_refresh(self._show)

    async def action_quit(self) -> None:
        self.refresh_control.stop()
        self.profile_control.stop()
        save_settings(Settings(self._values_to_keep(), self.theme, self.order.sort, self.order.group), self._directory)
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
