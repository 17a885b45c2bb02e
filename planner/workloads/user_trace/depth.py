"""A deep stack of equal layers traced at small depths and continued: a transformer's layers cost the same each.

Two depths tell what one layer adds, a third that it adds the same again; where it does not, all layers are traced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from torch import nn

from ..torch_trace import ModelTrace, OpRow, StepTrace

MIN_LAYERS = 16
TRACED_DEPTHS = (2, 3)
CHECKED_DEPTH = 4


def equal_layers(model: nn.Module) -> nn.Module | None:
    """The one stack of at least ``MIN_LAYERS`` layers that look alike; None where there is none or several."""
    stacks = [
        module
        for module in model.modules()
        if isinstance(module, (nn.ModuleList, nn.Sequential)) and len(module) >= MIN_LAYERS and _alike(module)
    ]
    return stacks[0] if len(stacks) == 1 else None


def _alike(stack: nn.Module) -> bool:
    return len({_look(layer) for layer in stack.children()}) == 1


def _look(layer: nn.Module) -> str:
    parameters = [(name, tuple(weight.shape), weight.requires_grad) for name, weight in layer.named_parameters()]
    return f"{layer!r} {parameters}"


def trace_by_depth(stack: nn.Module, trace: Callable[[], ModelTrace]) -> ModelTrace | None:
    """``trace`` at small depths, continued to the stack's own; None where the layers do not cost the same each.

    Counts of parameters are those of the deepest trace: the caller knows the model's.
    """
    layers = len(list(stack.children()))
    at: dict[int, ModelTrace] = {}
    for depth in (*TRACED_DEPTHS, CHECKED_DEPTH):
        with _cut_to(stack, depth):
            at[depth] = trace()
    shallow, deeper = (at[depth] for depth in TRACED_DEPTHS)
    checked = _continued(shallow, deeper, CHECKED_DEPTH)
    truth = at[CHECKED_DEPTH]
    if checked is None or not all(
        _same(predicted, seen)
        for predicted, seen in zip((*checked.amp, *checked.fp32), (*truth.amp, *truth.fp32), strict=True)
    ):
        return None
    return _continued(shallow, deeper, layers)


@contextlib.contextmanager
def _cut_to(stack: nn.Module, depth: int) -> Iterator[None]:
    whole = stack._modules
    stack._modules = dict(list(whole.items())[:depth])
    try:
        yield
    finally:
        stack._modules = whole


def _continued(shallow: ModelTrace, deeper: ModelTrace, layers: int) -> ModelTrace | None:
    amp = _continued_steps(shallow.amp, deeper.amp, layers)
    fp32 = _continued_steps(shallow.fp32, deeper.fp32, layers)
    return None if amp is None or fp32 is None else deeper._replace(amp=amp, fp32=fp32)


def _continued_steps(
    shallow: Sequence[StepTrace], deeper: Sequence[StepTrace], layers: int
) -> tuple[StepTrace, ...] | None:
    """The steps (one a batch size) at ``layers``: the rows of one more layer inserted as often as needed."""
    more = layers - TRACED_DEPTHS[0]
    rows: list[list[OpRow]] = [[] for _ in shallow]
    for phase in ("forward", "backward"):
        short = [[row for row in step.rows if row.phase == phase] for step in shallow]
        long = [[row for row in step.rows if row.phase == phase] for step in deeper]
        start = min(_common_prefix(a, b) for a, b in zip(short, long, strict=True))
        for into, a, b in zip(rows, short, long, strict=True):
            added = len(b) - len(a)
            if added < 0 or b[start + added :] != a[start:]:
                return None
            into += [*a[:start], *(_times(row, more) for row in b[start : start + added]), *a[start:]]
    return tuple(
        StepTrace(
            step_rows,
            a.peak_live_bytes + more * (b.peak_live_bytes - a.peak_live_bytes),
            a.saved_bytes + more * (b.saved_bytes - a.saved_bytes),
        )
        for step_rows, a, b in zip(rows, shallow, deeper, strict=True)
    )


def _common_prefix(first: Sequence[OpRow], second: Sequence[OpRow]) -> int:
    length = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        length += 1
    return length


def _times(row: OpRow, count: int) -> OpRow:
    return row._replace(flops=row.flops * count, bytes=row.bytes * count, kernels=row.kernels * count)


def _same(predicted: StepTrace, seen: StepTrace) -> bool:
    """Whether two steps have the same sums; the allocator's grain may move the memory peak a little."""
    sums = [
        [sum(amounts) for amounts in zip(*((row.flops, row.bytes, row.kernels) for row in step.rows), strict=True)]
        for step in (predicted, seen)
    ]
    return sums[0] == sums[1] and abs(predicted.peak_live_bytes / seen.peak_live_bytes - 1) < 0.001
