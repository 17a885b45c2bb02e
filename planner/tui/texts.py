"""The texts of the dialogs: keys, assumptions, what has no rank, the command line."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from planner.plan.plan import Plan
from planner.plan.words import machine_name
from planner.tui.commands import Command
from planner.tui.theme import Palette


def keys_text(commands: Iterable[Command], palette: Palette) -> Text:
    """Keys grouped as in the palette; commands without a key are named as found there."""
    text, group = Text(), ""
    keyed = [command for command in commands if command.key]
    for command in keyed:
        if command.group != group:
            text.append(f"{'' if not group else chr(10)}{command.group}\n", style=f"bold {palette.strong}")
            group = command.group
        text.append(f"  {command.shown_key:<9}", style=f"bold {palette.text}")
        text.append(f"{command.title}\n", style=palette.dim)
    return text.append("\n  ctrl+p   the palette: all commands, also those without a key", style=palette.dim)


def assumptions_text(plan: Plan, palette: Palette) -> Text:
    text = Text()
    for title, sentences, style in (
        ("Warnings", plan.warnings, palette.warn),
        ("Assumed", plan.assumptions, palette.text),
    ):
        if sentences:
            text.append(f"{title}\n", style=f"bold {palette.strong}")
            for sentence in sentences:
                text.append("· ", style=palette.faint).append(f"{sentence}\n", style=style)
            text.append("\n")
    text.rstrip()
    return text


def unranked_text(plan: Plan, palette: Palette) -> Text:
    """Reasons, those of most machines first, each with its machines."""
    by_reason: dict[str, list[str]] = {}
    for row in plan.unranked:
        by_reason.setdefault(row.reason, []).append(machine_name(row))
    if not by_reason:
        return Text("Every row has a rank.", style=palette.dim)
    text = Text()
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        text.append(f"{len(names):>4}  ", style=f"bold {palette.strong}").append(f"{reason}\n", style=palette.text)
        text.append(f"      {', '.join(names)}\n", style=palette.dim)
    text.rstrip()
    return text


def command_text(line: str, copied: bool, palette: Palette) -> Text:
    text = Text.assemble((f"{line}\n\n", f"bold {palette.strong}"))
    note = "It asks the same question and gives the same first row."
    return text.append(
        f"{note} Copied to the clipboard, where the terminal allows it." if copied else note, palette.dim
    )
