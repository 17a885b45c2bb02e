"""The same network with attention scores stored, as PyTorch before 2.0 and much research code compute it.

A fused ``sdpa`` row of head width d holds P = FLOPs / (4 d) scores. Unfused, the P scores are written, normalised in
fp32, cast back and read again, forward and backward; what fused attention recomputes backward is then read instead.
"""

from __future__ import annotations

from planner.workloads.workload import Linear, Memory, Operation, Workload


def with_stored_scores(workload: Workload) -> Workload:
    """The workload with every fused attention row replaced by matrix products and softmax over stored scores."""
    fused = [op for op in workload.operations if op.op_class in ("sdpa", "sdpa_bw")]
    if not fused:
        return workload
    others = tuple(op for op in workload.operations if op.op_class not in ("sdpa", "sdpa_bw"))
    unfused = tuple(row for op in fused for row in (_forward(op) if op.op_class == "sdpa" else _backward(op)))
    forward = [op for op in fused if op.op_class == "sdpa"]
    return workload._replace(
        operations=others + unfused,
        memory_amp=_with_scores(workload.memory_amp, forward, amp=True),
        memory_fp32=_with_scores(workload.memory_fp32, forward, amp=False),
    )


def _scores(op: Operation) -> Linear:
    """P: elements of the score matrices. Forward two products of 2 P d FLOPs, backward five."""
    products = 2 if op.op_class == "sdpa" else 5
    return op.flops.scaled(1.0 / (2 * products * op.width))


def _forward(op: Operation) -> list[Operation]:
    scores, size = _scores(op), op.element_bytes
    products = op._replace(
        op_class="bmm", width=0.0, kernels=2 * op.kernels, bytes=_sum(op.bytes, scores.scaled(2 * size))
    )
    softmax = _over_scores(op, "softmax", scores, size + 4, 4, op.kernels)
    return [products, softmax, *_around(op, op.kernels, copies=3), *_casts(op, scores, 2, op.kernels)]


def _backward(op: Operation) -> list[Operation]:
    scores, size, calls = _scores(op), op.element_bytes, op.kernels / 2
    products = op._replace(
        op_class="bmm",
        width=0.0,
        kernels=4 * calls,
        flops=op.flops.scaled(4 / 5),
        bytes=_sum(op.bytes, scores.scaled(4 * size)),
    )
    softmax = _over_scores(op, "softmax", scores, 8 + size, size, calls)
    return [products, softmax, *_around(op, calls, copies=1), *_casts(op, scores, 4, calls)]


def _around(op: Operation, calls: float, copies: int) -> list[Operation]:
    """Scaling the queries, and making heads contiguous; the row's bytes are those of about four such tensors (eight
    backward)."""
    pass_over_one = op.bytes.scaled(0.5 if op.phase == "forward" else 0.25)
    blank = op._replace(width=0.0, flops=Linear(0.0, 0.0))
    return [
        blank._replace(op_class="ew", bytes=pass_over_one, kernels=calls),
        blank._replace(op_class="copy", bytes=pass_over_one.scaled(copies), kernels=copies * calls),
    ]


def _casts(op: Operation, scores: Linear, element_bytes: int, calls: float) -> list[Operation]:
    """Between half products and the fp32 softmax; none when everything is fp32."""
    return [_over_scores(op, "cast", scores, 6, element_bytes, calls)] if op.element_bytes == 2 else []


def _over_scores(
    op: Operation, op_class: str, scores: Linear, bytes_each: int, element_bytes: int, calls: float
) -> Operation:
    moved = scores.scaled(bytes_each)
    return Operation(op_class, op.phase, element_bytes, 0.0, 0, 0, Linear(0.0, 0.0), moved, calls)


def _with_scores(memory: Memory, fused: list[Operation], *, amp: bool) -> Memory:
    """Backward keeps the normalised scores, under autocast their half copy too, but no longer the attention output."""
    changes = []
    for op in fused:
        half = amp and op.element_bytes == 2
        output_bytes = op.bytes.scaled((0.25 if half else 0.5) if op.element_bytes == 2 else 0.25)
        changes += [_scores(op).scaled(6.0 if half else 4.0), output_bytes.scaled(-1.0)]
    return Memory(_sum(memory.live_bytes, *changes), _sum(memory.saved_bytes, *changes))


def _sum(*lines: Linear) -> Linear:
    return Linear(sum(line.fixed for line in lines), sum(line.per_sample for line in lines))
