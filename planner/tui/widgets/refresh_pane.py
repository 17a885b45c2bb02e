"""What a refresh is doing, what failed, and when each provider was read last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from planner.tui.clock import day
from planner.tui.drawing import bar, fitted
from planner.tui.refresh_control import RefreshControl
from planner.tui.refreshing import ProviderState, RefreshState
from planner.tui.theme import Palette
from planner.units import format_bytes, format_duration
from pricing.store import Reading

_NAME = 9


def refresh_title(control: RefreshControl) -> str:
    if control.busy:
        return "Refreshing"
    state = control.state
    return "Refresh" if state is None else "Refresh stopped" if state.stopped else "Refreshed"


def refresh_text(control: RefreshControl, readings: Sequence[Reading], palette: Palette, width: int) -> Text:
    """Progress by provider while one runs; else how the last one went, or what one would do."""
    if control.asks_bytes:
        text = Text(f"{format_bytes(control.asks_bytes)} would be read.\n", style=palette.warn)
        return text.append("r reads them, Esc leaves them", style=palette.dim)
    if control.state is None:
        return Text("asking the providers …", style=palette.dim) if control.busy else _last(readings, palette, width)
    if control.state.problem:
        return Text(f"✗ {control.state.problem}\n", style=palette.bad).append("R tries again", style=palette.dim)
    lines = [line for one in control.state.providers() for line in _provider(one, palette, width)]
    return Text("\n").join([*lines, _whole(control.state, palette, width)])


def _provider(one: ProviderState, palette: Palette, width: int) -> list[Text]:
    """'▸ azure  ━━━━━──── 12/30' and, under it, what is being read, or what it came to."""
    done = one.finished == one.sources
    mark, ink = ("✗", palette.bad) if one.failed else ("✓", palette.good) if done else ("·", palette.faint)
    if not done and one.share > 0:
        mark, ink = "▸", palette.text
    line = Text(f"{mark} ", style=ink).append(f"{one.provider:<{_NAME}}", style=palette.text)
    cells = max(width - _NAME - 12, 4)
    color = palette.bad if one.failed else palette.good if done else palette.text
    line.append_text(bar(one.share, cells, color, palette.border))
    line.append(f"{f'{one.finished}/{one.sources}':>9}", style=palette.dim)
    if one.failed:
        note = f"{one.failed} of {one.sources} failed" if one.failed < one.sources else "failed"
    elif done:
        note = f"{one.prices:,} prices" if one.prices else "read"
    else:
        note = one.doing or "waiting"
    return [line, Text(f"  {fitted(note, width - 2)}", style=palette.bad if one.failed else palette.dim)]


def _whole(state: RefreshState, palette: Palette, width: int) -> Text:
    if state.summary is not None:
        moved = sum(bool(change.old_price) for change in state.summary.changes)
        new = len(state.summary.changes) - moved
        return Text(f"prices changed: {moved:,}, new: {new:,}", style=palette.text)
    if state.stopped:
        return Text("stopped; what was read is kept", style=palette.warn)
    left = state.left_s
    words = "just begun" if left is None else f"about {format_duration(max(left, 1.0))} left"
    text = Text.assemble((f"{state.share:>4.0%} ".replace("%", " %"), f"bold {palette.strong}"))
    text.append_text(bar(state.share, max(width - len(words) - 10, 4), palette.text, palette.border))
    return text.append(f"  {words}", style=palette.text)


def _last(readings: Sequence[Reading], palette: Palette, width: int) -> Text:
    """When each provider was read here last, and which of its last tries failed."""
    if not readings:
        text = Text("Never refreshed on this machine.\n", style=palette.text)
        text.append("r", style=f"bold {palette.strong}").append(" reads AWS and Azure, which need no\n", palette.dim)
        return text.append("account, and Google Cloud with a key.", style=palette.dim)
    lines = []
    for provider, of_provider in _by_provider(readings).items():
        read = max((reading.read_at for reading in of_provider), default="")
        failed = sum(bool(reading.problem) for reading in of_provider)
        line = Text(f"{provider:<{_NAME + 2}}", style=palette.text)
        line.append(f"read {day(read[:10] or None)}", style=palette.dim)
        if failed:
            line.append(f", {failed} of {len(of_provider)} failed", style=palette.bad)
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    return Text("\n").join(lines)


def _by_provider(readings: Iterable[Reading]) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {}
    for reading in readings:
        found.setdefault(reading.provider, []).append(reading)
    return found


def failures_of(state: RefreshState | None, readings: Sequence[Reading]) -> list[tuple[str, str]]:
    """(source, problem) of the last refresh; before one, of the last try of each feed."""
    if state is not None:
        return [(outcome.source, outcome.problem) for outcome in state.failures]
    return [(f"{one.feed} {one.region}".strip(), one.problem) for one in readings if one.problem]


def failures_text(failures: Sequence[tuple[str, str]], palette: Palette) -> Text:
    """A sentence for each reason, what was meant by it, and the keys."""
    by_problem: dict[str, list[str]] = {}
    for source, problem in failures:
        by_problem.setdefault(problem, []).append(source)
    text = Text()
    for problem, sources in by_problem.items():
        more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
        text.append(f"{sources[0]}{more} could not be read.\n", style=palette.bad)
        text.append(f"{problem}\n", style=palette.dim)
    text.append("What was known stays in use.\n", style=palette.text)
    return text.append("R", style=f"bold {palette.strong}").append(" tries them again", style=palette.dim)
