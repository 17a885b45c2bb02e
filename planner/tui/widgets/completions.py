"""The list under a field: names that go on from what was typed."""

from __future__ import annotations

import os
from contextlib import suppress

from textual import on
from textual.widgets import OptionList

from planner.tui.widgets.field import FieldInput

_MOST = 8
_MODEL_ENDS = (".json", ".onnx")


class Completions(OptionList, can_focus=False):
    """Opens while a field that knows names is typed into; Enter or a click takes the chosen one."""

    def __init__(self) -> None:
        super().__init__(id="completions", compact=True)
        self._field: FieldInput | None = None

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def offer(self, field: FieldInput) -> None:
        """Show what goes on from the field's text; nothing where it is a name already, or none goes on."""
        names = matching(field.value, field.field.names() if field.field.names else ())
        if field.field.key == "model":
            names = [*own_files(field.value), *names][:_MOST]
        if not names or not field.has_focus:
            self.close()
            return
        self._field = field
        self.clear_options()
        self.add_options(names)
        self.highlighted = 0
        region = field.region
        below = region.y + 1 + len(names) <= self.screen.size.height
        self.styles.offset = (region.x, region.y + 1 if below else max(region.y - len(names), 0))
        self.add_class("-open")

    def move(self, by: int) -> None:
        self.highlighted = ((self.highlighted or 0) + by) % self.option_count

    def close(self) -> None:
        self._field = None
        self.remove_class("-open")

    def take(self) -> None:
        """Put the chosen name into the field."""
        if self._field is None or self.highlighted is None:
            return
        field, name = self._field, str(self.get_option_at_index(self.highlighted).prompt)
        self.close()
        field.value = name
        field.cursor_position = len(name)
        if name.endswith(os.sep):
            self.offer(field)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.highlighted = event.option_index
        self.take()


def matching(typed: str, names: tuple[str, ...]) -> list[str]:
    """Names that begin with what was typed, short ones first, then those that contain it.

    None for a text that is a name already.
    """
    wanted = typed.strip().casefold()
    if not wanted or wanted in (name.casefold() for name in names):
        return []
    begins = sorted((name for name in names if name.casefold().startswith(wanted)), key=lambda name: (len(name), name))
    contains = [name for name in names if wanted in name.casefold() and name not in begins]
    return [*begins, *contains][:_MOST]


def own_files(typed: str) -> list[str]:
    """Model files and folders whose paths go on from what was typed; none for a path that is whole.

    A bare text goes on to files of this folder, never to a folder: most of those are no models.
    """
    before, name = os.path.split(typed)
    if not name.strip() and not before:
        return []
    found = []
    with suppress(OSError, ValueError), os.scandir(os.path.expanduser(before) or ".") as entries:
        for entry in entries:
            if not entry.name.startswith(name) or entry.name == name or (entry.name.startswith(".") and not name):
                continue
            path = os.path.join(before, entry.name)
            if entry.name.lower().endswith(_MODEL_ENDS) and entry.is_file():
                found.append(path)
            elif before and entry.is_dir():
                found.append(f"{path}{os.sep}")
    return sorted(found)[:_MOST]
