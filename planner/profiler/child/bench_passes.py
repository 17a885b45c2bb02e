"""Passes over memory as networks make them: elementwise functions, normalisation, pooling, a vocabulary's ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from bench_case import Bench, Case

VOCABULARY = 16390  # as little divisible as vocabularies are


def elementwise(bench: Bench) -> Iterator[Case]:
    """Sums, rectifiers and copies of large and small tensors."""
    for elements in (1 << 18, 1 << 20, 6 << 20):
        yield from elementwise_of(bench, elements)


def elementwise_of(bench: Bench, elements: int) -> Iterator[Case]:
    name, size = f"{elements >> 10}k", 4.0 * elements

    def add() -> Callable[[], Any]:
        left, right = bench.random(elements), bench.random(elements)
        return lambda: left + right

    def relu() -> Callable[[], Any]:
        data = bench.random(elements)
        return lambda: torch.relu(data)

    def gate() -> Callable[[], Any]:
        grad, data = bench.random(elements), bench.random(elements)
        return lambda: torch.ops.aten.threshold_backward(grad, data, 0)

    def clone() -> Callable[[], Any]:
        data = bench.random(elements)
        return lambda: data.clone()

    yield Case(f"add {name}", "ew", "forward", 0.0, 3 * size, 1, add)
    yield Case(f"relu {name}", "ew", "forward", 0.0, 2 * size, 1, relu)
    yield Case(f"relu backward {name}", "ew", "backward", 0.0, 3 * size, 1, gate)
    yield Case(f"clone {name}", "copy", "forward", 0.0, 2 * size, 1, clone)


def transformer_parts(bench: Bench) -> Iterator[Case]:
    """What a transformer's block has besides products: costly functions, dropout, layer normalisation."""
    native = torch.ops.aten
    rows, width = 512, 640
    inner, size = 4 * rows * width, 4.0 * rows * width

    def gelu() -> Callable[[], Any]:
        data = bench.random(inner)
        return lambda: F.gelu(data)

    def gelu_backward() -> Callable[[], Any]:
        grad, data = bench.random(inner), bench.random(inner)
        return lambda: native.gelu_backward(grad, data)

    def dropout() -> Callable[[], Any]:
        data = bench.random(rows, width)
        return lambda: F.dropout(data, 0.1)

    def layer_norm() -> Callable[[], Any]:
        data, scale = bench.random(rows, width), bench.random(width)
        return lambda: native.native_layer_norm(data, [width], scale, scale, 1e-5)

    def layer_norm_backward() -> Callable[[], Any]:
        data, scale = bench.random(rows, width), bench.random(width)
        grad = torch.randn_like(data)
        _, mean, rstd = native.native_layer_norm(data, [width], scale, scale, 1e-5)
        rest = ([width], mean, rstd, scale, scale, [True, True, True])
        return lambda: native.native_layer_norm_backward(grad, data, *rest)

    yield Case("gelu", "gelu", "forward", 0.0, 8 * size, 1, gelu)
    yield Case("gelu", "gelu", "backward", 0.0, 12 * size, 1, gelu_backward)
    yield Case("dropout", "dropout", "forward", 0.0, 2.25 * size, 1, dropout)
    yield Case("layer norm", "ln", "forward", 0.0, 2 * size, 1, layer_norm)
    yield Case("layer norm", "ln", "backward", 0.0, 3 * size, 1, layer_norm_backward)


def normalisation(bench: Bench) -> Iterator[Case]:
    native = torch.ops.aten

    def operands(channels: int, size: int) -> tuple[torch.Tensor, ...]:
        scale = torch.ones(channels, device=bench.device)
        data = bench.random(bench.batch, channels, size, size)
        return data, scale, torch.zeros_like(scale), torch.zeros_like(scale), torch.ones_like(scale)

    for channels, size in ((192, 14), (96, 28), (96, 56)):
        moved = 4.0 * bench.batch * channels * size**2

        def forward(channels: int = channels, size: int = size) -> Callable[[], Any]:
            data, scale, shift, mean, var = operands(channels, size)
            return lambda: native.native_batch_norm(data, scale, shift, mean, var, True, 0.1, 1e-5)

        def backward(channels: int = channels, size: int = size) -> Callable[[], Any]:
            data, scale, shift, mean, var = operands(channels, size)
            _, saved_mean, saved_std = native.native_batch_norm(data, scale, shift, mean, var, True, 0.1, 1e-5)
            grad = torch.randn_like(data)
            saved = (mean, var, saved_mean, saved_std, True, 1e-5, [True, True, True])
            return lambda: native.native_batch_norm_backward(grad, data, scale, *saved)

        yield Case(f"batch norm {channels}@{size}", "bn", "forward", 0.0, 2 * moved, 1, forward)
        yield Case(f"batch norm {channels}@{size}", "bn", "backward", 0.0, 3 * moved, 1, backward)


def pooling(bench: Bench) -> Iterator[Case]:
    channels, size = 48, 112
    data_bytes = 4.0 * bench.batch * channels * size**2
    pooled_bytes = 3 * data_bytes / 4  # values and 8-byte indices at a quarter of the area

    def forward() -> Callable[[], Any]:
        data = bench.random(bench.batch, channels, size, size)
        return lambda: F.max_pool2d_with_indices(data, 3, 2, 1)

    def backward() -> Callable[[], Any]:
        data = bench.random(bench.batch, channels, size, size)
        out, indices = F.max_pool2d_with_indices(data, 3, 2, 1)
        window = ([3, 3], [2, 2], [1, 1], [1, 1], False, indices)
        return lambda: torch.ops.aten.max_pool2d_with_indices_backward(out, data, *window)

    yield Case("max pool", "pool", "forward", 0.0, data_bytes + pooled_bytes, 1, forward)
    yield Case("max pool", "pool", "backward", 0.0, 2 * data_bytes + pooled_bytes, 1, backward)


def vocabulary(bench: Bench) -> Iterator[Case]:
    """A language model's ends: look-ups in a large table, and the softmax over it, whose tensors are large."""
    native = torch.ops.aten
    rows, classes, width = 1024, VOCABULARY, 512
    scores = 4.0 * rows * classes

    def log_softmax() -> Callable[[], Any]:
        data = bench.random(rows, classes)
        return lambda: F.log_softmax(data, -1)

    def log_softmax_backward() -> Callable[[], Any]:
        grad, out = bench.random(rows, classes), bench.random(rows, classes)
        return lambda: native._log_softmax_backward_data(grad, out, -1, torch.float32)

    def loss_backward() -> Callable[[], Any]:
        labels = torch.randint(0, classes, (rows,), device=bench.device)
        data, one = bench.random(rows, classes), torch.tensor(1.0, device=bench.device)
        total = torch.tensor(float(rows), device=bench.device)
        return lambda: native.nll_loss_backward(one, data, labels, None, 1, -100, total)

    def column_sum() -> Callable[[], Any]:
        data = bench.random(rows, classes)
        return lambda: data.sum(0)

    def look_up() -> Callable[[], Any]:
        table = bench.random(classes, width)
        index = torch.randint(0, classes, (rows,), device=bench.device)
        return lambda: F.embedding(index, table)

    def look_up_backward() -> Callable[[], Any]:
        grad = bench.random(rows, width)
        index = torch.randint(0, classes, (rows,), device=bench.device)
        return lambda: native.embedding_dense_backward(grad, index, classes, -1, False)

    yield Case("embedding", "gather", "forward", 0.0, 8.0 * rows * width, 1, look_up)
    yield Case("embedding", "gather", "backward", 0.0, 4.0 * (rows + classes) * width, 1, look_up_backward)
    yield Case("log softmax", "softmax", "forward", 0.0, 2 * scores, 1, log_softmax)
    yield Case("log softmax", "softmax", "backward", 0.0, 3 * scores, 1, log_softmax_backward)
    yield Case("column sum", "red", "backward", 0.0, scores, 1, column_sum)
    yield Case("loss backward", "red", "backward", 0.0, scores, 1, loss_backward)
