"""Recommenders: NeuMF on MovieLens-20M, DLRM and Wide & Deep, as NVIDIA's DeepLearningExamples trains them."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

NVIDIA = "NVIDIA DeepLearningExamples"
ML20M_USERS, ML20M_ITEMS = 138_493, 26_744
NCF_RECIPE = Recipe(
    "ml-20m", 1_048_576, 1_048_576, "adam", "NVIDIA DeepLearningExamples PyTorch/Recommendation/NCF (1,048,576 in all)"
)
DLRM_RECIPE = Recipe(
    "criteo", 65_536, 65_536, "sgd", "NVIDIA DeepLearningExamples PyTorch/Recommendation/DLRM (65,536 in all)"
)
# Rows of the 26 categorical tables of Criteo Terabyte with a frequency threshold of 15 (DLRM "small").
DLRM_TABLES = (
    7_912_889,
    33_823,
    17_139,
    7_339,
    20_046,
    4,
    7_105,
    1_382,
    63,
    5_554_114,
    582_469,
    245_828,
    11,
    2_209,
    10_667,
    104,
    4,
    968,
    15,
    8_165_896,
    2_675_940,
    7_156_453,
    302_516,
    12_022,
    97,
    35,
)

# Hash buckets and embedding widths of the categorical columns of Outbrain Click Prediction.
OUTBRAIN_TABLES = (
    (300_000, 128),
    (250_000, 128),
    (100_000, 128),
    (5_000, 128),
    (2_500, 128),
    (4_000, 64),
    (4_000, 64),
    (2_500, 64),
    (2_000, 64),
    (1_000, 64),
    (1_000, 64),
    (300, 64),
    (4, 19),
)
WIDE_DEEP_RECIPE = Recipe(
    None,
    131_072,
    131_072,
    "adam",
    "NVIDIA DeepLearningExamples TensorFlow2/Recommendation/WideAndDeep (131,072 in all)",
)


class NeuMF(nn.Module):
    """He et al. 2017: a matrix factorisation of width 64 beside an MLP 256-256-128-64."""

    def __init__(self) -> None:
        super().__init__()
        self.mf_user, self.mf_item = nn.Embedding(ML20M_USERS, 64), nn.Embedding(ML20M_ITEMS, 64)
        self.mlp_user, self.mlp_item = nn.Embedding(ML20M_USERS, 128), nn.Embedding(ML20M_ITEMS, 128)
        self.mlp = nn.ModuleList(nn.Linear(i, o) for i, o in ((256, 256), (256, 128), (128, 64)))
        self.final = nn.Linear(128, 1)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        product = self.mf_user(user) * self.mf_item(item)
        hidden = torch.cat((self.mlp_user(user), self.mlp_item(item)), dim=1)
        for layer in self.mlp:
            hidden = F.dropout(F.relu(layer(hidden)), 0.5, self.training)
        return self.final(torch.cat((product, hidden), dim=1)).squeeze(1)  # type: ignore[no-any-return]


def _binary_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    *features, target = inputs
    return F.binary_cross_entropy_with_logits(model(*features), target, reduction="none").mean()


def _interactions(batch: int) -> Inputs:
    return labels(batch), labels(batch), torch.empty(batch, device="meta")


def _mlp(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    """Naumov et al. 2019: 26 tables of width 128, bottom MLP 512-256-128, dot products, top MLP 1024-1024-512-256-1."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.bottom = _mlp(13, 512, 256, width)
        self.tables = nn.Embedding(sum(DLRM_TABLES), width).requires_grad_(False)
        vectors = len(DLRM_TABLES) + 1
        self.top = nn.Sequential(
            _mlp(width + vectors * (vectors - 1) // 2 + 1, 1024, 1024, 512, 256), nn.Linear(256, 1)
        )

    def forward(self, numerical: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        dense = self.bottom(numerical)
        rows = self._look_up(categories)
        vectors = torch.cat((dense.unsqueeze(1), rows.to(dense.dtype)), dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        rows, columns = torch.tril_indices(vectors.shape[1], vectors.shape[1], -1, device="meta")
        interactions = products[:, rows, columns]
        padding = dense.new_zeros(dense.shape[0], 1)
        return self.top(torch.cat((dense, interactions, padding), dim=1)).squeeze(1)  # type: ignore[no-any-return]

    def _look_up(self, categories: torch.Tensor) -> torch.Tensor:
        """Rows of the tables; their gradient goes straight into the rows (SGD), never into a table-sized tensor."""
        rows = self.tables(categories).requires_grad_()

        def update(grad: torch.Tensor) -> None:
            self.tables.weight.index_add_(0, categories.flatten(), grad.flatten(0, 1))

        rows.register_hook(update)
        return rows  # type: ignore[no-any-return]


class WideAndDeep(nn.Module):
    """Cheng et al. 2016 as NVIDIA runs it on Outbrain: 13 tables, 13 numbers, a linear part and an MLP of 5 x 1,024."""

    def __init__(self) -> None:
        super().__init__()
        self.deep_tables = nn.ModuleList(nn.Embedding(rows, width) for rows, width in OUTBRAIN_TABLES)
        self.wide_tables = nn.ModuleList(nn.Embedding(rows, 1) for rows, _ in OUTBRAIN_TABLES)
        self.wide_numbers = nn.Linear(13, 1)
        width = 13 + sum(width for _, width in OUTBRAIN_TABLES)
        self.deep = nn.Sequential(_mlp(width, 1024, 1024, 1024, 1024, 1024), nn.Linear(1024, 1))

    def forward(self, numerical: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        columns = categories.unbind(1)
        deep = [table(column) for table, column in zip(self.deep_tables, columns, strict=True)]
        wide = [table(column) for table, column in zip(self.wide_tables, columns, strict=True)]
        output = (
            self.deep(torch.cat((numerical, *deep), 1))
            + self.wide_numbers(numerical)
            + torch.cat(wide, 1).sum(1, keepdim=True)
        )
        return output.squeeze(1)  # type: ignore[no-any-return]


def _page_views(batch: int) -> Inputs:
    return torch.empty(batch, 13, device="meta"), labels(batch, 13), torch.empty(batch, device="meta")


def _clicks(batch: int) -> Inputs:
    return torch.empty(batch, 13, device="meta"), labels(batch, 26), torch.empty(batch, device="meta")


def specs() -> list[Spec]:
    return [
        described(
            "ncf",
            "recommendation",
            "ncf",
            NeuMF,
            _interactions,
            _binary_loss,
            NCF_RECIPE,
            "He et al. 2017, arXiv:1708.05031, and NVIDIA DeepLearningExamples PyTorch/Recommendation/NCF",
            batches=(65_536, 131_072),
            sample_unit="interaction",
        ),
        described(
            "dlrm",
            "recommendation",
            "dlrm",
            DLRM,
            _clicks,
            _binary_loss,
            DLRM_RECIPE,
            "Naumov et al. 2019, arXiv:1906.00091, and NVIDIA DeepLearningExamples PyTorch/Recommendation/DLRM",
            batches=(65_536, 131_072),
            sample_unit="sample",
        ),
        described(
            "wide-and-deep",
            "recommendation",
            "wide-and-deep",
            WideAndDeep,
            _page_views,
            _binary_loss,
            WIDE_DEEP_RECIPE,
            f"Cheng et al. 2016, arXiv:1606.07792, and {NVIDIA} TensorFlow2/Recommendation/WideAndDeep",
            batches=(65_536, 131_072),
            sample_unit="sample",
        ),
    ]
