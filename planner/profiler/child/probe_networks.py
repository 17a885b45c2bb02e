"""Small networks of five kinds, with the operations of one training step: what do operations take inside a network?

Alone, an operation finds its memory warm and kept; inside a step it does not. The ratio of a probe's step to the sum of
its operations at the rates of their classes is what the surroundings cost, by kind of network. None of the probes is a
published network; they only have the layers of their kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import nn

WORDS = 16390


class Row(NamedTuple):
    """Operations of one class: FLOPs, bytes read and written, calls."""

    op_class: str
    flops: float
    bytes: float
    kernels: float


class Probe(NamedTuple):
    """A network with its step. ``held_bytes`` are activations kept for the backward pass, and all gradients."""

    name: str
    kind: str
    optimizer: str
    parameters: int
    held_bytes: float
    rows: list[Row]
    step: Callable[[], None]


class Ledger:
    """Collects the rows of a network while it is put together, for a batch of this size."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.rows: list[Row] = []
        self.saved_bytes = 0.0

    def add(self, op_class: str, flops: float, moved: float, kernels: float = 1) -> None:
        self.rows.append(Row(op_class, flops, moved, kernels))

    def convolution(
        self, inputs: int, outputs: int, size: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> nn.Module:
        result = size // stride
        weights = outputs * (inputs // groups) * kernel**2
        flops = 2.0 * self.batch * result**2 * weights
        moved = 4.0 * (self.batch * (inputs * size**2 + outputs * result**2) + weights)
        name = "dw" if groups > 1 else "conv1" if kernel == 1 else "conv"
        for suffix in ("", "_dg", "_wg") if inputs > 3 else ("", "_wg"):
            self.add(name + suffix, flops, moved)
        self.saved_bytes += 4.0 * self.batch * inputs * size**2
        return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)

    def normalised(self, channels: int, size: int, activation: type[nn.Module] | None = nn.ReLU) -> list[nn.Module]:
        """Batch normalisation and, unless None, what follows it in place."""
        moved = 4.0 * self.batch * channels * size**2
        self.add("bn", 0.0, 5 * moved, 2)
        self.saved_bytes += moved
        if activation is None:
            return [nn.BatchNorm2d(channels)]
        self.add("ew", 0.0, 5 * moved, 2)
        if activation is nn.ReLU6:  # autograd keeps a copy of what it overwrites
            self.add("copy", 0.0, 2 * moved)
            self.saved_bytes += moved
        return [nn.BatchNorm2d(channels), activation(inplace=True)]

    def linear(self, rows: int, inputs: int, outputs: int) -> nn.Linear:
        flops = 2.0 * rows * inputs * outputs
        self.add("mm", 3 * flops, 12.0 * (rows * inputs + inputs * outputs + rows * outputs), 3)
        self.saved_bytes += 4.0 * rows * inputs
        return nn.Linear(inputs, outputs, bias=False)

    def cross_entropy(self, rows: int, classes: int) -> None:
        scores = 4.0 * rows * classes
        self.add("softmax", 0.0, 5 * scores, 2)
        self.add("red", 0.0, 2 * scores, 2)
        self.saved_bytes += scores


class Residual(nn.Module):  # type: ignore[misc]  # torch is not installed where types are checked
    """A body whose input is added to its output."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = data + self.body(data)
        return result


def probes(batch: int) -> list[Callable[[], Probe]]:
    return [
        lambda: plain(batch),
        lambda: bottleneck(batch),
        lambda: inverted(batch),
        lambda: transformer(batch // 2),
        lambda: recurrent(2 * batch),
    ]


def plain(batch: int) -> Probe:
    """Two 3x3 convolutions and a sum at three sizes, after a 7x7 one and a pool."""
    book = Ledger(batch)
    layers = [book.convolution(3, 48, 224, 7, 2), *book.normalised(48, 112), nn.MaxPool2d(3, 2, 1)]
    book.add("pool", 0.0, 4.0 * batch * 48 * (4.5 * 112**2), 2)
    for inputs, outputs, size in ((48, 48, 56), (48, 96, 56), (96, 192, 28)):
        stride = outputs // inputs
        result = size // stride
        layers += [book.convolution(inputs, outputs, size, 3, stride), *book.normalised(outputs, result)]
        body = [book.convolution(outputs, outputs, result, 3), *book.normalised(outputs, result)]
        body += [book.convolution(outputs, outputs, result, 3), *book.normalised(outputs, result, None)]
        book.add("ew", 0.0, 24.0 * batch * outputs * result**2, 2)
        layers.append(Residual(nn.Sequential(*body)))
    return _classifier("plain convolutions", "convolutional", book, layers, 192, 14)


def bottleneck(batch: int) -> Probe:
    """1x1, 3x3, 1x1, narrow in between, and a sum: twice at three sizes, after a 7x7 one and a pool."""
    book = Ledger(batch)
    layers = [book.convolution(3, 40, 224, 7, 2), *book.normalised(40, 112), nn.MaxPool2d(3, 2, 1)]
    book.add("pool", 0.0, 4.0 * batch * 40 * (4.5 * 112**2), 2)
    before = 40
    for width, size in ((40, 56), (80, 28), (160, 14)):
        for _ in range(2):
            wide = 4 * width
            if before != wide:
                stride = 1 if before == 40 else 2
                layers += [book.convolution(before, wide, stride * size, 1, stride), *book.normalised(wide, size)]
            body = [book.convolution(wide, width, size, 1), *book.normalised(width, size)]
            body += [book.convolution(width, width, size, 3), *book.normalised(width, size)]
            body += [book.convolution(width, wide, size, 1), *book.normalised(wide, size, None)]
            book.add("ew", 0.0, 24.0 * batch * wide * size**2, 2)
            layers += [Residual(nn.Sequential(*body)), nn.ReLU(inplace=True)]
            book.add("ew", 0.0, 20.0 * batch * wide * size**2, 2)
            before = wide
    return _classifier("bottlenecks", "bottleneck", book, layers, 640, 14)


def inverted(batch: int) -> Probe:
    """1x1, depthwise 3x3, 1x1, wide in between."""
    book = Ledger(batch)
    layers = [book.convolution(3, 16, 224, 3, 2), *book.normalised(16, 112, nn.ReLU6)]
    for inputs, outputs, size, stride in (
        (16, 24, 112, 2),
        (24, 24, 56, 1),
        (24, 48, 56, 2),
        (48, 48, 28, 1),
        (48, 96, 28, 2),
    ):
        inner, result = 6 * inputs, size // stride
        body = [book.convolution(inputs, inner, size, 1), *book.normalised(inner, size, nn.ReLU6)]
        body += [book.convolution(inner, inner, size, 3, stride, inner), *book.normalised(inner, result, nn.ReLU6)]
        body += [book.convolution(inner, outputs, result, 1), *book.normalised(outputs, result, None)]
        if inputs == outputs:
            book.add("ew", 0.0, 24.0 * batch * outputs * result**2, 2)
            layers.append(Residual(nn.Sequential(*body)))
        else:
            layers += body
    return _classifier("inverted residuals", "depthwise", book, layers, 96, 14)


def _classifier(name: str, kind: str, book: Ledger, layers: list[nn.Module], channels: int, size: int) -> Probe:
    """The layers with a mean over the image, a linear layer and cross entropy, under SGD."""
    book.add("red", 0.0, 4.0 * book.batch * channels * size**2)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), book.linear(book.batch, channels, 1000)]
    book.cross_entropy(book.batch, 1000)
    network = nn.Sequential(*layers)
    images, labels = torch.randn(book.batch, 3, 224, 224), torch.randint(0, 1000, (book.batch,))
    return _probe(name, kind, "sgd", book, network, lambda: F.cross_entropy(network(images), labels))


def transformer(batch: int, length: int = 128, width: int = 640, depth: int = 2) -> Probe:
    """Encoder blocks with dropout over an embedding, predicting words of every eighth place."""
    book = Ledger(batch)
    rows, size = batch * length, 4.0 * batch * length * width
    embedding = nn.Embedding(WORDS, width)
    book.add("gather", 0.0, 3 * size + 4.0 * WORDS * width, 2)
    for _ in range(depth):
        for inputs, outputs in ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)):
            book.linear(rows, inputs, outputs)
        scores = float(batch * (width // 64) * length**2)
        book.add("sdpa", 4 * scores * 64, 4 * size)
        book.add("sdpa_bw", 10 * scores * 64, 8 * size, 2)
        book.add("ln", 0.0, 10 * size, 4)
        book.add("gelu", 0.0, 20 * size, 2)
        book.add("dropout", 0.0, 3 * 5.25 * size, 6)
        book.add("ew", 0.0, 2 * 6 * size, 4)
        book.saved_bytes += 8 * size + 8.0 * scores
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, 0.1, "gelu", batch_first=True)
    body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
    head = book.linear(rows // 8, width, WORDS)
    book.cross_entropy(rows // 8, WORDS)
    words = torch.randint(0, WORDS, (batch, length))
    network = nn.ModuleList([embedding, body, head])

    def loss() -> torch.Tensor:
        scores = head(body(embedding(words))[:, ::8])
        return F.cross_entropy(scores.flatten(0, 1), words[:, ::8].flatten())

    return _probe("transformer", "transformer", "adamw", book, network, loss)


def recurrent(batch: int, length: int = 48, width: int = 450) -> Probe:
    """An LSTM over an embedding, predicting every next word: scores are more than the C library keeps (32 MB)."""
    book = Ledger(batch)
    rows, size = batch * length, 4.0 * batch * length * width
    flops = 2.0 * length * batch * 8 * width**2
    moved = 4.0 * length * (4 * width**2 + 14 * batch * width)
    embedding, lstm = nn.Embedding(WORDS, width), nn.LSTM(width, width)
    book.add("gather", 0.0, 3 * size + 4.0 * WORDS * width, 2)
    book.add("rnn", 3 * flops, 3 * moved, 12 * length)
    book.saved_bytes += 8 * size
    head = book.linear(rows, width, WORDS)
    book.cross_entropy(rows, WORDS)
    words = torch.randint(0, WORDS, (length, batch))
    network = nn.ModuleList([embedding, lstm, head])

    def loss() -> torch.Tensor:
        return F.cross_entropy(head(lstm(embedding(words))[0]).flatten(0, 1), words.flatten())

    return _probe("recurrent", "recurrent", "sgd", book, network, loss)


def _probe(
    name: str, kind: str, optimizer: str, book: Ledger, network: nn.Module, loss: Callable[[], torch.Tensor]
) -> Probe:
    network.train()
    parameters = list(network.parameters())
    count = sum(parameter.numel() for parameter in parameters)
    update: Any = (
        torch.optim.AdamW(parameters) if optimizer == "adamw" else torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)
    )

    def step() -> None:
        update.zero_grad(set_to_none=True)
        loss().backward()
        update.step()

    return Probe(name, kind, optimizer, count, book.saved_bytes + 4.0 * count, book.rows, step)
