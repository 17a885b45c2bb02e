"""What a profile has measured, probe by probe, as lines to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from planner.hardware.profile import TrainingRun
from planner.tui.drawing import fact, fitted, sparkline
from planner.tui.measured import Device, Document, Group, Probe, Stored, Warming
from planner.tui.theme import Palette
from planner.units import UNKNOWN, format_rate

_LABEL = 11
_PLOT = 30
_UNSTEADY = 0.25
"""Quartiles farther apart than this share of the median are in amber: something else ran meanwhile."""
_FIGURES, _PHASE, _LEAST_NAME, _MOST_NAME = 32, 10, 20, 36
"""Cells of a probe's figures, of its phase, and the fewest and the most of its name."""


def measured_text(stored: Stored, palette: Palette, width: int) -> Text:
    """Heat first, then the host, training runs, and each device's probes by kind, in lines of ``width`` cells."""
    facts = [
        *(("mind", note, "") for note in stored.notes),
        *_host(stored.host),
        *(("trained", f"{run.model} {run.precision}, batch {run.batch_size}", _ran(run)) for run in stored.runs),
    ]
    lines = [_warmth(stored.warming, palette, width)]
    lines += [fact(label, value, note, _LABEL, width, palette) for label, value, note in facts]
    for device in stored.devices:
        lines += [Text(), *_device(device, palette, width)]
    return Text("\n").join(lines)


def _warmth(warming: Warming | None, palette: Palette, width: int) -> Text:
    if warming is None:
        note = "gpuplanner profile --sustained does the same work for a minute"
        return fact("heat", "what it takes was not measured", note, _LABEL, width, palette)
    text = Text(f"{'heat':<{_LABEL}}", style=palette.dim)
    text.append(sparkline(warming.windows, max(min(_PLOT, width - _LABEL - 24), 8)), style=palette.parts["host"])
    first, last = (_amount(rate, "FLOP/s") for rate in (warming.windows[0], warming.windows[-1]))
    left = UNKNOWN if warming.left is None else f"{warming.left * 100:.0f} %"
    style = palette.warn if warming.left is not None and warming.left < 1 - _UNSTEADY else palette.text
    text.append(f"  {left}", style=f"bold {style}").append(" is left", style=palette.dim)
    return text.append(f"\n{'':<{_LABEL}}{first} at first, {last} after {warming.seconds:.0f} s", style=palette.dim)


def _host(host: Document) -> Iterator[tuple[str, str, str]]:
    disk, decode, launch = (host.get(key) for key in ("disk_bytes_per_s", "decode_images_per_s_per_core", "launch_s"))
    if disk is not None:
        yield "disk", f"reads {_amount(disk, 'B/s')}", ""
    if decode is not None:
        yield "images", f"{format_rate(decode)} decoded a second", "on one core"
    if launch is not None:
        yield "launch", f"{launch * 1e6:.1f} µs", "of the host, for an operation of the GPU"


def _ran(run: TrainingRun) -> str:
    span = f"{run.low_s * 1e3:,.0f} to {run.high_s * 1e3:,.0f}"
    energy = "" if run.energy_j_per_step is None else f", {run.energy_j_per_step:,.0f} J"
    return f"{run.step_time_s * 1e3:,.0f} ms a step ({span}{energy}) on {run.device}"


def _device(device: Device, palette: Palette, width: int) -> Iterator[Text]:
    part = "" if device.planned in (None, device.done) else f" of {device.planned}"
    text = Text.assemble((device.name, f"bold {palette.strong}"))
    text.append(f"  {device.done}{part} measurements, {device.made_with}", style=palette.dim)
    text.truncate(width, overflow="ellipsis")
    yield text
    for group in device.groups:
        yield _heading(group, palette, width)
        yield from (_line(probe, palette, width) for probe in group.probes)


def _heading(group: Group, palette: Palette, width: int) -> Text:
    """'convolution    212 GFLOP/s, 14.1 GB/s': the rates that take the place of a specification's."""
    rates = [_amount(rate, unit) for rate, unit in ((group.flops_per_s, "FLOP/s"), (group.bytes_per_s, "B/s")) if rate]
    text = Text("✓ ", style=palette.good).append(f"{group.kind}  ", style=palette.text)
    text.append(", ".join(rates), style=f"bold {palette.strong}")
    text.truncate(width, overflow="ellipsis")
    return text


def _line(probe: Probe, palette: Palette, width: int) -> Text:
    """'  matmul 512x640x640  forward   1.92 ms   217 GFLOP/s  ± 3 %'."""
    with_phase = width >= _FIGURES + _PHASE + _LEAST_NAME + 2
    room = width - _FIGURES - 2 - (_PHASE if with_phase else 0)
    name_cells = min(max(room, _LEAST_NAME), _MOST_NAME)
    text = Text(f"  {fitted(probe.name, name_cells - 1):<{name_cells}}", style=palette.dim)
    if with_phase:
        text.append(f"{fitted(probe.phase, _PHASE - 1):<{_PHASE}}", style=palette.faint)
    text.append(f"{_time(probe.seconds):>10}", style=palette.text)
    rate = UNKNOWN if probe.rate is None else _amount(probe.rate, "B/s" if probe.of_bytes else "FLOP/s")
    text.append(f"{rate:>14}", style=palette.text)
    spread = (probe.high_s - probe.low_s) / probe.seconds if probe.seconds else 0.0
    return text.append(f"{f'±{spread * 50:.0f} %':>8}", style=palette.warn if spread > _UNSTEADY else palette.faint)


def _time(seconds: float) -> str:
    """'67.8 µs', '1.92 ms', '0.78 s'."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _amount(rate: float, unit: str) -> str:
    """'217 GFLOP/s', '1.7 GB/s'."""
    scale, prefix = next(((s, p) for s, p in _PREFIXES if rate >= s), (1.0, ""))
    return f"{rate / scale:.3g} {prefix}{unit}"


_PREFIXES: Sequence[tuple[float, str]] = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
