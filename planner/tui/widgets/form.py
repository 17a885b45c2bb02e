"""The experiment form: every keystroke asks again."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static

from planner.errors import UnknownNameError
from planner.tui.asked import Values
from planner.tui.messages import FormChanged
from planner.tui.theme import Palette
from planner.tui.widgets.completions import Completions
from planner.tui.widgets.field import FIELDS, FieldInput
from planner.workloads.catalog import find_model, names_a_file
from planner.workloads.record import MODEL_CONFIG

_LABEL_WIDTH = 10
_BESIDE_INPUTS = 10
"""Cells of the labels, and the one before a field's text."""


class ExperimentForm(VerticalScroll, can_focus=False):
    """Fields under their sections, then what they resolve to."""

    def __init__(self, values: Values, leave: Callable[[], None]) -> None:
        """``leave`` is what follows when a person is done with it."""
        super().__init__(id="form", classes="pane")
        self.border_title = "Experiment"
        self.border_subtitle = "f edit"
        self._leave = leave
        self._typed: set[str] = set()
        self._filled = values
        self._entries = [
            FieldInput(field, values.get(field.key, ""), self._stepped, self._tabbed, self._left) for field in FIELDS
        ]
        self._known = self.values
        self._painted: tuple[Palette, tuple[int, ...]] | None = None
        self._heights = (1,) * len(FIELDS)

    def compose(self) -> ComposeResult:
        with Horizontal(id="fields"):
            yield Static(id="labels")
            with Vertical(id="inputs"):
                section = ""
                for entry in self._entries:
                    entry.set_class(entry.field.section != section, "-section")
                    section = entry.field.section
                    yield entry
        yield Static(id="resolved")

    @property
    def values(self) -> dict[str, str]:
        """The texts that are not empty."""
        return {entry.field.key: entry.value for entry in self._entries if entry.value.strip()}

    def paint(self, palette: Palette) -> None:
        """The labels, in the colours of the theme, each at the first line of its field."""
        if self._painted == (palette, self._heights):
            return
        self._painted = (palette, self._heights)
        text, section = Text(), ""
        for field, height in zip(FIELDS, self._heights, strict=True):
            if field.section != section:
                text.append(f"\n{field.section}\n", style=f"bold {palette.strong}")
                section = field.section
            text.append(field.label + "\n" * height, style=palette.dim)
        text.rstrip()
        self.query_one("#labels", Static).update(text)

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        """Give each field as many lines as its text takes; most have one."""
        width = self.content_size.width - _BESIDE_INPUTS
        if width <= 0:
            return
        heights = tuple(entry.lines_at(width) for entry in self._entries)
        if heights == self._heights:
            return
        self._heights = heights
        for entry, height in zip(self._entries, heights, strict=True):
            entry.styles.height = height
        if self._painted is not None:
            self.paint(self._painted[0])

    def fill(self, values: Values) -> None:
        """Put texts into the fields without asking."""
        with self.prevent(Input.Changed):
            for entry in self._entries:
                entry.value = values.get(entry.field.key, "")
        self._filled, self._known = values, self.values
        self._fit()

    def show_resolved(self, empties: dict[str, str], facts: Iterable[tuple[str, str]], palette: Palette) -> None:
        """``empties`` are what empty fields came to; ``facts`` the lines under "Resolves to"."""
        for entry in self._entries:
            entry.placeholder = empties.get(entry.field.key, entry.field.empty)
        text = Text.assemble(("Resolves to\n", f"bold {palette.strong}"))
        for label, value in facts:
            text.append(f"{label:<{_LABEL_WIDTH}}", style=palette.dim).append(f"{value}\n", style=palette.text)
        self.query_one("#resolved", Static).update(text, layout=False)

    def mark_invalid(self, keys: Collection[str]) -> None:
        """Mark the fields whose texts cannot be used, and no others."""
        for entry in self._entries:
            entry.set_class(entry.field.key in keys, "-invalid")

    def focus_first(self) -> None:
        """At once: what is typed next is meant for the form."""
        self.screen.set_focus(self._entries[0])

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if not isinstance(event.input, FieldInput) or self.values == self._known:
            return  # a field says that it changed also when it is first filled
        self._fit()
        key = event.input.field.key
        if key == "model":
            self._follow_model(event.input.value)  # keys may come faster than what they say
        else:
            self._typed.add(key)
        self._completions.offer(event.input)
        self._known = self.values
        self.post_message(FormChanged(self._known))

    @property
    def _completions(self) -> Completions:
        return self.screen.query_one(Completions)

    def _follow_model(self, name: str) -> None:
        """Another kind of model has another usual data set and recipe: let go of those that nobody typed."""
        usual = _usual_dataset(name)
        data = self.query_one("#field-dataset", FieldInput)
        if data.value and usual is not None and usual != data.value and not self._is_typed(data):
            epochs = self.query_one("#field-epochs", FieldInput)
            with self.prevent(Input.Changed):
                data.value = ""
                if not self._is_typed(epochs):
                    epochs.value = ""

    def _is_typed(self, entry: FieldInput) -> bool:
        """Whether a person wrote its text, though what it says of that may still be on its way."""
        key = entry.field.key
        return key in self._typed or entry.value != self._filled.get(key, "")

    def _stepped(self, field: FieldInput, by: int) -> None:
        if self._completions.is_open:
            self._completions.move(by)
            return
        entries = self._entries
        self.screen.set_focus(entries[(entries.index(field) + by) % len(entries)])

    def _tabbed(self, field: FieldInput, by: int) -> None:
        """Tab passes by the completions, and goes out of the form at its ends."""
        target = self._entries.index(field) + by
        if 0 <= target < len(self._entries):
            self.screen.set_focus(self._entries[target])
        else:
            self._leave()

    def _left(self) -> None:
        if self._completions.is_open:
            self._completions.close()
        else:
            self._leave()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Enter takes the completion; where there is none, the question is settled: back to the table."""
        event.stop()
        if self._completions.is_open:
            self._completions.take()
        else:
            self._leave()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._completions.close()


def _usual_dataset(name: str) -> str | None:
    """That of a model of the zoo; '' of a file of one's own, which may have another; None where nothing is known."""
    if names_a_file(name):
        path = os.path.expanduser(name)
        there = os.path.isfile(path) or os.path.isfile(os.path.join(path, MODEL_CONFIG))
        return "" if there else None
    try:
        return find_model(name).default_dataset
    except UnknownNameError:
        return None
