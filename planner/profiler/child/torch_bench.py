"""Measure what PyTorch makes of this machine, one class of operations at a time.

Runs by itself in the user's interpreter and needs only torch (and the files beside it). Every line it writes is one
JSON object, written as soon as it is measured, so that whoever reads may stop it at any moment:

    {"kind": "device", "device": "cpu", "name": ..., "torch": "2.14.1", "threads": 2, "cases": 91}
    {"kind": "rate", "name": "conv 3x3 96@28", "op_class": "conv", "phase": "forward", "flops": ..., "bytes": ...,
     "kernels": 1, "seconds": ..., "low_s": ..., "high_s": ..., "repeats": 7, "faulted_bytes": 0}

``op_class``, FLOPs and bytes (operands read and written once) are counted as in the model's operation records, so that
a class's rate can be taken from its measurements (``bench_cases.py``). ``faulted_bytes`` is the memory that the system
handed out anew in a call, by its count of page faults (null where it keeps none).

With a third number the same products are repeated for that many seconds instead, and every second or so writes

    {"kind": "window", "at_s": 12.0, "flops_per_s": ...}

What only a process without other work can measure is done by a second one, which it starts itself with the word
'steps' and the time of the clock at which to end.

usage: python torch_bench.py SECONDS SECONDS_PER_CASE [SUSTAINED_SECONDS]
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from bench_case import Bench, Case
from bench_cases import accelerator_cases, cases
from bench_device import held_memory
from page_faults import PageFaults
from probe_networks import Probe, probes

LEAST_REPEATS = 3
MOST_REPEATS = 25
UNSTEADY, UNSTEADY_S = 1.25, 3.0
OPERATIONS_SHARE = 0.6
STEPS = "steps"
WINDOW_S = 1.0
QUEUED_S = 2e-3


class Timer:
    """Times cases; all that a case has taken so far counts, in however many visits."""

    def __init__(self, bench: Bench, case_s: float) -> None:
        self.bench = bench
        self.case_s = case_s
        self._taken: dict[tuple[str, str, str], list[float]] = {}

    def timed(self, case: Case) -> dict[str, Any]:
        """Median and quartiles of the case's seconds; the first call of a visit is not counted."""
        seconds = self._taken.setdefault((case.name, case.op_class, case.phase), [])
        with torch.set_grad_enabled(case.op_class in ("rnn", "sdpa_bw", "launch")):
            call = case.build()
            call()
            self.bench.wait()
            calls = _calls_together(self.bench, call)
            before, faults = len(seconds), PageFaults()
            begin, most = time.perf_counter(), before + MOST_REPEATS
            least = before + LEAST_REPEATS
            while len(seconds) < least or (time.perf_counter() - begin < self.case_s and len(seconds) < most):
                seconds.append(_seconds_a_call(self.bench, call, calls))
        return {
            "kind": "rate",
            **{field: value for field, value in case._asdict().items() if field != "build"},
            **_spread(seconds),
            "faulted_bytes": faults.bytes_each(calls * (len(seconds) - before)),
        }


def _spread(seconds: list[float]) -> dict[str, Any]:
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return {"seconds": middle, "low_s": low, "high_s": high, "repeats": len(seconds)}


def _mean(counted: list[float | None]) -> float | None:
    known = [value for value in counted if value is not None]
    return statistics.fmean(known) if known else None


def _seconds_a_call(bench: Bench, call: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    bench.wait()
    return (time.perf_counter() - start) / calls


def _calls_together(bench: Bench, call: Callable[[], Any]) -> int:
    """Calls between two looks at the clock: waiting for an accelerator takes as long as a short operation itself."""
    if bench.device.type == "cpu":
        return 1
    return max(1, math.ceil(QUEUED_S / _seconds_a_call(bench, call, 1)))


class ProbeTimer:
    """A probe and what its steps took; the first step is not counted."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._seconds: list[float] = []
        self._faulted: list[float | None] = []
        probe.step()

    def timed(self) -> dict[str, Any]:
        """Seconds of a step inside a small network, and what it is made of."""
        faults = PageFaults()
        for _ in range(LEAST_REPEATS):
            start = time.perf_counter()
            self.probe.step()
            self._seconds.append(time.perf_counter() - start)
        self._faulted.append(faults.bytes_each(LEAST_REPEATS))
        probe = self.probe
        return {
            "kind": "rate",
            "name": probe.name,
            "op_class": "probe",
            "phase": probe.kind,
            "flops": sum(row.flops for row in probe.rows),
            "bytes": sum(row.bytes for row in probe.rows),
            "kernels": sum(row.kernels for row in probe.rows),
            **_spread(self._seconds),
            "faulted_bytes": _mean(self._faulted),
            "optimizer": probe.optimizer,
            "parameters": probe.parameters,
            "held_bytes": probe.held_bytes,
            "rows": [list(row) for row in probe.rows],
        }


def devices() -> list[torch.device]:
    """The accelerator that PyTorch would train on, then the CPU."""
    if torch.cuda.is_available():
        return [torch.device("cuda"), torch.device("cpu")]
    if torch.backends.mps.is_available():
        return [torch.device("mps"), torch.device("cpu")]
    return [torch.device("cpu")]


def describe(device: torch.device, count: int) -> dict[str, Any]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "kind": "device",
        "device": device.type,
        "name": name,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "cases": count,
    }


def main(seconds: float, case_s: float) -> None:
    end = time.perf_counter() + seconds
    for device in devices():
        bench = Bench(device, batch=8 if device.type == "cpu" else 64)
        if device.type == "cpu":
            _on_the_processor(bench, case_s, end)
        else:
            todo = [*accelerator_cases(bench), *cases(bench)]
            _write(describe(device, len(todo)))
            _run(Timer(bench, case_s), todo, end)


def _on_the_processor(bench: Bench, case_s: float, end: float) -> None:
    """Operations on memory that is there already, and, in a process of its own, what memory and a step cost.

    Where time is short, probes go before the last operations: whatever is wrong with a rate is wrong in them as well.
    """
    todo = list(cases(bench))
    _write(describe(bench.device, len(todo) + len(list(held_memory(bench))) + len(probes(bench.batch))))
    timer, now = Timer(bench, case_s), time.perf_counter()
    keep_freed_memory()
    first = _run(timer, todo, now + OPERATIONS_SHARE * (end - now))
    left = end - time.perf_counter()
    if left > 0.0:
        subprocess.run([sys.executable, __file__, str(time.time() + left), str(case_s), STEPS], check=False)
    last = _run(timer, todo[len(first) :], end)
    unsteady = [case for case, steady in zip(todo, [*first, *last], strict=False) if not steady]
    _run(timer, unsteady, min(end, time.perf_counter() + UNSTEADY_S), again=True)


def steps(until: float, case_s: float) -> None:
    """What a training process meets: memory that the system hands out anew, and whole steps of the probes, twice.

    ``until`` is a time of the clock, since importing torch takes its part of the time there is.
    """
    end = time.perf_counter() + until - time.time()
    bench = Bench(torch.device("cpu"), batch=8)
    _run(Timer(bench, case_s), list(held_memory(bench)), end)
    built: list[ProbeTimer] = []
    for build in probes(bench.batch):
        if time.perf_counter() < end:
            built.append(ProbeTimer(build()))
            _write(built[-1].timed())
    for probe in built:  # a while apart: what disturbed one visit is no part of the other
        if time.perf_counter() < end:
            _write({**probe.timed(), "again": True})


def _run(timer: Timer, todo: list[Case], end: float, *, again: bool = False) -> list[bool]:
    """Time what there is time for; of each case that was reached whether its repetitions were alike."""
    steady = []
    for case in todo:
        if time.perf_counter() >= end:
            break
        try:
            line = timer.timed(case)
        except (RuntimeError, TypeError, AttributeError) as error:  # what is lacking here says nothing of the others
            _write({"kind": "failed", "name": case.name, "reason": str(error).partition("\n")[0]})
            steady.append(True)
            continue
        _write({**line, "again": True} if again else line)
        steady.append(line["high_s"] <= UNSTEADY * line["low_s"])
    return steady


# glibc's mallopt(3). Blocks above a threshold come from the system page by page and go back when they are freed, and so
# does the top of the heap. The threshold follows the largest block that was freed, so that rates would depend on what
# was freed before: the same sum took 3 to 27 GB/s from one profile to the next.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Nothing goes back to the system from now on; where the C library is another one, nothing changes."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, -1)


def sustain(seconds: float) -> None:
    """One product over and over on the first device: what is left of its rate when the machine is warm."""
    device = devices()[0]
    bench = Bench(device, batch=8 if device.type == "cpu" else 64)
    size = 1024 if device.type == "cpu" else 8192
    left, right = bench.random(size, size), bench.random(size, size)
    begin = time.perf_counter()
    while (at := time.perf_counter()) - begin < seconds:
        products = 0
        while time.perf_counter() - at < WINDOW_S:
            torch.mm(left, right)
            bench.wait()
            products += 1
        taken = time.perf_counter() - at
        _write({"kind": "window", "at_s": at - begin, "flops_per_s": 2.0 * size**3 * products / taken})


def _write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[3:] == [STEPS]:
        steps(float(sys.argv[1]), float(sys.argv[2]))
    elif len(sys.argv) > 3:
        sustain(float(sys.argv[3]))
    else:
        main(float(sys.argv[1]), float(sys.argv[2]))
