"""One training step from shapes alone: operations as they are called, their gradients as autograd would run them.

A :class:`Value` has a number of elements, linear in the batch, and a size of element; no data. Each method is an
operation of PyTorch: it writes the forward row, notes what autograd saves, and how the gradient is made. ``finish``
walks back over them. Casts are those of CUDA autocast. The bytes are counted as ``torch_trace`` counts them, so a
network described here and traced there has the same record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from planner.workloads.workload import Linear, Memory, Operation, Phase

HALF, SINGLE, LONG = 2, 4, 8
NOTHING = Linear(0.0, 0.0)


def total(*lines: Linear) -> Linear:
    return Linear(sum(line.fixed for line in lines), sum(line.per_sample for line in lines))


class Value:
    """A tensor without data; ``leaf`` is a parameter (its fp32 bytes are counted elsewhere), ``base`` what it views."""

    __slots__ = ("base", "count", "leaf", "needs_grad", "size")

    def __init__(self, count: Linear, size: int, *, needs_grad: bool = True, leaf: bool = False) -> None:
        self.count = count
        self.size = size
        self.needs_grad = needs_grad
        self.leaf = leaf
        self.base = self

    def viewing(self, other: Value) -> Value:
        """Itself, as part of ``other``'s storage: keeping it keeps all of that."""
        self.base = other.base
        return self

    @property
    def bytes(self) -> Linear:
        return self.count.scaled(self.size)


Backward = Callable[[], None]


class Tape:
    """Collects a step; with ``amp`` as under autocast, else all in fp32.

    ``parameters`` counts what :meth:`weight` made, ``trained_parameters`` and ``parameter_tensors`` those of it with a
    gradient; ``saved`` is kept for backward, ``loss_bytes`` what the loss's gradient needs beside it at the peak.
    """

    def __init__(self, *, amp: bool) -> None:
        self.amp = amp
        self.operations: list[Operation] = []
        self.parameters = 0
        self.trained_parameters = 0
        self.parameter_tensors = 0
        self.embedding_parameters = 0
        self.saved = NOTHING
        self.loss_bytes = NOTHING
        self._largest = NOTHING
        self._times = 1
        self._phase: Phase = "forward"
        self._nodes: list[tuple[Value, Backward, int]] = []
        self._gradients: dict[Value, Value] = {}
        self._kept: set[Value] = set()
        self._halves: dict[Value, Value] = {}

    # --- bookkeeping ---

    @contextmanager
    def repeated(self, times: int) -> Iterator[None]:
        """What is called inside counts ``times`` times: equal layers one after another."""
        before, self._times = self._times, self._times * times
        try:
            yield
        finally:
            self._times = before

    def finish(self, loss: Value) -> None:
        """Run the backward pass from ``loss``."""
        self._phase = "backward"
        self._gradients[loss] = loss
        for value, backward, times in reversed(self._nodes):
            if value in self._gradients:
                self._times = times
                backward()

    def weight(self, *shape: int, trained: bool = True) -> Value:
        """A parameter; ``trained=False`` makes a buffer or a frozen table."""
        elements = math.prod(shape)
        self.parameters += elements * self._times
        if trained:
            self.trained_parameters += elements * self._times
            self.parameter_tensors += self._times
        return Value(Linear(float(elements), 0.0), SINGLE, needs_grad=trained, leaf=True)

    def given(self, elements: float, size: int = SINGLE) -> Value:
        """An input of ``elements`` a sample; it lives throughout."""
        value = Value(Linear(0.0, float(elements)), size, needs_grad=False)
        self._keep(value)
        return value

    def constant(self, elements: float, size: int = SINGLE) -> Value:
        """Something computed once for all samples, as rotary tables are."""
        return Value(Linear(float(elements), 0.0), size, needs_grad=False)

    def row(
        self,
        op_class: str,
        element_bytes: int,
        moved: Linear,
        flops: Linear = NOTHING,
        *,
        width: float = 0.0,
        groups: int = 0,
        kernel_size: int = 0,
        kernels: float = 1.0,
        stride: float = 1,
    ) -> None:
        """One operation of the current phase."""
        times = self._times
        size = HALF if element_bytes == HALF else SINGLE
        self.operations.append(
            Operation(
                op_class, self._phase, size, width, groups, kernel_size,
                flops.scaled(times), moved.scaled(times), kernels * times, stride,
            )
        )  # fmt: skip

    def made(self, count: Linear, size: int, inputs: Sequence[Value], backward: Backward) -> Value:
        """The result of an operation on ``inputs``, with its gradient's rule."""
        value = Value(count, size, needs_grad=any(given.needs_grad for given in inputs))
        if value.needs_grad:
            self._nodes.append((value, backward, self._times))
            if value.bytes.per_sample > self._largest.per_sample:
                self._largest = value.bytes
        return value

    def memory(self) -> Memory:
        """Live bytes as backward starts: what was saved, and the loss's gradient or two of the widest beside it."""
        beside = max(self.loss_bytes, self._largest.scaled(2.0), key=lambda line: line.per_sample)
        return Memory(total(self.saved, beside), self.saved)

    def keep(self, *values: Value) -> None:
        """Save for backward; once each, and parameters not at all."""
        for value in values:
            self._keep(value)

    def _keep(self, value: Value) -> None:
        base = value.base
        if base not in self._kept and not base.leaf:
            self._kept.add(base)
            self.saved = total(self.saved, base.bytes.scaled(self._times))

    def keep_bytes(self, per_sample: float) -> None:
        """Save bytes that belong to no value (a dropout mask, statistics)."""
        self.saved = total(self.saved, Linear(0.0, per_sample * self._times))

    def give(self, value: Value, size: int, count: Linear | None = None) -> None:
        """Hand ``value`` a gradient of ``count`` elements: summed where it was broadcast, cast, added to one it has."""
        if not value.needs_grad:
            return
        if count is not None and count != value.count:
            self.row("red", size, total(count.scaled(size), value.count.scaled(size)))
        if size != value.size:
            self.row("cast", value.size, value.count.scaled(size + value.size))
        if value in self._gradients:
            self.row("ew", value.size, value.count.scaled(3 * value.size))
        self._gradients[value] = Value(value.count, value.size)

    # --- casts ---

    def cast(self, value: Value, size: int) -> Value:
        """``value`` in another size of element; a parameter is cast once a step."""
        if value.size == size or value.size > SINGLE:
            return value
        if value.leaf and value in self._halves:
            return self._halves[value]
        self.row("cast", size, value.count.scaled(value.size + size))
        result = self.made(value.count, size, [value], lambda: self.give(value, size))
        if value.leaf:
            self._halves[value] = result
            self._keep(result)
        return result

    def half(self, value: Value) -> Value:
        """What autocast gives matrix operations."""
        return self.cast(value, HALF) if self.amp else value

    def single(self, value: Value) -> Value:
        return self.cast(value, SINGLE)

    # --- elementwise ---

    def add(self, a: Value, b: Value) -> Value:
        count, size = _larger(a, b), max(a.size, b.size)
        self.row("ew", size, total(a.bytes, b.bytes, count.scaled(size)))

        def backward() -> None:
            self.give(a, size, count)
            self.give(b, size, count)

        return self.made(count, size, [a, b], backward)

    def mul(self, a: Value, b: Value) -> Value:
        count, size = _larger(a, b), max(a.size, b.size)
        self.row("ew", size, total(a.bytes, b.bytes, count.scaled(size)))
        if a.needs_grad:
            self._keep(b)
        if b.needs_grad:
            self._keep(a)

        def backward() -> None:
            for value, other in ((a, b), (b, a)):
                if value.needs_grad:
                    self.row("ew", size, total(count.scaled(2 * size), other.bytes))
                    self.give(value, size, count)

        return self.made(count, size, [a, b], backward)

    def scale(self, a: Value) -> Value:
        """By a number, or shifted by one that has no gradient: one pass, and one back."""
        self.row("ew", a.size, a.bytes.scaled(2))

        def backward() -> None:
            self.row("ew", a.size, a.bytes.scaled(2))
            self.give(a, a.size)

        return self.made(a.count, a.size, [a], backward)

    def shift(self, a: Value) -> Value:
        """Plus a number: its gradient passes."""
        self.row("ew", a.size, a.bytes.scaled(2))
        return self.made(a.count, a.size, [a], lambda: self.give(a, a.size))

    def masked(self, a: Value) -> Value:
        """Filled where a mask says so: it costs what scaling does."""
        return self.scale(a)

    def activation(self, a: Value, *, keeps_result: bool = False) -> Value:
        """A function with one kernel each way: ReLU and tanh keep their result, GELU and SiLU what they were given."""
        self.row("ew", a.size, a.bytes.scaled(2))

        def backward() -> None:
            self.row("ew", a.size, a.bytes.scaled(3))
            self.give(a, a.size)

        result = self.made(a.count, a.size, [a], backward)
        self._keep(result if keeps_result else a)
        return result

    def dropout(self, a: Value, probability: float) -> Value:
        if probability <= 0:
            return a
        moved = a.count.scaled(2 * a.size + 1)
        self.row("ew", a.size, moved)
        self.keep_bytes(a.count.per_sample)

        def backward() -> None:
            self.row("ew", a.size, moved)
            self.give(a, a.size)

        return self.made(a.count, a.size, [a], backward)

    # --- moving ---

    def copy(self, a: Value) -> Value:
        self.row("copy", a.size, a.bytes.scaled(2))
        return self.made(a.count, a.size, [a], lambda: self.give(a, a.size))

    def copied_back(self, a: Value, passes: float = 1.0) -> Value:
        """A view whose gradient must be made contiguous."""

        def backward() -> None:
            self.row("copy", a.size, a.bytes.scaled(2 * passes), kernels=passes)
            self.give(a, a.size)

        return self.made(a.count, a.size, [a], backward).viewing(a)

    def view(self, a: Value, count: Linear) -> Value:
        """The same data in another shape, or ``count`` of its elements; its gradient passes."""
        return self.made(count, a.size, [a], lambda: self.give(a, a.size)).viewing(a)

    def part(self, a: Value, share: float) -> Value:
        """A slice: a view forward, a copy into zeros backward."""

        def backward() -> None:
            self.row("copy", a.size, a.bytes.scaled(1 + share))
            self.give(a, a.size)

        return self.made(a.count.scaled(share), a.size, [a], backward).viewing(a)

    def split(self, a: Value, *shares: float) -> list[Value]:
        """Views that together are ``a``; backward their gradients are put side by side in one pass."""
        waiting = len(shares)

        def backward() -> None:
            nonlocal waiting
            waiting -= 1
            if waiting == 0:
                self.row("copy", a.size, a.bytes.scaled(2))
                self.give(a, a.size)

        return [self.made(a.count.scaled(share), a.size, [a], backward).viewing(a) for share in shares]

    def expanded(self, a: Value) -> Value:
        """One for every sample, without a copy; backward the samples' gradients are summed."""

        def backward() -> None:
            self.row("red", a.size, Linear(a.bytes.fixed, a.bytes.fixed))
            self.give(a, a.size)

        return self.made(Linear(0.0, a.count.fixed), a.size, [a], backward)

    def cat(self, *parts: Value) -> Value:
        count, size = total(*(part.count for part in parts)), max(part.size for part in parts)
        self.row("copy", size, total(count.scaled(size), *(part.bytes for part in parts)))

        def backward() -> None:
            for part in parts:
                self.give(part, size)

        return self.made(count, size, parts, backward)


def _larger(a: Value, b: Value) -> Linear:
    return a.count if a.count.at(1.0) >= b.count.at(1.0) else b.count
