"""What is measured: one call for each class of operations, with the FLOPs and bytes that its rate is taken from.

Shapes are those of no particular network: channels double where the image halves, as in all of them. Needs only torch:
``torch_bench.py``, beside it, times the calls in the user's interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)

VOCABULARY = 16390  # as little divisible as vocabularies are
_SGD_MOMENTUM = {"lr": 1e-3, "momentum": 0.9}
_OPTIMIZERS: dict[str, Callable[[list[torch.Tensor]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, **_SGD_MOMENTUM),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, **_SGD_MOMENTUM),
}


class Case(NamedTuple):
    """One thing to time. ``build`` makes its operands and returns the call.

    ``width``, ``groups`` and ``kernel_size`` are a convolution's as in the model's operation records; ``devices`` is
    how many take part.
    """

    name: str
    op_class: str
    phase: str
    flops: float
    bytes: float
    kernels: float
    build: Callable[[], Callable[[], Any]]
    element_bytes: int = 4
    width: float = 0.0
    groups: int = 1
    kernel_size: int = 0
    devices: int = 1


class Bench(NamedTuple):
    """Where and in which type it is measured; ``batch`` is large enough to fill the device."""

    device: torch.device
    batch: int
    type: torch.dtype = torch.float32

    def random(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, device=self.device, dtype=self.type)

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        elif self.device.type == "mps":
            torch.mps.synchronize()


def cases(bench: Bench) -> Iterator[Case]:
    """All cases that every device has."""
    yield from _overhead(bench)
    for optimizer in _OPTIMIZERS:
        yield from _updates(bench, optimizer)
    yield from _products(bench, 512, 640, 640)
    yield from _products(bench, 512, 640, 2560)
    yield from _products(bench, bench.batch, 512, 1000)
    yield from _attention(bench)
    yield from _transformer_parts(bench)
    for hidden in (512, 450):  # one that fills vectors and cache lines, and one that does not
        yield from _recurrent(bench, hidden)
    for channels, size in ((48, 56), (96, 28), (192, 14), (384, 7)):
        yield from _convolution(bench, channels, channels, size, kernel=3)
    for inputs, outputs, size in ((48, 192, 56), (192, 48, 56), (384, 96, 28), (192, 768, 14), (16, 96, 56)):
        yield from _convolution(bench, inputs, outputs, size, kernel=1)
    for channels, size in ((96, 56), (192, 28), (384, 14)):
        yield from _convolution(bench, channels, channels, size, kernel=3, groups=channels)
    yield from _normalisation(bench)
    yield from _elementwise(bench)
    yield from _convolution(bench, 3, 48, 224, kernel=7, stride=2)
    yield from _pooling(bench)
    yield from _vocabulary(bench)
    yield from _products(bench, 1024, 512, VOCABULARY)
    yield from _convolution(bench, 192, 192, 28, kernel=3, groups=32)
    yield from _batched_products(bench)


def accelerator_cases(bench: Bench) -> Iterator[Case]:
    """What an accelerator has beside the rest: its engines, its memory and its links at their best; 2-byte types."""
    yield from _engines(bench)
    yield from _memory(bench)
    yield from _links(bench)
    half = bench._replace(type=half_type(bench.device))
    for case in _matrix_cases(half):
        yield case._replace(name=f"{case.name} half", bytes=case.bytes / 2, element_bytes=2)


def half_type(device: torch.device) -> torch.dtype:
    """The 2-byte type that automatic mixed precision takes here: GPUs that have TF32 have bf16."""
    return torch.bfloat16 if _has_tf32(device) else torch.float16


def _matrix_cases(bench: Bench) -> Iterator[Case]:
    yield from _products(bench, bench.batch * 64, 640, 2560)
    yield from _attention(bench)
    for channels, size in ((48, 56), (96, 28), (192, 14), (384, 7)):
        yield from _convolution(bench, channels, channels, size, kernel=3)
    for inputs, outputs, size in ((48, 192, 56), (192, 48, 56), (192, 768, 14)):
        yield from _convolution(bench, inputs, outputs, size, kernel=1)
    for channels, size in ((96, 56), (384, 14)):
        yield from _convolution(bench, channels, channels, size, kernel=3, groups=channels)
    yield from _batched_products(bench)


def _engines(bench: Bench) -> Iterator[Case]:
    """Square products so large that nothing but arithmetic counts, by type; 'tfloat32' is fp32 on the matrix engine."""
    for size in (4096, 8192):
        for name in ("float32", "tfloat32", "float16", "bfloat16"):
            kind = torch.float32 if name == "tfloat32" else getattr(torch, name)
            if name == "tfloat32" and not _has_tf32(bench.device):
                continue

            def product(size: int = size, name: str = name, kind: torch.dtype = kind) -> Callable[[], Any]:
                left, right = bench.random(size, size).to(kind), bench.random(size, size).to(kind)
                if name != "tfloat32":
                    return lambda: left @ right

                def on_matrix_engine() -> None:
                    torch.set_float32_matmul_precision("high")
                    left @ right
                    torch.set_float32_matmul_precision("highest")

                return on_matrix_engine

            moved = 3.0 * size**2 * kind.itemsize
            yield Case(
                f"matmul {size} {name}", f"product {name}", "forward", 2.0 * size**3, moved, 1, product, kind.itemsize
            )


def _has_tf32(device: torch.device) -> bool:
    return device.type == "cuda" and bool(torch.cuda.get_device_capability(device) >= (8, 0))


def _memory(bench: Bench) -> Iterator[Case]:
    """Sums and copies of 256 MB: several times what any cache holds."""
    for case in _elementwise_of(bench, 64 << 20):
        yield case._replace(op_class="moved")


def _links(bench: Bench) -> Iterator[Case]:
    count = 64 << 20

    def from_host() -> Callable[[], Any]:
        host = torch.empty(count, pin_memory=bench.device.type == "cuda")
        return lambda: host.to(bench.device, non_blocking=True)

    yield Case("copy from host 256 MB", "host copy", "forward", 0.0, 4.0 * count, 1, from_host)
    devices = torch.cuda.device_count() if bench.device.type == "cuda" else 0
    if devices > 1:

        def all_reduce() -> Callable[[], Any]:
            from torch.cuda import nccl

            parts = [torch.ones(count, device=f"cuda:{number}") for number in range(devices)]
            return lambda: nccl.all_reduce(parts)

        yield Case(
            f"all-reduce 256 MB on {devices}",
            "all-reduce",
            "forward",
            0.0,
            4.0 * count,
            1,
            all_reduce,
            devices=devices,
        )


def _class_of_convolution(channels: int, kernel: int, groups: int) -> str:
    if groups == 1:
        return "conv1" if kernel == 1 else "conv"
    return "dw" if groups == channels else "gconv"


def _convolution(
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


def _products(bench: Bench, rows: int, inputs: int, outputs: int) -> Iterator[Case]:
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


def _batched_products(bench: Bench) -> Iterator[Case]:
    count, length, width = 8 * bench.batch, 192, 64
    flops = 2.0 * count * length * length * width
    moved = 4.0 * count * (2 * length * width + length * length)

    def forward() -> Callable[[], Any]:
        left, right = bench.random(count, length, width), bench.random(count, length, width)
        return lambda: torch.bmm(left, right.transpose(1, 2))

    yield Case(f"bmm {count}x{length}x{width}", "bmm", "forward", flops, moved, 1, forward)


def _elementwise(bench: Bench) -> Iterator[Case]:
    """Sums, rectifiers and copies of large and small tensors."""
    for elements in (1 << 18, 1 << 20, 6 << 20):
        yield from _elementwise_of(bench, elements)


def _elementwise_of(bench: Bench, elements: int) -> Iterator[Case]:
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


def _transformer_parts(bench: Bench) -> Iterator[Case]:
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


def _normalisation(bench: Bench) -> Iterator[Case]:
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


def _pooling(bench: Bench) -> Iterator[Case]:
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


def _vocabulary(bench: Bench) -> Iterator[Case]:
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


def _attention(bench: Bench) -> Iterator[Case]:
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


def _recurrent(bench: Bench, hidden: int) -> Iterator[Case]:
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


def held_memory(bench: Bench) -> Iterator[Case]:
    """Writing blocks that are kept until the end, as a step keeps its activations; and the same blocks once more.

    The difference is what the system takes for handing out the memory anew in every step.
    """
    sizes = [bench.batch * count << 10 for count in (768, 384, 384, 192, 192, 192, 192, 96, 96, 96, 96, 48, 48, 48, 48)]

    def hold() -> Callable[[], Any]:
        def step() -> None:
            kept = [torch.empty(size, device=bench.device).fill_(1.0) for size in (*sizes, *sizes)]
            while kept:
                kept.append(torch.empty_like(kept[-1]).fill_(1.0))
                del kept[-2:]

        return step

    def rewrite() -> Callable[[], Any]:
        kept = [torch.empty(size, device=bench.device) for size in sizes]

        def step() -> None:
            for block in kept * 4:
                block.fill_(1.0)

        return step

    held = 8.0 * sum(sizes)
    yield Case("memory held", "held", "forward", 0.0, held, 4 * len(sizes), hold)
    yield Case("memory rewritten", "rewritten", "forward", 0.0, held, 4 * len(sizes), rewrite)


def _overhead(bench: Bench) -> Iterator[Case]:
    """What an operation costs that does nothing: dispatch, autograd's node, and its backward call."""
    count = 100

    def build() -> Callable[[], Any]:
        start = bench.random(8).requires_grad_()

        def chain() -> Any:
            value = start
            for _ in range(count):
                value = value * 1.5
            return value

        return chain

    def build_backward() -> Callable[[], Any]:
        chain = build()

        def both() -> None:
            chain().sum().backward()

        return both

    yield Case("100 tiny operations", "launch", "forward", 0.0, 0.0, count, build)
    yield Case("100 tiny operations", "launch", "both", 0.0, 0.0, 2 * count, build_backward)


def _updates(bench: Bench, optimizer: str) -> Iterator[Case]:
    """An update of few large tensors: small ones cost what launching them does."""
    for count, elements in ((6, 1600 << 10), (1, 10 << 20)):

        def build(count: int = count, elements: int = elements) -> Callable[[], Any]:
            parameters = [bench.random(elements).requires_grad_() for _ in range(count)]
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            update: Callable[[], Any] = _OPTIMIZERS[optimizer](parameters).step
            return update

        name, size = f"{optimizer} {count}x{elements}", 4.0 * count * elements
        yield Case(name, f"update {optimizer}", "update", 0.0, size, count, build)
