"""Small classics: a plain MLP, LeNet-5, the ResNet-18 of CIFAR-10 and a word-level LSTM language model."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import conv_bn_relu, described, images, labels
from tools.zoo.spec import Recipe, Spec

MNIST_RECIPE = Recipe("mnist", 64, 1024, "sgd", "PyTorch examples, mnist (64 per step)")
CIFAR_RECIPE = Recipe(
    "cifar10", 128, 4096, "sgd", "He et al. 2016, section 4.2 (128 per step); Sia/Pollux profiles (up to 4,096)"
)
LSTM_RECIPE = Recipe(
    "wikitext-2", 80, 512, "sgd", "Zaremba et al. 2014, arXiv:1409.2329; Merity et al. 2018, arXiv:1708.02182 (80 x 70)"
)


def _mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, 512),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(512, 10),
    )


def _lenet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        nn.Linear(84, 10),
    )


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = conv_bn_relu(inputs, outputs, 3, stride, 1)
        self.second = nn.Sequential(nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(self.first(data)) + self.shortcut(data))


def _cifar_resnet18() -> nn.Module:
    """Four stages of two basic blocks at full resolution: no strided stem, no pooling."""
    layers: list[nn.Module] = [conv_bn_relu(3, 64, 3, padding=1)]
    for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        layers += [BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def _digits(batch: int) -> Inputs:
    return images(batch, 28, channels=1), labels(batch)


def _class_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    data, target = inputs
    return F.cross_entropy(model(data), target)


class LSTMLanguageModel(nn.Module):
    """Embedding, a stack of LSTM layers with dropout, a softmax over the vocabulary (Zaremba et al. 2014)."""

    def __init__(self, vocabulary: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.lstm(self.dropout(self.embedding(tokens)))
        return self.decoder(self.dropout(hidden))  # type: ignore[no-any-return]


def _lstm_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    tokens, target = inputs
    return F.cross_entropy(model(tokens).flatten(0, 1), target.flatten())


def specs() -> list[Spec]:
    return [
        described(
            "mlp",
            "image classification",
            "mlp",
            _mlp,
            _digits,
            _class_loss,
            MNIST_RECIPE,
            "the Keras mnist_mlp example (784-512-512-10)",
            image_size=28,
            sample_unit="image",
            batches=(64, 128),
        ),
        described(
            "lenet5",
            "image classification",
            "lenet",
            _lenet,
            _digits,
            _class_loss,
            MNIST_RECIPE,
            "LeCun et al. 1998",
            image_size=28,
            sample_unit="image",
            batches=(64, 128),
        ),
        described(
            "resnet18-cifar",
            "image classification",
            "resnet",
            _cifar_resnet18,
            lambda b: (images(b, 32), labels(b)),
            _class_loss,
            CIFAR_RECIPE,
            "kuangliu/pytorch-cifar (He et al. 2016 at 32 x 32)",
            image_size=32,
            sample_unit="image",
            batches=(64, 128),
        ),
        described(
            "lstm-lm",
            "language modelling",
            "lstm",
            lambda: LSTMLanguageModel(33_278, 650, 2, 0.5),
            lambda batch: (labels(batch, 70), labels(batch, 70)),
            _lstm_loss,
            LSTM_RECIPE,
            "Zaremba et al. 2014 (medium: 2 layers of 650) with the vocabulary of WikiText-2",
            seq_length=70,
            sample_unit="sequence",
        ),
    ]
