"""Sequence-to-sequence LSTMs: GNMT v2 as NVIDIA's DeepLearningExamples trains it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, label_smoothed_loss, labels
from tools.zoo.spec import Recipe, Spec

WIDTH = 1024
VOCABULARY = 32320  # 32,317 byte-pair pieces padded to a multiple of 8
PADDED_LENGTH = 30  # WMT16 en-de pairs of at most 50 pieces, bucketed by length, average 26 pieces a side
GNMT_TOKENS = 52  # source + target pieces of an average pair: the unit of the published tokens/s
GNMT_RECIPE = Recipe(
    "wmt16-en-de",
    128,
    4096,
    "adam",
    "NVIDIA DeepLearningExamples PyTorch/Translation/GNMT (128 per GPU); MLPerf v0.6 (4,096)",
)


class NormalisedAttention(nn.Module):
    """Bahdanau et al. 2015 with the normalised score of GNMT: tanh of every query-key sum, then a dot product."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.direction = nn.Parameter(torch.empty(WIDTH))
        self.scale = nn.Parameter(torch.empty(1))
        self.bias = nn.Parameter(torch.empty(WIDTH))

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """``query`` (B, T, W), ``keys`` (B, S, W) -> context (B, T, W)."""
        sums = self.query(query).unsqueeze(2) + self.key(keys).unsqueeze(1) + self.bias
        direction = self.direction / self.direction.norm() * self.scale
        weights = torch.tanh(sums).matmul(direction).softmax(dim=-1)
        return torch.bmm(weights, keys)


class GNMT(nn.Module):
    """Encoder: one bidirectional and three plain layers; decoder: attention after its first of four layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.both_ways = nn.LSTM(WIDTH, WIDTH, bidirectional=True, batch_first=True)
        self.encoder = nn.ModuleList(
            [nn.LSTM(2 * WIDTH, WIDTH, batch_first=True), *(nn.LSTM(WIDTH, WIDTH, batch_first=True) for _ in range(2))]
        )
        self.first = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.attention = NormalisedAttention()
        self.decoder = nn.ModuleList(nn.LSTM(2 * WIDTH, WIDTH, batch_first=True) for _ in range(3))
        self.classifier = nn.Linear(WIDTH, VOCABULARY)
        self.dropout = nn.Dropout(0.2)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        keys = self.encode(source)
        hidden, _ = self.first(self.dropout(self.embedding(target)))
        context = self.attention(hidden, keys)
        for index, layer in enumerate(self.decoder):
            output, _ = layer(self.dropout(torch.cat((hidden, context), dim=2)))
            hidden = output + hidden if index else output
        return self.classifier(hidden)  # type: ignore[no-any-return]

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.both_ways(self.dropout(self.embedding(source)))
        for index, layer in enumerate(self.encoder):
            output, _ = layer(self.dropout(hidden))
            hidden = output + hidden if index else output
        return hidden


def _pairs(batch: int) -> Inputs:
    return labels(batch, PADDED_LENGTH), labels(batch, PADDED_LENGTH)


def _translation_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    source, target = inputs
    return label_smoothed_loss(model(source, target), target, 0.1) / math.prod(target.shape)


def specs() -> list[Spec]:
    return [
        described(
            "gnmt",
            "translation",
            "gnmt",
            GNMT,
            _pairs,
            _translation_loss,
            GNMT_RECIPE,
            "NVIDIA DeepLearningExamples PyTorch/Translation/GNMT (v2, 4 layers of 1,024)",
            batches=(64, 128),
            seq_length=GNMT_TOKENS,
            sample_unit="sentence pair",
            notes=("tokens count source and target pieces of an average pair (26 + 26); computed padded to 30 + 30",),
        )
    ]
