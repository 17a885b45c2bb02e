"""The pane of the Machine tab that shows a profile while it is made, and what it changed."""

from __future__ import annotations

from rich.text import Text

from planner.plan.plan import Estimate
from planner.plan.words import EVIDENCE_WORDS
from planner.tui.drawing import bar, fitted
from planner.tui.profile_control import ProfileControl
from planner.tui.theme import Palette
from planner.units import UNKNOWN, format_duration, format_money, format_rate

_LABEL = 11
_LEAST_VALUE = 24
_BAR = 30
_DONE = 8
"""Of the measurements that are done, so many of the last ones are shown."""


def profile_text(control: ProfileControl, now: Estimate | None, words: str, palette: Palette, width: int) -> Text:
    """Progress while it runs; else what is known, and this machine's row before and after."""
    if control.busy:
        return _progress(control, palette, width)
    text = Text()
    if control.problem:
        text.append(f"{control.problem}\n", style=palette.bad)
    elif control.stopped:
        text.append("Stopped: what was measured until then is kept.\n", style=palette.warn)
    elif control.note:
        text.append(f"{control.note}\n", style=palette.warn)
    text.append(f"{words}\n", style=palette.text if words else palette.dim)
    if control.before is not None and now is not None and control.step is not None:
        text.append_text(_before_and_after(control.before, now, palette, width))
    return text


def _progress(control: ProfileControl, palette: Palette, width: int) -> Text:
    if control.step is None:
        return Text("Starting PyTorch …", style=palette.dim)
    _, done, total = control.step
    text = bar(done / total if total else 0.0, min(_BAR, width // 2), palette.text, palette.border)
    text.append(f" {done} of {total}" if total else f" {done}", style=palette.text)
    text.append(f"  at most {format_duration(control.left_s)} left\n", style=palette.dim)
    for name in control.measured[-_DONE:]:
        text.append("✓ ", style=palette.good).append(f"{fitted(name, width - 2)}\n", style=palette.dim)
    return text


def _before_and_after(before: Estimate, after: Estimate, palette: Palette, width: int) -> Text:
    cells = max((width - _LABEL) // 2, _LEAST_VALUE)
    text = Text(f"\n{'':<{_LABEL}}{'before':<{cells}}after\n", style=palette.dim)
    for label, old, new in zip(
        ("time", "cost", "samples/s", "rank", "evidence"), _row(before), _row(after), strict=True
    ):
        text.append(f"{label:<{_LABEL}}", style=palette.dim).append(f"{old:<{cells}}", style=palette.text)
        text.append(f"{new}\n", style=palette.text if old == new else f"bold {palette.strong}")
    return text


def _row(row: Estimate) -> tuple[str, str, str, str, str]:
    time_s, cost, rate = row.time_s, row.cost_usd, row.samples_per_s
    return (
        format_duration(time_s.p50 if time_s else None)
        + (f" ({format_duration(time_s.p10)}–{format_duration(time_s.p90)})" if time_s else ""),
        format_money(cost.p50 if cost else None),
        format_rate(rate.p50 if rate else None),
        UNKNOWN if row.rank is None else f"{row.rank}",
        EVIDENCE_WORDS.get(row.evidence or "", UNKNOWN),
    )
