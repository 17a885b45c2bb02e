"""Every command of the app, once: key bindings, footer, palette and help are made from these."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual.binding import Binding, BindingType

from planner.tui.panes import PANES


class Command(NamedTuple):
    """``group`` is the palette's prefix; ``word`` what the footer says ('' never there); ``key`` '' has no key.

    ``keys`` is what the footer shows for two keys that go together: '← →'.
    """

    group: str
    title: str
    key: str
    action: str
    word: str = ""
    keys: str = ""

    @property
    def shown_key(self) -> str:
        names = {
            "enter": "Enter", "escape": "Esc", "slash": "/", "question_mark": "?", "space": "Space", "f1": "F1",
            "left": "←", "right": "→", "up": "↑", "down": "↓",
        }  # fmt: skip
        return names.get(self.key, self.key)


EVERYWHERE = (
    *(
        Command("Go", f"{pane.title}, {pane.about}", str(number), f"app.go('{pane.mode}')")
        for number, pane in enumerate(PANES, start=1)
    ),
    Command("Go", "to a pane by its letter", "ctrl+o", "app.jump"),
    Command("Go", "back to a question asked before", "l", "app.recent"),
    Command("Show", "the same question as a command line, and copy it", "y", "app.command_line", "Command"),
    Command("Show", "the answer in full, what was assumed, and warnings", "a", "app.assumptions"),
    Command("Show", "all keys of this screen", "question_mark", "app.keys", "Help"),
    Command("Show", "help for the focused pane", "f1", "app.help_focused"),
    Command("Theme", "change between dark and light", "ctrl+t", "app.other_theme"),
    Command("Quit", "leave the app", "ctrl+q", "app.quit"),
)
PLAN = (
    Command("Relax", "the deadline, as far as it takes", "d", "screen.relax('deadline')", "Deadline"),
    Command("Relax", "the budget, as far as it takes", "b", "screen.relax('budget')", "Budget"),
    Command("Relax", "the experiment, in the way named first: it fits", "t", "screen.make_fit(0)", "Make it fit"),
    Command("Relax", "the experiment, in the way named second", "T", "screen.make_fit(1)"),
    Command("Relax", "the experiment, in the way named third", "", "screen.make_fit(2)"),
    Command("Plan", "why this row", "enter", "screen.why", "Why"),
    Command("Plan", "edit the experiment", "f", "screen.form", "Form"),
    Command("Plan", "filter the rows", "slash", "screen.filter", "Filter"),
    Command("Plan", "sort by the next column", "s", "screen.sort", "Sort"),
    Command("Plan", "turn the order round", "S", "screen.backwards"),
    Command("Plan", "divide by GPU, provider or place", "g", "screen.group"),
    Command("Plan", "pin this row to the top, or let it go", "p", "screen.pin"),
    Command("Plan", "compare the pinned rows side by side", "v", "screen.compare"),
    Command("Plan", "the chart on the whole screen", "c", "screen.chart", "Chart"),
    Command("Plan", "a file that launches this row", "x", "app.export", "Export"),
    Command("Plan", "rows that have no rank, and why", "u", "screen.unranked"),
    Command("Plan", "ask again, now", "ctrl+r", "app.ask_again"),
    Command("Plan", "the recommended row", "r", "screen.recommended"),
    Command("Plan", "start over with the first question", "", "app.start_over"),
    Command("Plan", "take back what a key changed last", "z", "screen.take_back", "Take back"),
    Command("Plan", "the largest batch that fits this row's machine", "B", "screen.largest_batch"),
    *(
        Command("Sort", f"by {name}", "", f"screen.sort_by('{sort}')")
        for name, sort in (
            ("value", "value"),
            ("time", "time"),
            ("width of the interval", "spread"),
            ("cost", "cost"),
            ("price of an hour", "hourly"),
            ("machine", "machine"),
            ("place", "where"),
            ("GPUs", "gpus"),
            ("way to buy", "buy"),
            ("what binds", "binds"),
            ("evidence", "evidence"),
        )
    ),
    *(
        Command("Places", f"only {place}", "", f"screen.only('{place}')")
        for place in ("laptop", "workstation", "cluster", "cloud")
    ),
    Command("Places", "all", "", "screen.only('')"),
    Command("Places", "one after the other, then all", "w", "screen.next_place"),
    *(
        Command("Places", f"show or hide {place}", "", f"screen.toggle_place('{place}')")
        for place in ("laptop", "workstation", "cluster", "cloud")
    ),
)
WHY = (
    Command("Why", "back to the plan", "escape", "app.go('plan')", "Plan"),
    Command("Why", "the next row", "n", "screen.step(1)", "Next rank"),
    Command("Why", "the row before", "N", "screen.step(-1)"),
    Command("Why", "try this lever: it goes into the form", "space", "screen.try_lever", "Try lever"),
    Command("Why", "take back what a key changed last", "z", "screen.take_back", "Take back"),
    Command("Why", "a file that launches this row", "x", "app.export", "Export"),
)
PRICES = (
    Command("Prices", "stop the refresh, or back to the plan", "escape", "screen.stop_or_leave"),
    Command("Prices", "read the providers' prices now", "r", "screen.refresh", "Refresh"),
    Command("Prices", "try again what failed", "R", "screen.retry", "Retry failed"),
    Command("Prices", "filter the offers", "slash", "screen.filter", "Filter"),
    Command("Prices", "sort by the next column", "s", "screen.sort", "Sort"),
    Command("Prices", "what is kept apart, in full", "q", "screen.quarantine", "Quarantine"),
    Command("Prices", "show or hide machines without accelerators", "c", "screen.cpu_too"),
    Command("Prices", "show or hide what is retired, unsold or too old", "o", "screen.past_too"),
)
MACHINE = (
    Command("Machine", "stop the profile, or back to the plan", "escape", "screen.stop_or_leave", "Plan"),
    Command("Machine", "measure this machine now, in half a minute", "p", "screen.profile", "Profile"),
    Command("Machine", "edit your own machines in your editor", "e", "screen.edit_machines", "Edit"),
    Command("Machine", "look again", "r", "screen.look", "Look again"),
)


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    return [Binding(command.key, command.action, command.title, show=False) for command in commands if command.key]


def with_everywhere(commands: Sequence[Command]) -> list[Command]:
    """A screen's commands, then those of everywhere but the ones whose key means something else there."""
    taken = {command.key for command in commands if command.key}
    return [*commands, *(command for command in EVERYWHERE if command.key not in taken)]


def footer(commands: Sequence[Command], left_out: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """(key, word, action) of the commands that have a word, then those of everywhere."""
    return [
        (command.keys or command.shown_key, command.word, command.action)
        for command in with_everywhere(commands)
        if command.word and command.word not in left_out
    ]
