"""The panes of the Why screen, each a table drawn as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from planner.plan.explain import Explanation
from planner.plan.operation_kinds import by_kind
from planner.plan.plan import Estimate
from planner.tui.drawing import bar, both_ends, fitted, stacked_bar
from planner.tui.form_words import in_form
from planner.tui.theme import Palette
from planner.tui.widgets.painted import Painted
from planner.tui.widgets.why_pane import milliseconds, named_parts, rates
from planner.units import UNKNOWN, format_duration, format_rate

_MOST_KINDS, _LEAST_SHARE = 8, 0.005
"""So many kinds of operation have a line, if they take that share of the pass."""
_LEAST_COUNTED = 58
"""From this width on the arithmetic and the bytes of an operation have room."""
_STAGE = 21
"""Cells of the name of a stage."""
_STAGES = {"preparing the samples of an epoch": "preparing an epoch"}
_SPECS = {
    "bandwidth": "memory bandwidth",
    "flops": "FLOP/s",
    "sm_clock": "SMs × clock",
    "link": "link, network",
    "vcpus": "vCPUs",
}


class WhyTable(Painted, Static, can_focus=True):
    """A pane whose lines depend on its width; ``lines`` of a subclass draws them."""

    def __init__(self, pane_id: str, title: str) -> None:
        super().__init__(id=pane_id, classes="pane")
        self.border_title = title
        self._shown: tuple[Estimate, Explanation | None, Palette] | None = None

    def show(self, row: Estimate, explanation: Explanation | None, palette: Palette) -> None:
        """``explanation`` None: it is still being worked out."""
        self._shown = (row, explanation, palette)
        self.paint()

    def draw(self, width: int, height: int) -> None:
        if self._shown is None:
            return
        row, explanation, palette = self._shown
        self.update(Text("\n").join(self.lines(row, explanation, palette, width)))

    def lines(self, row: Estimate, explanation: Explanation | None, palette: Palette, width: int) -> list[Text]:
        raise NotImplementedError


def _waiting(palette: Palette) -> list[Text]:
    return [Text("taking the step apart …", style=palette.dim)]


class StepPane(WhyTable):
    """The step by part."""

    def __init__(self) -> None:
        super().__init__("step", "Step by part")

    def lines(self, row: Estimate, explanation: Explanation | None, palette: Palette, width: int) -> list[Text]:
        parts = named_parts(row)
        if not parts:
            return [Text(in_form(row.reason) or "Its step was not estimated.", style=palette.warn)]
        total = sum(seconds for _, seconds in parts)
        self.border_subtitle = f"bound by {row.bound_by or UNKNOWN}"
        span = Text("P10–P90 ", style=palette.dim)
        if row.step_time_s is not None:
            low, high = milliseconds(row.step_time_s.p10), milliseconds(row.step_time_s.p90)
            span.append(f"{low}–{high} ms", style=palette.text)
        stacked = stacked_bar([(seconds, palette.parts[name]) for name, seconds in parts], width)
        cells = max(width - 38, 6)
        lines = [both_ends(rates(row, palette), span, width), stacked, Text()]
        for name, seconds in parts:
            line = Text("■ ", style=palette.parts[name]).append(f"{name:<15}", style=palette.text)
            line.append(f"{milliseconds(seconds):>8}", style=palette.strong).append(" ms ", style=palette.dim)
            line.append(f"{seconds / total:>5.0%}   ".replace("%", " %"), style=palette.text)
            lines.append(line.append_text(bar(seconds / total, cells, palette.parts[name], palette.border)))
        notes = () if explanation is None else explanation.step.notes
        return [*lines, *(Text(note, style=palette.dim) for note in notes)]


class OperationsPane(WhyTable):
    """Forward and backward by kind of operation."""

    def __init__(self) -> None:
        super().__init__("operations", "Forward + backward by operation")

    def lines(self, row: Estimate, explanation: Explanation | None, palette: Palette, width: int) -> list[Text]:
        if explanation is None:
            return _waiting(palette)
        kinds = by_kind(explanation.by_operation)
        if not kinds:
            return [Text("Nothing is known of its operations.", style=palette.dim)]
        counted = 16 if width >= _LEAST_COUNTED else 0
        cells = max(width - 38 - counted, 4)
        amounts = f"{'GFLOP':>9}{'GB':>7}" if counted else ""
        head = f"{'operation':<19}{amounts}{'ms':>8}  {'':<{cells}} binds"
        lines = [Text(head, style=palette.dim)]
        longest, total = kinds[0].seconds, sum(kind.seconds for kind in kinds)
        shown = [kind for kind in kinds[:_MOST_KINDS] if kind.seconds >= _LEAST_SHARE * total]
        for kind in shown:
            line = Text(f"{fitted(kind.op_class, 18):<19}", style=palette.text)
            if counted:
                line.append(f"{kind.flops / 1e9:>9,.1f}{kind.bytes / 1e9:>7,.1f}", style=palette.dim)
            line.append(f"{milliseconds(kind.seconds):>8}  ", style=palette.strong)
            line.append_text(bar(kind.seconds / longest, cells, palette.parts["backward"], palette.border))
            lines.append(line.append(f" {kind.bound_by}", style=palette.text))
        if len(kinds) > len(shown):
            rest = ", ".join(kind.op_class for kind in kinds[len(shown) :])
            lines.append(Text(fitted(f"and less: {rest}", width), style=palette.dim))
        self.border_subtitle = "one pass of the batch on one device"
        return lines


class StagesPane(WhyTable):
    """What training needs around it."""

    def __init__(self) -> None:
        super().__init__("stages", "Around the training")

    def lines(self, row: Estimate, explanation: Explanation | None, palette: Palette, width: int) -> list[Text]:
        if explanation is None:
            return _waiting(palette)
        facts = [
            (_STAGES.get(stage.name, stage.name), f"{format_rate(stage.value)} {stage.unit}", stage.note)
            for stage in explanation.stages
        ]
        if row.energy_kwh is not None:
            facts.append(("energy", f"{row.energy_kwh:,.1f} kWh", "at the wall"))
        around = [part for part in row.time_parts if part.seconds >= 1 and part.name != "training"]
        for first, *second in (around[index : index + 2] for index in range(0, len(around), 2)):
            beside = " ".join(f"{part.name} {format_duration(part.seconds)}" for part in second)
            facts.append((first.name, format_duration(first.seconds), beside))
        spare = self.content_size.height - len(facts)
        lines = []
        for name, value, note in facts:
            line = Text(f"{fitted(name, _STAGE - 1):<{_STAGE}}", style=palette.dim).append(value, style=palette.text)
            if note and line.cell_len + 2 + len(note) > width and spare > 0:
                spare -= 1
                lines += [line, Text(f"{'':<{_STAGE}}{fitted(note, width - _STAGE)}", style=palette.faint)]
                continue
            line.append(f"  {note}" if note else "", style=palette.faint)
            line.truncate(width, overflow="ellipsis")
            lines.append(line)
        return lines


class BesidePane(WhyTable):
    """CPU beside GPU."""

    def __init__(self) -> None:
        super().__init__("beside", "CPU beside GPU")

    def lines(self, row: Estimate, explanation: Explanation | None, palette: Palette, width: int) -> list[Text]:
        if explanation is None:
            return _waiting(palette)
        rows = explanation.cpu_vs_gpu
        if not rows:
            return [Text("It trains on its CPU: there is nothing beside it.", style=palette.dim)]
        cells = max(width - 47, 4)
        lines = [Text(f"{'part':<15}{'CPU ms':>11}{'GPU ms':>9}{'speed-up':>10}", style=palette.dim)]
        best = max((part.speedup or 0.0 for part in rows), default=0.0) or 1.0
        for part in rows:
            whole = part.part == "total"
            style = f"bold {palette.strong}" if whole else palette.text
            line = Text.assemble((f"{'whole step' if whole else part.part:<15}", style))
            line.append(f"{milliseconds(part.cpu_s):>11}", style=palette.dim)
            line.append(f"{milliseconds(part.gpu_s):>9}", style=palette.text)
            speedup = UNKNOWN if part.speedup is None else f"{part.speedup:,.1f}×"
            line.append(f"{speedup:>10}  ", style=style)
            share = (part.speedup or 0.0) / best
            lines.append(line.append_text(bar(share, cells, palette.places["workstation"], palette.border)))
        return [*lines, _crossover(explanation, palette)]


def _crossover(explanation: Explanation, palette: Palette) -> Text:
    if explanation.crossover_batch is None:
        return Text("One GPU never overtakes the CPU here.", style=palette.warn)
    text = Text("One GPU overtakes the CPU from ", style=palette.dim)
    return text.append(f"batch {explanation.crossover_batch}", style=palette.text).append(" on.", style=palette.dim)


class ReactionPane(WhyTable):
    """How the step answers to each specification."""

    def __init__(self) -> None:
        super().__init__("reaction", "What the step reacts to")

    def lines(self, row: Estimate, explanation: Explanation | None, palette: Palette, width: int) -> list[Text]:
        if explanation is None:
            return _waiting(palette)
        changes = sorted(explanation.sensitivity, key=lambda change: change.time_change)
        if not changes:
            return [Text("Nothing is known of what it reacts to.", style=palette.dim)]
        cells = max(width - 34, 4)
        most = max(abs(change.time_change) for change in changes) or 1.0
        lines = [Text(f"{'if 10 % more of':<20}{'time':>8}", style=palette.dim)]
        for change in changes:
            line = Text(f"{_SPECS.get(change.spec, change.spec):<20}", style=palette.text)
            matters = change.time_change < -0.0005
            line.append(_percent(change.time_change), style=palette.good if matters else palette.dim)
            share = abs(change.time_change) / most if matters else 0.0
            lines.append(line.append("  ").append_text(bar(share, cells, palette.good, palette.border)))
        return lines


def _percent(change: float) -> str:
    """'   −4.1 %' with a true minus sign."""
    sign = "−" if change < -0.0005 else "+" if change > 0.0005 else ""
    return f"{sign + f'{abs(change) * 100:.1f} %':>8}"


def lever_cells(factors: Sequence[float | None], palette: Palette) -> list[Text]:
    """'×0.91' green where less, amber where more, '=' where nothing changes."""
    cells = []
    for factor in factors:
        if factor is None:
            cells.append(Text(f"{UNKNOWN:>6} ", style=palette.faint))
        elif abs(factor - 1) < 0.005:
            cells.append(Text(f"{'=':>6} ", style=palette.dim))
        else:
            cells.append(Text(f"{f'×{factor:.2f}':>6} ", style=palette.good if factor < 1 else palette.warn))
    return cells
