"""Why the row under the cursor takes that long and costs that much."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from planner.plan.plan import Estimate
from planner.plan.words import EVIDENCE_MARKS, EVIDENCE_WORDS, machine_name, where_words
from planner.throughput.levers import Lever
from planner.tui.clock import day
from planner.tui.drawing import bar, stacked_bar
from planner.tui.form_words import in_form
from planner.tui.theme import Palette
from planner.tui.widgets.painted import Painted
from planner.units import GIB, UNKNOWN, format_duration, format_money, format_rate, format_span

_LABEL = 9
_SHORT = {"forward": "fwd", "backward": "bwd", "optimizer": "opt", "communication": "comm"}
_PARTS = {"training": "train", "data download": "data", "evaluation": "evaluate", "provisioning": "set up"}
PORTED = {"xla": "its code must be ported to XLA", "neuron": "its code must be ported to Neuron"}


class WhyPane(Painted, Static):
    """Follows the table's cursor; the levers come a moment later."""

    def __init__(self) -> None:
        super().__init__(id="why", classes="pane empty")
        self.border_title = "Why"
        self.border_subtitle = "follows the cursor"
        self._row: Estimate | None = None
        self._levers: Sequence[Lever] | None = None
        self._palette: Palette | None = None

    def show(self, row: Estimate | None, palette: Palette, *, with_rank: bool) -> None:
        """``with_rank`` False: the row misses a limit and has no rank to speak of."""
        self._row, self._levers, self._palette = row, None, palette
        self.remove_class("empty")
        name = "" if row is None else f" · {machine_name(row)}"
        self.border_title = f"Why {row.rank}{name}" if row is not None and with_rank else f"Why{name}"
        self.paint()

    def show_levers(self, levers: Sequence[Lever]) -> None:
        self._levers = levers
        self.paint()

    def draw(self, width: int, height: int) -> None:
        if self._palette is None:
            return
        if self._row is None:
            self.update(Text("No row is chosen.", style=self._palette.dim), layout=False)
            return
        lines = why_lines(self._row, self._levers, self._palette, width, height)
        self.update(Text("\n").join(lines), layout=False)


def why_lines(row: Estimate, levers: Sequence[Lever] | None, palette: Palette, width: int, height: int) -> list[Text]:
    """At most ``height`` lines of ``width`` cells, the most important first."""
    if height <= 5:
        return [rates(row, palette), *_parts(row, palette, width), _short_facts(row, palette)][:height]
    lines = [rates(row, palette), *_parts(row, palette, width)]
    room = width - _LABEL
    facts = [
        ("binds", _binds(row, palette)),
        ("memory", _memory(row, palette, width)),
        ("time", _time(row, palette, room)),
        ("P10–P90", _interval(row, palette)),
        ("money", _money(row, palette, room)),
        ("price", _price(row, palette)),
        ("evidence", _evidence(row, palette)),
        ("levers", _levers(levers, palette, room)),
    ]
    caution = caution_words(row)
    if caution:
        facts.append(("mind", Text(caution, style=palette.warn)))
        if height < len(lines) + len(facts):  # the table says it, too
            facts = [fact for fact in facts if fact[0] != "evidence"]
    if height - len(lines) > len(facts):
        lines.append(Text())
    for label, value in facts:
        line = Text(f"{label:<{_LABEL}}", style=palette.dim).append_text(value)
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    return lines[:height]


def caution_words(row: Estimate) -> str:
    """What stands between the row and a run on it; '' where nothing does."""
    if row.hypothetical:
        return "nobody owns it yet"
    if "cost_incomplete" in row.flags:
        unknown = [part.name for part in row.cost_parts if part.usd is None]
        return f"what {' and '.join(unknown)} costs is not known"
    return in_form(row.hints[0]) if row.hints else ""


def rates(row: Estimate, palette: Palette) -> Text:
    """'173 ms a step  1,480 samples/s  22 % MFU'."""
    strong = f"bold {palette.strong}"
    step = row.step_time_s.p50 if row.step_time_s else None
    text = Text.assemble((UNKNOWN if step is None else milliseconds(step), strong)).append(" ms a step  ", palette.dim)
    text.append(format_rate(row.samples_per_s.p50 if row.samples_per_s else None), style=strong)
    text.append(" samples/s  ", style=palette.dim)
    text.append(UNKNOWN if row.mfu is None else f"{100 * row.mfu:.0f}", style=strong)
    return text.append(" % MFU", style=palette.dim)


def milliseconds(seconds: float) -> str:
    """'173', '9.8': three figures are enough."""
    value = seconds * 1000
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def named_parts(row: Estimate) -> list[tuple[str, float]]:
    """(part, seconds) of the step."""
    if row.step_parts is None:
        return []
    return [(name.removesuffix("_s"), seconds) for name, seconds in row.step_parts._asdict().items()]


def _parts(row: Estimate, palette: Palette, width: int) -> list[Text]:
    """The stacked bar and its legend, in short words and more lines where one line of full words has no room."""
    parts = named_parts(row)
    if not parts:
        return [Text(in_form(row.reason) or "Its step was not estimated.", style=palette.warn)]
    full = _legend(parts, palette, width, short=False)
    legend = full if len(full) == 1 else _legend(parts, palette, width, short=True)
    return [stacked_bar([(seconds, palette.parts[name]) for name, seconds in parts], width), *legend]


def _legend(parts: Sequence[tuple[str, float]], palette: Palette, width: int, *, short: bool) -> list[Text]:
    lines = [Text()]
    shown = [(name, seconds) for name, seconds in parts if seconds * 1000 >= 0.05]
    for index, (name, seconds) in enumerate(shown):
        entry = Text("■ ", style=palette.parts[name])
        entry.append(f"{_SHORT.get(name, name) if short else name} ", style=palette.dim)
        entry.append(milliseconds(seconds), style=palette.text)
        entry.append("  " if index + 1 < len(shown) else "  ms", style=palette.faint)
        if lines[-1].cell_len + len(entry.plain.rstrip()) > width:
            lines.append(Text())
        lines[-1].append_text(entry)
    return lines


def _short_facts(row: Estimate, palette: Palette) -> Text:
    text = Text("binds ", style=palette.dim).append(row.bound_by or UNKNOWN, style=f"bold {palette.strong}")
    text.append("   memory ", style=palette.dim).append(_gib(row.memory_required_bytes), style=palette.text)
    text.append(f" of {_gib(row.memory_available_bytes)} GiB   P10–P90 ", style=palette.dim)
    span = UNKNOWN if row.time_s is None else format_span(row.time_s, format_duration)
    return text.append(span, style=palette.text)


def _gib(count: float | None) -> str:
    return UNKNOWN if count is None else f"{count / GIB:,.1f}"


def _binds(row: Estimate, palette: Palette) -> Text:
    text = Text.assemble((row.bound_by or UNKNOWN, f"bold {palette.strong}"))
    note = PORTED.get(row.stack) or f"batch {row.batch_size_per_gpu or UNKNOWN} per GPU, {row.precision or UNKNOWN}"
    return text.append(f"  {note}", style=palette.warn if row.stack in PORTED else palette.dim)


def _memory(row: Estimate, palette: Palette, width: int) -> Text:
    needed, available = row.memory_required_bytes, row.memory_available_bytes
    if needed is None or not available:
        return Text(f"{_gib(needed)} of {_gib(available)} GiB", style=palette.dim)
    text = bar(needed / available, max(width // 4, 6), palette.parts["forward"], palette.border)
    return text.append(f" {_gib(needed)}", style=palette.text).append(f" of {_gib(available)} GiB", style=palette.dim)


def _sum(parts: Sequence[tuple[str, str]], palette: Palette, room: int) -> Text:
    """'21h38 training + 15m evaluation'; those that ``room`` cells do not hold are counted: '+ 2 more'."""
    text = Text()
    for index, (amount, name) in enumerate(parts):
        left = len(parts) - index
        more = f" + {left} more"
        behind = len(more) if left > 1 else 0
        if index and text.cell_len + len(f" + {amount} {name}") + behind > room:
            return text.append(more, style=palette.faint)
        text.append(" + " if index else "", style=palette.faint)
        text.append(amount, style=palette.text).append(f" {name}", style=palette.dim)
    return text


def _time(row: Estimate, palette: Palette, room: int) -> Text:
    parts = sorted(row.time_parts, key=lambda part: -part.seconds)
    total = sum(part.seconds for part in parts)
    named = [
        (format_duration(part.seconds), _PARTS.get(part.name, part.name))
        for part in parts
        if part.seconds >= 0.01 * total
    ]
    return _sum(named, palette, room) if named else Text(UNKNOWN, style=palette.dim)


def _interval(row: Estimate, palette: Palette) -> Text:
    if row.time_s is None or row.cost_usd is None:
        return Text(UNKNOWN, style=palette.dim)
    text = Text(format_span(row.time_s, format_duration), style=palette.text)
    text.append(", ", style=palette.dim)
    return text.append(format_span(row.cost_usd, format_money), style=palette.text)


def _money(row: Estimate, palette: Palette, room: int) -> Text:
    """The lines of the bill, the largest first, what nobody knows before them all."""
    parts = sorted(row.cost_parts, key=lambda part: -math.inf if part.usd is None else -part.usd)
    known = [(format_money(part.usd), part.name) for part in parts if part.usd != 0]
    return _sum(known, palette, room) if known else Text(UNKNOWN, style=palette.dim)


def _price(row: Estimate, palette: Palette) -> Text:
    if row.usd_per_hour is None:
        return Text(f"{UNKNOWN} an hour", style=palette.dim)
    text = Text(f"{format_money(row.usd_per_hour)}/h", style=palette.text)
    if row.price_as_of:
        old = "price_stale" in row.flags
        text.append(f" seen {day(row.price_as_of)}", style=palette.warn if old else palette.dim)
    return text.append(f" {where_words(row)}", style=palette.dim)


def _evidence(row: Estimate, palette: Palette) -> Text:
    mark = EVIDENCE_MARKS.get(row.evidence or "", UNKNOWN)
    return Text(f"{mark} ", style=palette.text).append(EVIDENCE_WORDS.get(row.evidence or "", UNKNOWN), palette.dim)


def _levers(levers: Sequence[Lever] | None, palette: Palette, room: int) -> Text:
    """The two fastest that have room, and how many more there are."""
    if levers is None:
        return Text("…", style=palette.faint)
    if not levers:
        return Text("none", style=palette.faint)
    text, shown = Text(), 0
    for lever in levers[:2]:
        if lever.time_factor is None or lever.time_factor >= 0.995:
            break
        entry = Text.assemble((f"{lever.name} ", palette.text))
        entry.append(f"−{1 - lever.time_factor:.0%}   ".replace("%", " %"), palette.good)
        if text.cell_len + entry.cell_len + len(f"{len(levers)} more: Enter") <= room:
            text.append_text(entry)
            shown += 1
    rest = len(levers) - shown
    return text.append(f"{rest} {'more' if shown else 'to try'}: Enter" if rest else "", style=palette.faint)
