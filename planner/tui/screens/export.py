"""The file that launches a row, to read, to copy and to write, for one launcher after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from planner.errors import PlannerError
from planner.handoff.formats import FILE_NAMES
from planner.handoff.launch import EDIT
from planner.tui.theme import Palette

LAUNCHERS: Sequence[str] = tuple(FILE_NAMES)


class ExportScreen(ModalScreen[None]):
    """``write`` gives the text for a launcher, or raises PlannerError with the reason why there is none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, "dismiss", show=False) for key in ("escape", "q", "x")),
        *(Binding(key, "next", show=False) for key in ("tab", "right", "space")),
        Binding("left", "before", show=False),
        Binding("w", "write", show=False),
        Binding("y", "copy", show=False),
    ]

    def __init__(self, title: str, write: Callable[[str], str], palette: Palette, folder: Path | None = None) -> None:
        super().__init__()
        self._title, self._write, self._palette = title, write, palette
        self._folder = folder or Path.cwd()
        self._chosen = 0
        self._said = ""

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="pane dialog") as pane:
            pane.border_subtitle = "← → launcher · w write the file · y copy · Esc closes"
            yield Static()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
        self._show()

    @property
    def launcher(self) -> str:
        return LAUNCHERS[self._chosen]

    def text(self) -> str:
        """The file of the launcher shown. Raises PlannerError."""
        return self._write(self.launcher)

    def _show(self) -> None:
        palette = self._palette
        self.query_one(VerticalScroll).border_title = f"Export {self._title}"
        tabs = Text()
        for name in LAUNCHERS:
            on = name == self.launcher
            tabs.append(f"▸ {name}  " if on else f"  {name}  ", style=f"bold {palette.strong}" if on else palette.dim)
        try:
            body = _marked(self.text(), palette)
        except PlannerError as error:
            body = Text(str(error), style=palette.bad)
        said = Text(self._said, style=palette.good)
        self.query_one(Static).update(Text("\n").join([tabs, said, body]))

    def action_next(self) -> None:
        self._turn(1)

    def action_before(self) -> None:
        self._turn(-1)

    def _turn(self, by: int) -> None:
        self._chosen, self._said = (self._chosen + by) % len(LAUNCHERS), ""
        self._show()

    def action_write(self) -> None:
        """Write the file into the working directory, where none of that name is."""
        path = self._folder / FILE_NAMES[self.launcher]
        try:
            text = self.text()
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
            self._said = f"wrote {path}"
        except PlannerError:
            self._said = ""  # the reason stands where the file would
        except FileExistsError:
            self._said = f"{path} is there already: move it away first"
        except OSError as error:
            self._said = f"cannot write {path}: {error.strerror or error}"
        self._show()

    def action_copy(self) -> None:
        try:
            self.app.copy_to_clipboard(self.text())
        except PlannerError:
            return
        self._said = "copied"
        self._show()


def _marked(text: str, palette: Palette) -> Text:
    """Comments dim, and what is left to do in amber."""
    lines = []
    for line in text.splitlines():
        style = palette.dim if line.startswith("#") else palette.text
        before, mark, behind = line.partition(EDIT)
        lines.append(Text(before, style=style).append(mark + behind, style=palette.warn))
    return Text("\n").join(lines)
