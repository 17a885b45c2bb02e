"""From the operations of a step traced at two batch sizes to a short operation record, linear in the batch size."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from planner.workloads.workload import Linear, Memory, Operation

REFERENCE_BATCH = 64  # where arithmetic intensity is compared when operations are merged
MATRIX_CLASSES = ("conv", "gconv", "dw", "mm", "bmm", "sdpa", "rnn")


class TracedStep(Protocol):
    """One step at one batch size, as ``torch_trace.StepTrace``.

    A row is (class, phase, element bytes, width, groups, kernel size, FLOPs, bytes, kernels, stride).
    """

    @property
    def rows(self) -> Sequence[Sequence[Any]]: ...
    @property
    def peak_live_bytes(self) -> float: ...
    @property
    def saved_bytes(self) -> float: ...


class StepPair(NamedTuple):
    """The same step at two batch sizes."""

    batches: tuple[int, int]
    first: TracedStep
    second: TracedStep


def line_through(first: float, second: float, batches: tuple[int, int]) -> Linear:
    """The line with these values at the two batch sizes."""
    slope = (second - first) / (batches[1] - batches[0])
    return Linear(first - slope * batches[0], slope)


def operations_of(pair: StepPair) -> list[Operation]:
    """Every operation of the step, unmerged. Raises ValueError where the graph changes with the batch size."""
    first, second = pair.first.rows, pair.second.rows
    if len(first) != len(second):
        small, large = pair.batches
        raise ValueError(
            f"the step has {len(first)} operations at batch {small} and {len(second)} at {large}: the model's work "
            "depends on more than the shapes of its inputs"
        )
    operations = []
    for a, b in zip(first, second, strict=True):
        if a[0] != b[0]:
            raise ValueError(f"an operation of class {a[0]} became {b[0]} when the batch grew")
        flops, moved = line_through(a[6], b[6], pair.batches), line_through(a[7], b[7], pair.batches)
        operations.append(Operation(a[0], a[1], a[2], a[3], a[4], a[5], flops, moved, *a[8:]))
    return operations


def memory_of(pair: StepPair) -> Memory:
    """Peak live and saved bytes of the step as lines."""
    return Memory(
        line_through(pair.first.peak_live_bytes, pair.second.peak_live_bytes, pair.batches),
        line_through(pair.first.saved_bytes, pair.second.saved_bytes, pair.batches),
    )


def compacted(operations: Iterable[Operation], reference_batch: int = REFERENCE_BATCH) -> list[Operation]:
    """Merge operations that any efficiency model sees alike; sums of FLOPs, bytes and kernels are kept.

    Matrix classes (depthwise convolution included) merge when class, phase, element size, shape key and half-octave
    of arithmetic intensity agree; classes bound by memory merge over everything but class, phase and element size.
    """
    merged: dict[tuple[Any, ...], Operation] = {}
    for op in operations:
        key = (*op[:6], op.stride, _half_octave(op, reference_batch))
        known = merged.get(key)
        merged[key] = op if known is None else _sum(known, op)
    return [merged[key] for key in sorted(merged)]


def _half_octave(op: Operation, batch: int) -> int:
    flops, moved = op.flops.at(batch), op.bytes.at(batch)
    if flops <= 0 or moved <= 0 or not op.op_class.startswith(MATRIX_CLASSES):
        return 0
    return round(2 * math.log2(flops / moved))


def _sum(a: Operation, b: Operation) -> Operation:
    return a._replace(
        flops=Linear(a.flops.fixed + b.flops.fixed, a.flops.per_sample + b.flops.per_sample),
        bytes=Linear(a.bytes.fixed + b.bytes.fixed, a.bytes.per_sample + b.bytes.per_sample),
        kernels=a.kernels + b.kernels,
    )
