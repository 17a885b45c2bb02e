"""Layers as PyTorch runs them, on a :class:`Tape`: matrix products, norms, attention, convolutions, losses."""

from __future__ import annotations

import math

from planner.workloads.formulas.tape import LONG, SINGLE, Tape, Value, total
from planner.workloads.window import common_stride, few_channels, shorter_side
from planner.workloads.workload import Linear


def linear(
    tape: Tape, a: Value, width_in: int, width_out: int, *, bias: bool = True, weight: Value | None = None
) -> Value:
    """``a @ W^T + b``; ``weight`` shares one that exists (tied embeddings)."""
    own = weight if weight is not None else tape.weight(width_out, width_in)
    data, matrix = tape.half(a), tape.half(own)
    offset = tape.half(tape.weight(width_out)) if bias else None
    rows = data.count.scaled(1.0 / width_in)
    count, size = rows.scaled(width_out), data.size
    flops = rows.scaled(2.0 * width_in * width_out)
    moved = total(data.bytes, matrix.bytes, count.scaled(size))
    tape.row("mm", size, total(moved, offset.bytes) if offset else moved, flops)
    tape.keep(data)

    def backward() -> None:
        if data.needs_grad:
            tape.row("mm", size, moved, flops)
            tape.give(data, size)
        tape.row("mm", size, moved, flops)
        tape.give(matrix, size)
        if offset is not None:
            tape.give(offset, size, count)

    return tape.made(count, size, [data, matrix], backward)


def expert_products(tape: Tape, a: Value, width_in: int, width_out: int, experts: int) -> Value:
    """One product an expert, tokens spread evenly: the FLOPs of the tokens, the weights of all experts."""
    data, matrix = tape.half(a), tape.half(tape.weight(experts, width_out, width_in))
    rows = data.count.scaled(1.0 / width_in)
    count, size = rows.scaled(width_out), data.size
    flops = rows.scaled(2.0 * width_in * width_out)
    moved = total(data.bytes, matrix.bytes, count.scaled(size))
    tape.row("bmm", size, moved, flops)
    tape.keep(data)

    def backward() -> None:
        for operand in (data, matrix):
            tape.row("bmm", size, moved, flops)
            tape.give(operand, size)

    return tape.made(count, size, [data, matrix], backward)


def matmul(tape: Tape, a: Value, b: Value, count: Linear, inner: int) -> Value:
    """A batched product of two activations with ``count`` results over ``inner`` terms each."""
    a, b = tape.half(a), tape.half(b)
    size, flops = a.size, count.scaled(2.0 * inner)
    moved = total(a.bytes, b.bytes, count.scaled(size))
    tape.row("bmm", size, moved, flops)
    tape.keep(a, b)

    def backward() -> None:
        for operand in (a, b):
            tape.row("bmm", size, moved, flops)
            tape.give(operand, size)

    return tape.made(count, size, [a, b], backward)


def layer_norm(tape: Tape, a: Value, width: int, *, bias: bool = True) -> Value:
    """In fp32, one kernel each way; mean and deviation are kept."""
    data = tape.single(a)
    weights = [tape.weight(width) for _ in range(1 + bias)]
    statistics = data.count.scaled(2.0 / width)
    read = total(*(weight.bytes for weight in weights))
    tape.row("ln", SINGLE, total(data.bytes.scaled(2), statistics.scaled(SINGLE), read))
    tape.keep(data)
    tape.keep_bytes(statistics.per_sample * SINGLE)

    def backward() -> None:
        tape.row("ln", SINGLE, total(data.bytes.scaled(3), statistics.scaled(SINGLE), read.scaled(2)))
        tape.give(data, SINGLE)

    return tape.made(data.count, SINGLE, [data], backward)


def rms_norm(tape: Tape, a: Value, width: int, *, plus_one: bool = False) -> Value:
    """As transformers writes it: fp32 square, mean, rsqrt, product, back to the type of ``a``, weight.

    ``plus_one`` is Gemma's (1 + weight), which goes back to the type of ``a`` last.
    """
    data = tape.single(a)
    mean = _mean_of_squares(tape, data, width)
    normed = tape.mul(data, _rsqrt(tape, tape.shift(mean)))
    weight = tape.weight(width)
    if plus_one:
        return tape.cast(tape.mul(normed, tape.shift(weight)), a.size)
    return tape.mul(tape.cast(normed, a.size), weight)


def _mean_of_squares(tape: Tape, data: Value, width: int) -> Value:
    count = data.count.scaled(1.0 / width)
    tape.row("ew", SINGLE, data.bytes.scaled(2))
    tape.row("red", SINGLE, total(data.bytes, count.scaled(SINGLE)))
    tape.keep(data)

    def backward() -> None:
        tape.row("ew", SINGLE, total(data.bytes, count.scaled(SINGLE)))
        tape.row("ew", SINGLE, data.bytes.scaled(4), kernels=2)
        tape.row("ew", SINGLE, data.bytes.scaled(3))
        tape.give(data, SINGLE)

    return tape.made(count, SINGLE, [data], backward)


def _rsqrt(tape: Tape, a: Value) -> Value:
    tape.row("ew", SINGLE, a.bytes.scaled(2))

    def backward() -> None:
        tape.row("ew", SINGLE, a.bytes.scaled(4), kernels=2)
        tape.row("ew", SINGLE, a.bytes.scaled(3))
        tape.give(a, SINGLE)

    result = tape.made(a.count, SINGLE, [a], backward)
    tape.keep(result)
    return result


def gelu_in_parts(tape: Tape, a: Value) -> Value:
    """GELU's tanh form written out in Python (GPT-2's ``gelu_new``): 0.5 x (1 + tanh(c (x + 0.044715 x^3)))."""
    halved = tape.scale(a)
    data = tape.single(a)
    cubed = _cube(tape, data)
    inner = tape.scale(tape.add(a, tape.scale(cubed)))
    return tape.mul(halved, tape.shift(tape.activation(inner, keeps_result=True)))


def _cube(tape: Tape, data: Value) -> Value:
    tape.row("ew", SINGLE, data.bytes.scaled(2))
    tape.keep(data)

    def backward() -> None:
        tape.row("ew", SINGLE, data.bytes.scaled(4), kernels=2)
        tape.row("ew", SINGLE, data.bytes.scaled(3))
        tape.give(data, SINGLE)

    return tape.made(data.count, SINGLE, [data], backward)


def attention(
    tape: Tape, q: Value, k: Value, v: Value, *, head_width: float, keys: float, value_width: float | None = None
) -> Value:
    """Fused attention over ``keys`` positions: 2 products forward, 5 backward (Dao et al. 2022), no stored scores."""
    q, k, v = tape.half(q), tape.half(k), tape.half(v)
    out_width = value_width if value_width is not None else head_width
    rows = q.count.scaled(1.0 / head_width)  # queries x heads
    count, size = rows.scaled(out_width), q.size
    sums = rows.scaled(SINGLE)
    width = (head_width + out_width) / 2
    moved = total(q.bytes, k.bytes, v.bytes, count.scaled(size), sums)
    tape.row("sdpa", size, moved, rows.scaled(4.0 * keys * width), width=width)
    tape.keep(q, k, v)
    tape.keep_bytes(sums.per_sample)

    def backward() -> None:
        flops = rows.scaled(2.0 * keys * (3 * head_width + 2 * out_width))
        back = total(moved, count.scaled(size), q.bytes, k.bytes, v.bytes)
        tape.row("sdpa_bw", size, back, flops, width=width, kernels=2)
        for operand in (v, k, q):
            tape.give(operand, size)

    result = tape.made(count, size, [q, k, v], backward)
    tape.keep(result)
    return result


def softmax(tape: Tape, a: Value) -> Value:
    """Over stored scores, read as they are and written in fp32."""
    tape.row("softmax", SINGLE, total(a.bytes, a.count.scaled(SINGLE)))

    def backward() -> None:
        tape.row("softmax", a.size, total(a.count.scaled(2 * SINGLE), a.bytes))
        tape.give(a, a.size)

    result = tape.made(a.count, SINGLE, [a], backward)
    tape.keep(result)
    return result


def rotary(
    tape: Tape, a: Value, tokens: int, rotated_width: int, share: float = 1.0, *, rejoined: bool = False
) -> Value:
    """x cos + rotate_half(x) sin (Su et al. 2021), on the first ``share`` of each head; the tables are fp32.

    ``rejoined`` heads are put together again even where nothing was left out.
    """
    table = tape.constant(tokens * rotated_width)
    turned = tape.part(a, share) if share < 1 else a
    first, second = tape.part(turned, 0.5), tape.part(turned, 0.5)
    swapped = tape.cat(tape.scale(second), first)
    result = tape.add(tape.mul(turned, table), tape.mul(swapped, table))
    if share < 1:
        return tape.cat(result, tape.part(a, 1 - share))
    return tape.cat(result) if rejoined else result


def embedding(tape: Tape, rows: int, width: int, indices: Value, *, trained: bool = True) -> tuple[Value, Value]:
    """Looked up rows, and the table (for tied outputs)."""
    table = tape.weight(rows, width, trained=trained)
    tape.embedding_parameters += rows * width
    return look_up(tape, table, width, indices), table


def look_up(tape: Tape, table: Value, width: int, indices: Value) -> Value:
    """Rows of a table of ``width``, as many as ``indices``."""
    count = indices.count.scaled(width)
    tape.row("gather", SINGLE, total(count.scaled(2 * SINGLE), indices.bytes))

    def backward() -> None:
        tape.row("gather", SINGLE, total(table.bytes, count.scaled(SINGLE), indices.bytes))
        tape.give(table, SINGLE)

    return tape.made(count, SINGLE, [table], backward)


def first_token(tape: Tape, data: Value, tokens: int) -> Value:
    """The first of ``tokens`` positions; backward the others are filled with zeros."""
    count = data.count.scaled(1.0 / tokens)

    def backward() -> None:
        tape.row("copy", data.size, total(data.bytes, count.scaled(data.size)))
        tape.give(data, data.size)

    return tape.made(count, data.size, [data], backward)


def convolution(
    tape: Tape,
    a: Value,
    channels: tuple[int, int],
    window: tuple[int, ...],
    positions: float,
    *,
    strides: tuple[int, ...] = (1, 1),
    groups: int = 1,
    bias: bool = True,
) -> Value:
    """``channels`` in and out, ``positions`` results a channel and sample."""
    into, out = channels
    own = tape.weight(out, into // groups, *window)
    data, matrix = tape.half(a), tape.half(own)
    offset = tape.half(tape.weight(out)) if bias else None
    count, size = Linear(0.0, out * positions), data.size
    flops = count.scaled(2.0 * (into // groups) * math.prod(window))
    moved = total(data.bytes, matrix.bytes, count.scaled(size))
    name, shape = _convolution_class(into // groups, out // groups, window, strides, groups)
    tape.row(name, size, total(moved, offset.bytes) if offset else moved, flops, **shape)  # type: ignore[arg-type]
    tape.keep(data)

    def backward() -> None:
        for operand, suffix in ((data, "_dg"), (matrix, "_wg")):
            if operand.needs_grad:
                tape.row(name + suffix, size, moved, flops, **shape)  # type: ignore[arg-type]
                tape.give(operand, size)
        if offset is not None:
            tape.give(offset, size, count)

    return tape.made(count, size, [data, matrix], backward)


def _convolution_class(
    into: int, out: int, window: tuple[int, ...], strides: tuple[int, ...], groups: int
) -> tuple[str, dict[str, float]]:
    """The class and its shape key; ``into`` and ``out`` are channels per group."""
    stride, few = common_stride(strides), few_channels(into, out)
    if groups == 1 and math.prod(window) == 1:
        return "conv1", {"width": few}
    if groups == 1:
        return "conv", {"width": few, "kernel_size": shorter_side(window), "stride": stride}
    if into == 1 or out == 1:
        return "dw", {"kernel_size": round(math.prod(window) ** (1.0 / len(window))), "stride": stride}
    return "gconv", {"width": math.sqrt(into * out), "groups": groups}


def cross_entropy(tape: Tape, scores: Value, classes: int, *, in_single: bool = False) -> Value:
    """Mean over all rows of scores; ``in_single`` where the model casts them to fp32 before."""
    data = tape.single(scores) if in_single else scores
    rows = data.count.scaled(1.0 / classes)
    tape.loss_bytes = data.count.scaled(SINGLE + data.size)
    tape.row("softmax", SINGLE, total(data.bytes, data.count.scaled(SINGLE)))
    log_probabilities = Value(data.count, SINGLE)
    tape.keep(log_probabilities)
    tape.row("red", SINGLE, total(log_probabilities.bytes, rows.scaled(LONG), Linear(8.0, 0.0)))

    def backward() -> None:
        tape.row("ew", SINGLE, total(data.count.scaled(2 * SINGLE), rows.scaled(LONG), Linear(8.0, 0.0)))
        tape.row("softmax", data.size, total(data.count.scaled(2 * SINGLE), data.bytes))
        tape.give(data, data.size)

    return tape.made(Linear(1.0, 0.0), SINGLE, [data], backward)
