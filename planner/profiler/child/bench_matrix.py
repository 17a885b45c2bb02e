"""Matrix work as networks do it: convolutions, products, attention and recurrence, with their gradients.

Shapes are those of no particular network: channels double where the image halves, as in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from bench_case import Bench, Case


def convolution(
    bench: Bench, inputs: int, outputs: int, size: int, *, kernel: int, stride: int = 1, groups: int = 1
) -> Iterator[Case]:
    """Forward, and the gradients of data and weights apart; a first layer has no gradient of its data."""
    result = size // stride
    name = f"conv {kernel}x{kernel} {inputs}>{outputs}@{size}" + (f" g{groups}" if groups > 1 else "")
    op_class = _class_of_convolution(inputs, kernel, groups)
    flops = 2.0 * bench.batch * outputs * result**2 * (inputs // groups) * kernel**2
    weights = outputs * (inputs // groups) * kernel**2
    moved = 4.0 * (bench.batch * (inputs * size**2 + outputs * result**2) + weights)
    padding = kernel // 2

    def operands() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return (
            bench.random(bench.batch, inputs, size, size),
            bench.random(outputs, inputs // groups, kernel, kernel),
            bench.random(bench.batch, outputs, result, result),
        )

    def forward() -> Callable[[], Any]:
        data, weight, _ = operands()
        return lambda: F.conv2d(data, weight, None, stride, padding, 1, groups)

    def gradient(wanted: list[bool]) -> Callable[[], Any]:
        data, weight, grad = operands()
        backward = torch.ops.aten.convolution_backward
        geometry = ([stride, stride], [padding, padding], [1, 1], False, [0, 0], groups)
        return lambda: backward(grad, data, weight, None, *geometry, wanted)

    shape: dict[str, Any] = {"groups": groups, "kernel_size": kernel}
    shape["width"] = math.sqrt(inputs * outputs) / groups
    yield Case(name, op_class, "forward", flops, moved, 1, forward, **shape)
    if inputs > 3:
        data_gradient = lambda: gradient([True, False, False])  # noqa: E731
        yield Case(name, f"{op_class}_dg", "backward", flops, moved, 1, data_gradient, **shape)
    yield Case(name, f"{op_class}_wg", "backward", flops, moved, 1, lambda: gradient([False, True, False]), **shape)


def _class_of_convolution(channels: int, kernel: int, groups: int) -> str:
    if groups == 1:
        return "conv1" if kernel == 1 else "conv"
    return "dw" if groups == channels else "gconv"


def products(bench: Bench, rows: int, inputs: int, outputs: int) -> Iterator[Case]:
    """A linear layer's product, and the two of its backward pass."""
    name = f"matmul {rows}x{inputs}x{outputs}"
    flops = 2.0 * rows * inputs * outputs
    moved = 4.0 * (rows * inputs + inputs * outputs + rows * outputs)

    def forward() -> Callable[[], Any]:
        data, weight = bench.random(rows, inputs), bench.random(outputs, inputs)
        bias = bench.random(outputs)
        return lambda: F.linear(data, weight, bias)

    def backward() -> Callable[[], Any]:
        data, weight = bench.random(rows, inputs), bench.random(outputs, inputs)
        grad = bench.random(rows, outputs)
        return lambda: (grad @ weight, grad.t() @ data)

    yield Case(name, "mm", "forward", flops, moved, 1, forward)
    yield Case(name, "mm", "backward", 2 * flops, 2 * moved, 2, backward)


def batched_products(bench: Bench) -> Iterator[Case]:
    count, length, width = 8 * bench.batch, 192, 64
    flops = 2.0 * count * length * length * width
    moved = 4.0 * count * (2 * length * width + length * length)

    def forward() -> Callable[[], Any]:
        left, right = bench.random(count, length, width), bench.random(count, length, width)
        return lambda: torch.bmm(left, right.transpose(1, 2))

    yield Case(f"bmm {count}x{length}x{width}", "bmm", "forward", flops, moved, 1, forward)


def attention(bench: Bench) -> Iterator[Case]:
    heads, length, width = 8, 160, 64
    scores = float(bench.batch * heads * length * length)
    operand = 4.0 * bench.batch * heads * length * width

    def qkv(*, grad: bool) -> list[torch.Tensor]:
        return [bench.random(bench.batch, heads, length, width).requires_grad_(grad) for _ in range(3)]

    def forward() -> Callable[[], Any]:
        q, k, v = qkv(grad=False)
        return lambda: F.scaled_dot_product_attention(q, k, v)

    def backward() -> Callable[[], Any]:
        q, k, v = qkv(grad=True)
        out = F.scaled_dot_product_attention(q, k, v)
        grad = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)

    yield Case("attention 160x64", "sdpa", "forward", 4 * scores * width, 4 * operand, 1, forward)
    yield Case("attention 160x64", "sdpa_bw", "backward", 10 * scores * width, 8 * operand, 2, backward)


def recurrent(bench: Bench, hidden: int) -> Iterator[Case]:
    """An LSTM's layer; its recurrent weights are read again at every step."""
    steps, batch = 32, 2 * bench.batch
    flops = 2.0 * steps * batch * 8 * hidden * hidden
    moved = 4.0 * steps * (4 * hidden * hidden + 14 * batch * hidden)

    def layer() -> tuple[torch.nn.LSTM, torch.Tensor]:
        return torch.nn.LSTM(hidden, hidden).to(bench.device), bench.random(steps, batch, hidden).requires_grad_()

    def forward() -> Callable[[], Any]:
        lstm, data = layer()
        return lambda: lstm(data)[0]

    def backward() -> Callable[[], Any]:
        lstm, data = layer()
        out = lstm(data)[0]
        inputs, grad = (data, *lstm.parameters()), torch.randn_like(out)
        return lambda: torch.autograd.grad(out, inputs, grad, retain_graph=True)

    yield Case(f"lstm {hidden}", "rnn", "forward", flops, moved, 4 * steps, forward)
    yield Case(f"lstm {hidden}", "rnn", "backward", 2 * flops, 2 * moved, 4 * steps, backward)
