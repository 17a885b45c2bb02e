"""Rows beside each other, one a column, fact by fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from rich.text import Text

from planner.plan.plan import Estimate
from planner.plan.words import EVIDENCE_MARKS, EVIDENCE_WORDS, gpus_words, machine_name, where_words
from planner.tui.amounts import bought_words
from planner.tui.clock import moment
from planner.tui.drawing import fitted
from planner.tui.theme import Palette
from planner.tui.widgets.why_pane import milliseconds
from planner.units import GIB, UNKNOWN, Interval, format_duration, format_money, format_rate, format_span

_LABEL = 11
LEAST_COLUMN = 15


def comparison_text(rows: Sequence[Estimate], now: datetime, palette: Palette, width: int) -> Text:
    """As many of the rows as ``width`` has columns for; the best time and the best cost are in the colour of good."""
    shown = rows[: max((width - _LABEL) // LEAST_COLUMN, 1)]
    cells = (width - _LABEL) // max(len(shown), 1)
    best = {"time": _least(shown, lambda row: row.time_s), "cost": _least(shown, lambda row: row.cost_usd)}
    lines = []
    for label, value in _facts(now):
        line = Text(f"{label:<{_LABEL}}", style=palette.dim)
        for row in shown:
            color = palette.good if row is best.get(label) else palette.strong if label == "machine" else palette.text
            line.append(f"{fitted(value(row), cells - 1):<{cells}}", style=color)
        lines.append(line)
    if len(shown) < len(rows):
        lines.append(Text(f"{len(rows) - len(shown)} more have no room at this width", style=palette.warn))
    return Text("\n").join(lines)


def _facts(now: datetime) -> list[tuple[str, Callable[[Estimate], str]]]:
    return [
        ("machine", lambda row: machine_name(row)),
        ("where", lambda row: where_words(row)),
        ("GPUs", lambda row: gpus_words(row)),
        ("bought", bought_words),
        ("time", lambda row: format_duration(row.time_s.p50 if row.time_s else None)),
        ("P10–P90", lambda row: _span(row.time_s, format_duration)),
        ("done by", lambda row: moment(row.finish_at, now)),
        ("cost", lambda row: format_money(row.cost_usd.p50 if row.cost_usd else None)),
        ("P10–P90", lambda row: _span(row.cost_usd, format_money)),
        ("$/h", lambda row: format_money(row.usd_per_hour)),
        ("step, ms", lambda row: UNKNOWN if row.step_time_s is None else milliseconds(row.step_time_s.p50)),
        ("samples/s", lambda row: format_rate(row.samples_per_s.p50 if row.samples_per_s else None)),
        ("batch", lambda row: f"{row.batch_size_per_gpu or UNKNOWN} per GPU"),
        ("memory", lambda row: _memory(row)),
        ("binds", lambda row: row.bound_by or UNKNOWN),
        ("evidence", lambda row: f"{EVIDENCE_MARKS.get(row.evidence or '', UNKNOWN)} {_evidence(row)}"),
    ]


def _evidence(row: Estimate) -> str:
    return EVIDENCE_WORDS.get(row.evidence or "", "")


def _span(value: Interval | None, written: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else format_span(value, written)


def _memory(row: Estimate) -> str:
    amounts = (row.memory_required_bytes, row.memory_available_bytes)
    needed, there = (UNKNOWN if amount is None else f"{amount / GIB:.1f}" for amount in amounts)
    return f"{needed} of {there} GiB"


def _least(rows: Sequence[Estimate], value: Callable[[Estimate], Interval | None]) -> Estimate | None:
    known = [(found.p50, index) for index, row in enumerate(rows) if (found := value(row)) is not None]
    return rows[min(known)[1]] if known else None
