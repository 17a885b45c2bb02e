"""Operations on a :class:`Tape` that convolutional networks need besides convolutions: norms, pools, reductions."""

from __future__ import annotations

import math

from planner.workloads.formulas.tape import Tape, Value, total
from planner.workloads.window import common_stride, few_channels, shorter_side
from planner.workloads.workload import Linear


def batch_norm(tape: Tape, a: Value, channels: int) -> Value:
    """Batch statistics in one kernel each way; scale and shift are parameters."""
    scale = [tape.weight(channels) for _ in range(2)]
    read = total(*(weight.bytes for weight in scale))
    tape.row("bn", a.size, total(a.bytes.scaled(2), read.scaled(3)))
    tape.keep(a)

    def backward() -> None:
        tape.row("bn", a.size, total(a.bytes.scaled(3), read.scaled(3)))
        tape.give(a, a.size)

    return tape.made(a.count, a.size, [a, *scale], backward)


def pooled(tape: Tape, a: Value, count: Linear) -> Value:
    """``count`` results of windows over ``a``, or of its resizing."""
    result_bytes = count.scaled(a.size)
    tape.row("pool", a.size, total(a.bytes, result_bytes))
    tape.keep(a)

    def backward() -> None:
        tape.row("pool", a.size, total(a.bytes.scaled(2), result_bytes))
        tape.give(a, a.size)

    return tape.made(count, a.size, [a], backward)


def reduced(tape: Tape, a: Value, count: Linear) -> Value:
    """Sums or means; backward they are spread out again."""
    moved = total(a.bytes, count.scaled(a.size))
    tape.row("red", a.size, moved)

    def backward() -> None:
        tape.row("ew", a.size, moved)
        tape.give(a, a.size)

    return tape.made(count, a.size, [a], backward)


def transposed_convolution(
    tape: Tape,
    a: Value,
    weights: tuple[int, ...],
    positions: float,
    *,
    strides: tuple[int, ...],
    groups: int,
    bias: bool,
) -> Value:
    """Every input element meets the whole window: ``weights`` are (in, out / groups, window ...)."""
    out = weights[1] * groups
    data, matrix = tape.half(a), tape.half(tape.weight(*weights))
    offset = tape.half(tape.weight(out)) if bias else None
    count, size = Linear(0.0, out * positions), data.size
    flops = data.count.scaled(2.0 * weights[1] * math.prod(weights[2:]))
    moved = total(data.bytes, matrix.bytes, count.scaled(size))
    name = "conv" if groups == 1 else "gconv"
    shape: dict[str, float] = {"width": math.sqrt(weights[0] / groups * weights[1]), "groups": groups}
    if groups == 1:
        few, window, stride = few_channels(*weights[:2]), shorter_side(weights[2:]), common_stride(strides)
        shape = {"width": few, "kernel_size": window, "stride": stride}
    tape.row(name, size, moved, flops, **shape)  # type: ignore[arg-type]
    tape.keep(data)

    def backward() -> None:
        for operand, suffix in ((data, "_dg"), (matrix, "_wg")):
            if operand.needs_grad:
                tape.row(name + suffix, size, moved, flops, **shape)  # type: ignore[arg-type]
                tape.give(operand, size)
        if offset is not None:
            tape.give(offset, size, count)

    return tape.made(count, size, [data, matrix], backward)
