"""Measure this machine's CPU without PyTorch: with numpy where the interpreter has it, with Python alone elsewhere.

Writes the same lines as ``torch_bench.py``, of fewer classes: products and sums with numpy, copying of memory always.

usage: python plain_bench.py SECONDS
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

LEAST_REPEATS = 3
MOST_REPEATS = 15
CASE_S = 0.5

Case = Callable[[], "dict[str, Any]"]


def timed(name: str, op_class: str, flops: float, moved: float, call: Callable[[], Any]) -> dict[str, Any]:
    """One line: median and quartiles after a first call that nobody counts."""
    call()
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < LEAST_REPEATS or (time.perf_counter() - begin < CASE_S and len(seconds) < MOST_REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return {
        "kind": "rate",
        "name": name,
        "op_class": op_class,
        "phase": "forward",
        "flops": flops,
        "bytes": moved,
        "kernels": 1,
        "seconds": middle,
        "low_s": low,
        "high_s": high,
        "repeats": len(seconds),
    }


def with_python() -> Iterator[Case]:
    """Copying 64 MB: read once, written once."""
    size = 64 << 20
    source, target = bytearray(size), bytearray(size)

    def copy() -> None:
        target[:] = source

    yield lambda: timed("copy 64 MB", "copy", 0.0, 2.0 * size, copy)


def with_numpy(numpy: Any) -> Iterator[Case]:
    """Products of a small and a large matrix, and a sum beyond the caches."""
    yield from with_python()
    for rows in (256, 1024):
        yield _product(numpy.ones((rows, rows), dtype=numpy.float32))
    large = numpy.ones(6 << 20, dtype=numpy.float32)
    yield lambda: timed("add 6144k", "ew", 0.0, 12.0 * large.size, lambda: large + large)


def _product(left: Any) -> Case:
    rows = len(left)
    return lambda: timed(f"matmul {rows}", "mm", 2.0 * rows**3, 12.0 * rows**2, lambda: left @ left)


def main(seconds: float) -> None:
    end = time.perf_counter() + seconds
    numpy = _numpy()
    todo = list(with_python() if numpy is None else with_numpy(numpy))
    tool = "Python alone" if numpy is None else f"numpy {numpy.__version__}"
    write({"kind": "device", "device": "cpu", "name": "cpu", "measured_with": tool, "cases": len(todo)})
    for case in todo:
        if time.perf_counter() >= end:
            return
        write(case())


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]))
