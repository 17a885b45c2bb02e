"""The question and its answer: the app asks the core in worker threads, and of what comes keeps the newest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from planner.errors import InputError, PlannerError
from planner.tui.arrange import Order
from planner.tui.asked import Values, faults
from planner.tui.core import Core, LiveCore, Ranked, local_now
from planner.tui.form_words import in_form
from planner.tui.messages import Answered, Completed, Unanswerable
from planner.tui.recent import kept
from planner.tui.settings import Settings
from planner.tui.themed import ThemedApp
from planner.tui.widgets.field import LABELS, FieldInput

COMPLETE_AFTER_S = 0.15
"""The form must rest that long before the last rows are written."""

A_MINUTE_S = 60.0
"""As exact as clock times are shown."""


class AskingApp(ThemedApp):
    """``values`` are the form's, ``ranked`` is the last answer, ``problem`` why the form has none, and of which fields.

    A subclass shows them, by ``show_answer``.
    """

    def __init__(self, core: Core | None, remembered: Settings) -> None:
        super().__init__(remembered.theme)
        self.core: Core = core or LiveCore()
        self.values: Values = dict(remembered.values)
        self.order = Order(sort=remembered.sort, group=remembered.group)
        self.ranked: Ranked | None = None
        self.problem = ""
        self.problem_fields: Sequence[str] = ()
        self.problem_in_form = True
        self.cursor_moved = False
        self.recent: Sequence[Values] = remembered.recent
        self.clock: Callable[[], float] = time.monotonic
        self._answered_s = self.clock()
        self._asking = self._ask_again = self._to_remember = False

    def show_answer(self) -> None:
        raise NotImplementedError

    def in_thread(self, work: Callable[[], None], group: str) -> None:
        """Run long work beside the interface. An older one of the group is let go of; what it still says is ignored."""
        # Without a description Textual makes one of the work's repr, and so of every row of a plan among its arguments.
        self.run_worker(work, thread=True, group=group, exclusive=True, description=group)

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

    def on_unanswerable(self, message: Unanswerable) -> None:
        """Tell of the field that is being typed into first; of others only which they are."""
        typed = self.focused.field.key if isinstance(self.focused, FieldInput) else None
        fields = sorted((key for key in LABELS if key in message.faults), key=lambda key: key != typed)
        first = fields[0] if fields else None
        label = f"{LABELS[first]}: " if first is not None else ""
        others = f" Also wrong: {', '.join(LABELS[key] for key in fields[1:])}." if fields[1:] else ""
        self.problem = f"{label}{in_form(message.faults[first])}{'.' if others else ''}{others}"
        self.problem_fields = fields
        self.problem_in_form = message.in_form
        self._settled()

    def _settled(self) -> None:
        self._asking = False
        if self._ask_again:
            self._ask_next()
        else:
            self.show_answer()
            self.set_timer(COMPLETE_AFTER_S, self._complete)
            if self._to_remember:
                self.remember()

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
            self.show_answer()

    def reorder(self, order: Order) -> None:
        """Show the rows in another order; the planner is asked only where the order is its own."""
        before, self.order = self.order, order
        if order.of_planner != before.of_planner:
            self.cursor_moved = False
            self.ask(self.values)
        else:
            self.show_answer()

    @property
    def outdated(self) -> str:
        """Why the answer shown is not that to the form as it stands; '' where it is."""
        if self.problem:
            return self.problem
        answered = self.ranked is None or self.ranked.values == self.values
        return "" if answered else "The form has changed, and its answer is still to come."

    def remember(self) -> None:
        """Keep the question among those asked before, now or once it is answered."""
        self._to_remember = bool(self.outdated) or self.ranked is None
        if self.ranked is not None and not self.outdated:
            self.recent = kept(self.ranked.values, self.recent)
