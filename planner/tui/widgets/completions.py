"""The list under a field: names that go on from what was typed."""

from __future__ import annotations

from textual import on
from textual.widgets import OptionList

from planner.tui.widgets.field import FieldInput

_MOST = 8


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
