"""The texts of the dialogs (keys, assumptions, what has no rank, the command line), and of the prices' age."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from planner.plan.plan import Plan
from planner.plan.words import machine_name
from planner.tui.clock import age, day
from planner.tui.commands import Command
from planner.tui.core import Prices, Ranked
from planner.tui.form_words import in_form
from planner.tui.refresh_control import RefreshControl
from planner.tui.theme import Palette
from planner.tui.ways import way_lines
from pricing.age import age_days

_MOST_NAMES = 30
_WAYS = "Ways out: a key takes one, z takes it back"


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


def assumptions_text(ranked: Ranked, palette: Palette, *, outdated: str = "") -> Text:
    """The answer in full, the ways to another with their keys, what it passes over, and what it rests on.

    ``outdated`` is why it is not that to the form as it stands.
    """
    text, plan = Text(), ranked.plan
    for title, sentences, style in (
        ("The last answer, not that to the form as it stands", [outdated] if outdated else [], palette.bad),
        ("Answer", _answer_sentences(plan), palette.text),
        (_WAYS, way_lines(ranked, palette), palette.text),
        ("Warnings", plan.warnings, palette.warn),
        ("Assumed", plan.assumptions, palette.text),
    ):
        if not sentences:
            continue
        text.append(f"{title}\n", style=f"bold {palette.strong}")
        for sentence in sentences:
            if isinstance(sentence, Text):
                text.append_text(sentence).append("\n")
            else:
                text.append("· ", style=palette.faint).append(f"{in_form(sentence)}\n", style=style)
        text.append("\n")
    text.rstrip()
    return text


def _answer_sentences(plan: Plan) -> list[str]:
    chosen = plan.recommendation
    if chosen is None:
        return [plan.no_recommendation] if plan.no_recommendation else []
    sentences = [chosen.sentence, *(f"Mind: {hint}." for hint in chosen.estimate.hints)]
    if chosen.passed_over:
        sentences.insert(1, f"Passed over: {chosen.passed_over}.")
    return [*sentences, *([plan.tier] if plan.tier else [])]


def unranked_text(plan: Plan, palette: Palette) -> Text:
    """Reasons, those of most machines first, each with its machines."""
    by_reason: dict[str, list[str]] = {}
    for row in plan.unranked:
        by_reason.setdefault(in_form(row.reason), []).append(machine_name(row))
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


def quarantine_text(prices: Prices, palette: Palette) -> Text:
    """Reasons, those of most rows first, each with its offers."""
    by_reason: dict[str, list[str]] = {}
    for row in prices.quarantined:
        offer = row.offer
        by_reason.setdefault(row.reason, []).append(f"{offer.provider} {offer.instance_type} {offer.price}")
    text = Text()
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        text.append(f"{len(names):>4}  ", style=f"bold {palette.strong}").append(f"{reason}\n", style=palette.text)
        more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        text.append(f"      {', '.join(names[:_MOST_NAMES])}{more}\n", style=palette.dim)
    text.rstrip()
    return text or Text("Nothing is kept apart.", style=palette.dim)


def _refresh_mark(control: RefreshControl, palette: Palette) -> tuple[Text, str]:
    """'● live', '○ offline', '✗ refresh failed' or '✗ last refresh failed'; and what a running refresh is at."""
    state = control.state
    if control.busy:
        done = f"{sum(one.share >= 1 for one in state.providers())} of {len(state.providers())}" if state else ""
        mark = Text("● ", style=palette.good).append("live", style=palette.text)
        return mark, f"refreshing {done}".rstrip()
    if state is not None and (state.problem or state.failures):
        return Text("✗ ", style=palette.bad).append("refresh failed", style=palette.text), ""
    if state is not None and state.summary is not None:
        return Text("● ", style=palette.good).append("live", style=palette.text), ""
    if state is None and control.failed_before:
        return Text("✗ ", style=palette.bad).append("last refresh failed", style=palette.text), ""
    return Text("○ ", style=palette.warn).append("offline", style=palette.text), ""


def price_text(
    control: RefreshControl, ranked: Ranked | None, palette: Palette, *, answered: bool
) -> tuple[Text, Text]:
    """Where the prices come from and how old the oldest one shown is: in full, and short.

    ``answered`` where the question was answered, even if with a problem and no rows.
    """
    mark, doing = _refresh_mark(control, palette)
    if doing:
        return mark.copy().append(f"  {doing}", style=palette.dim), mark
    if ranked is None or ranked.plan.prices_as_of is None:
        note = "no cloud price shown" if ranked is not None or answered else "reading prices"
        return mark.copy().append(f"  {note}", style=palette.dim), mark
    seen = ranked.plan.prices_as_of
    days = age_days(seen, ranked.plan.generated_at.date())
    full = mark.copy().append("  prices from ", style=palette.dim).append(day(seen), style=palette.text)
    short = mark.copy().append(f" {day(seen)}", style=palette.dim)
    return full.append(f", {age(days)}{' old' if days > 0 else ''}", style=palette.dim), short
