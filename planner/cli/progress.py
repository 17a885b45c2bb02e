"""Progress bars on standard error: one a source while it is read, a line of its own when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from planner.cli.table import terminal_width
from planner.units import format_bytes

_BAR_CELLS = 20
_REDRAW_S = 0.1
_MOST_BARS = 12


class ProgressBars:
    """Bars that redraw themselves in place on a terminal; silent elsewhere, where only the summary counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._drawn_at = float("-inf")
        self._active: dict[str, str] = {}
        self._lines = 0
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def update(self, source: str, done: int, total: int | None, unit: str) -> None:
        """Take a step into account; a source that reached its total leaves its last line behind."""
        if not self._shown:
            return
        line = _line(source, done, total, unit)
        if done == total:
            self._active.pop(source, None)
            self._draw(line)
            return
        self._active[source] = line
        if self._clock() - self._drawn_at >= _REDRAW_S:
            self._draw()

    def close(self) -> None:
        """Take away what is still drawn."""
        if self._shown:
            self._active.clear()
            self._draw()

    def _draw(self, finished: str | None = None) -> None:
        self._drawn_at = self._clock()
        width = terminal_width() - 1
        bars = [line[:width] for line in list(self._active.values())[:_MOST_BARS]]
        lines = ([finished[:width]] if finished else []) + bars
        up = f"\x1b[{self._lines}A" if self._lines else ""
        sys.stderr.write(up + "\x1b[J" + "".join(f"{line}\n" for line in lines))
        sys.stderr.flush()
        self._lines = len(bars)


def _line(source: str, done: int, total: int | None, unit: str) -> str:
    amount = format_bytes(done) if unit == "bytes" else f"{done} {unit if done != 1 else unit.removesuffix('s')}"
    if not total:
        return f"{source:36.36} {'·' * _BAR_CELLS} {amount}"
    filled = min(_BAR_CELLS, _BAR_CELLS * done // total)
    return f"{source:36.36} {'█' * filled}{'░' * (_BAR_CELLS - filled)} {amount}"
