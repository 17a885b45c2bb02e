"""Steps of a training command, read from what it prints: our own marker, tqdm's bars, the last lines of Trainers.

    gpuplanner: step=12 samples=32 wait_s=0.004      the documented marker: a line printed after every step
     12%|█▏        | 12/100 [00:03<00:22, 4.01it/s]   tqdm, and with it Lightning, Keras-like bars and HF's Trainer
    {'train_samples_per_second': 81.2, ...}           HF's Trainer, when it is done

``samples`` (of that step, all devices) and ``wait_s`` (seconds the step waited for its data) may be left out.
"""

import re
import statistics
from collections.abc import Callable
from typing import NamedTuple

MARKER = b"gpuplanner:"
_MOST_LINE = 4096
_TOLD = re.compile(rb",\s*([\d.]+)\s*(\w+/s|s/\w+)")
_BAR = re.compile(rb"\|\s*(\d+)/\d+\s*\[[\d:]+<[^,\]]*,\s*[\d.?]+\s*(?:\w+/s|s/\w+)")
_SAMPLES_PER_S = re.compile(rb"train_samples_per_second['\"]?:\s*'?([\d.]+)")
_LEAST_INTERVALS = 3


class StepEvent(NamedTuple):
    """At ``time_s`` (any clock), ``step`` steps were done; the last took ``samples`` and waited ``wait_s``."""

    time_s: float
    step: int
    samples: float | None = None
    wait_s: float | None = None


class Summary(NamedTuple):
    """Steps as far as they could be told: seconds are the median step's and the quartiles'; None is unknown."""

    steps: int
    step_time_s: float | None
    low_s: float | None
    high_s: float | None
    samples_per_s: float | None
    wait_share: float | None


class StepLog:
    """Takes the output as it comes and remembers the steps in it. The first step warms up and is left out."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rest: dict[str, bytes] = {}
        self.events: list[StepEvent] = []
        self._told_samples_per_s: float | None = None
        self._marked = False

    def feed(self, stream: str, data: bytes) -> None:
        """Bytes of one stream ('stdout'); lines end at line feeds and, for bars, at carriage returns."""
        *lines, rest = (self._rest.get(stream, b"") + data.replace(b"\r", b"\n")).split(b"\n")
        self._rest[stream] = rest[-_MOST_LINE:]
        for line in lines:
            self._take(line)

    @property
    def steps(self) -> int:
        """Steps done so far."""
        return self.events[-1].step if self.events else 0

    def _take(self, line: bytes) -> None:
        if line.startswith(MARKER):
            self._take_marker(line)
        elif not self._marked and b"%|" in line:
            found = _BAR.search(line)
            if found is not None:
                self._step(int(found[1]))
        elif b"train_samples_per_second" in line:
            told = _SAMPLES_PER_S.search(line)
            self._told_samples_per_s = float(told[1]) if told is not None else None

    def _take_marker(self, line: bytes) -> None:
        fields = dict(word.split(b"=", 1) for word in line.removeprefix(MARKER).split() if b"=" in word)
        step = _number(fields.get(b"step"))
        if step is None:
            return
        if not self._marked:
            self.events.clear()  # bars counted something else
            self._marked = True
        self._step(int(step), _number(fields.get(b"samples")), _number(fields.get(b"wait_s")))

    def _step(self, step: int, samples: float | None = None, wait_s: float | None = None) -> None:
        """A count that falls is another bar: a new epoch, or validation. What it counted before is kept apart."""
        if self.events and step == self.events[-1].step:
            return
        self.events.append(StepEvent(self._clock(), step, samples, wait_s))

    def summary(self) -> Summary:
        """What the steps took, the first one left out."""
        pairs = list(zip(self.events[1:], self.events[2:], strict=False))
        counted = [(after, after.step - before.step, after.time_s - before.time_s) for before, after in pairs]
        counted = [entry for entry in counted if entry[1] > 0]
        steps = sum(taken for _, taken, _ in counted)
        if len(counted) < _LEAST_INTERVALS:
            return Summary(self.steps, None, None, None, self._told_samples_per_s, None)
        times = [seconds / taken for _, taken, seconds in counted for _ in range(taken)]
        low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
        total_s = sum(seconds for _, _, seconds in counted)
        samples = [event.samples for event, _, _ in counted if event.samples is not None]
        waits = [event.wait_s for event, _, _ in counted if event.wait_s is not None]
        samples_per_s = sum(samples) / total_s if len(samples) == len(counted) else self._told_samples_per_s
        return Summary(
            max(self.steps, steps),
            middle,
            low,
            high,
            samples_per_s,
            sum(waits) / total_s if len(waits) == len(counted) else None,
        )


class ToldRate(NamedTuple):
    """Rates that a log tells in words: of samples, or of steps (the median of its bars)."""

    samples_per_s: float | None
    steps_per_s: float | None


def told_rate(log: bytes) -> ToldRate:
    """What a finished log says of its own speed; the first tenth of its bars warms up and is left out."""
    samples = _SAMPLES_PER_S.findall(log)
    rates = []
    for number, unit in _TOLD.findall(log):
        value = _number(number)
        if value:
            rates.append(value if unit.endswith(b"/s") else 1.0 / value)
    settled = rates[len(rates) // 10 :]
    return ToldRate(float(samples[-1]) if samples else None, statistics.median(settled) if settled else None)


def _number(text: bytes | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or 0 <= value < 1e15 else None
