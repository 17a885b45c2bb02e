"""A tab with a question of its own beside the form's: asked in a thread once typing rests, only the newest is shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from planner.errors import InputError, PlannerError
from planner.tui.asked import Values, command_line
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import TextDialog
from planner.tui.texts import command_text

REST_S = 0.3
"""Typing must rest that long before the question is asked anew."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass
class Told(Message, bubble=False):
    """What came of a question about the form's values: its answer, or the sentence that says why there is none."""

    values: Values
    question: Any
    answer: Any
    problem: str


class AskingScreen(PlannerScreen, Generic[Question, Answer]):
    """``found`` is the answer shown last (None before the first), ``answered`` the question it is of, ``problem`` why
    the newest question has none.

    A subclass keeps its ``question`` in the app, where it outlives the screen as the last answer does, and answers it
    with ``work_out``.
    """

    COMMAND: ClassVar[str] = ""
    """The command of gpuplanner that asks the same."""

    DEFAULT_CSS = """
    AskingScreen #told { height: auto; min-height: 4; max-height: 8; }
    AskingScreen .own-form Input { border: none; height: 1; padding: 0 1; background: $panel; }
    AskingScreen.-short .own-form, AskingScreen.-tiny .own-form { display: none; }
    AskingScreen.-short .own-form.-open, AskingScreen.-tiny .own-form.-open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: Answer | None = None
        self.answered: Question | None = None
        self.problem = ""
        self._waiting = False

    @property
    def question(self) -> Question:
        raise NotImplementedError

    def keep(self, question: Question) -> None:
        """Take it for the question from now on."""
        raise NotImplementedError

    def work_out(self, values: Values, question: Question) -> Answer:
        """In a worker thread: answer it for the form's values. Raises PlannerError."""
        raise NotImplementedError

    def flags(self) -> Sequence[str]:
        """The question as flags of ``COMMAND``."""
        raise NotImplementedError

    def answer_pane(self) -> Static:
        pane = Static(id="told", classes="pane")
        pane.border_title = "Answer"
        return pane

    def show_answer(self, text: Text | None) -> None:
        """The answer in words, or why there is none; None before the first."""
        pane, palette = self.query_one("#told", Static), self.planner.palette
        pane.border_subtitle = "working it out …" if self._waiting else ""
        if self.problem:
            text = Text.assemble(("✗ ", f"bold {palette.bad}"), (self.problem, palette.strong))
            if self.found is not None:
                text.append("\nBelow still stands the last answer.", style=palette.dim)
        pane.update(text or Text("Working it out …", style=palette.dim))

    def on_mount(self) -> None:
        super().on_mount()
        values, question, answer = self.planner.last_answers.get(self.MODE, (None, None, None))
        if values == self.planner.values:
            self.answered, self.found = question, answer
        self.ask()

    def ask(self) -> None:
        self._waiting = True
        question, values = self.question, dict(self.planner.values)

        def work() -> None:
            try:
                told = Told(values, question, self.work_out(values, question), "")
            except PlannerError as error:
                told = Told(values, question, None, str(error))
            self.post_message(told)

        self.planner.in_thread(work, self.MODE)

    def change(self, question: Question) -> None:
        """Ask this once nothing newer has come for a moment."""
        self.keep(question)
        self.set_timer(REST_S, lambda: self.ask() if question == self.question else None)

    def on_told(self, message: Told) -> None:
        if message.question == self.question:
            self._waiting, self.problem = False, message.problem
            if not message.problem:
                self.answered, self.found = message.question, message.answer
                self.planner.last_answers[self.MODE] = (message.values, message.question, message.answer)
            self.refresh_content()

    def prices_changed(self) -> None:
        self.ask()

    def action_own_command(self) -> None:
        """The tab's question as a command line, shown and copied; not of one that has no answer."""
        if self.problem:
            text = Text(self.problem, style=self.planner.palette.bad)
            self.app.push_screen(TextDialog("No command line yet", text, "y"))
            return
        try:
            words = shlex.split(command_line(self.planner.values))
        except InputError as error:
            self.problem = str(error)
            self.refresh_content()
            return
        line = shlex.join(["gpuplanner", self.COMMAND, *words[2:], *self.flags()])
        self.app.copy_to_clipboard(line)
        text = command_text(line, True, self.planner.palette)
        self.app.push_screen(TextDialog("The same question as a command line", text, "y"))
