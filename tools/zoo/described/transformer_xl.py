"""Transformer-XL on WikiText-103 as NVIDIA's DeepLearningExamples trains it (Dai et al. 2019, arXiv:1901.02860)."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

CUTOFFS = (0, 19_997, 39_997, 199_997, 267_735)  # frequency-ordered vocabulary of WikiText-103 in four clusters
# Share of running words in the three rare clusters; the rest falls among the 19,997 most frequent words.
RARE_SHARES = (0.036, 0.045, 0.004)
TXL_RECIPE = Recipe(
    "wikitext-103",
    32,
    256,
    "lamb",
    "NVIDIA DeepLearningExamples PyTorch/LanguageModeling/Transformer-XL (256 in all, 8 GPUs)",
)


class Shape(NamedTuple):
    layers: int
    width: int
    heads: int
    inner: int
    dropout: float
    attention_dropout: float
    divide: int  # every rarer cluster's embedding is this many times narrower
    length: int  # target and memory length alike
    adaptive: bool = True  # otherwise one softmax over the whole vocabulary


BASE = Shape(16, 512, 8, 2048, 0.1, 0.0, 1, 192)
LARGE = Shape(18, 1024, 16, 4096, 0.2, 0.2, 4, 256)


class RelativeAttention(nn.Module):
    """Attention over memory and segment with learned content and position biases; layer norm after the residual."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.head_width = shape.heads, shape.width // shape.heads
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.position = nn.Linear(shape.width, shape.width, bias=False)
        self.output = nn.Linear(shape.width, shape.width, bias=False)
        self.drop, self.drop_scores = nn.Dropout(shape.dropout), nn.Dropout(shape.attention_dropout)
        self.norm = nn.LayerNorm(shape.width)

    def forward(
        self, data: torch.Tensor, positions: torch.Tensor, content_bias: Any, position_bias: Any, mask: Any, memory: Any
    ) -> torch.Tensor:
        length, batch, width = data.shape
        query, key, value = torch.chunk(self.qkv(torch.cat((memory, data), 0)), 3, dim=-1)
        query, key, value = (t.view(-1, batch, self.heads, self.head_width) for t in (query[-length:], key, value))
        position_key = self.position(positions).view(-1, self.heads, self.head_width)
        content = torch.einsum("ibnd,jbnd->bnij", query + content_bias, key)
        relative = _relative_shift(torch.einsum("ibnd,jnd->bnij", query + position_bias, position_key))
        scores = (content + relative).mul_(self.head_width**-0.5).masked_fill(mask, float("-inf"))
        weights = self.drop_scores(F.softmax(scores, dim=3))
        mixed = torch.einsum("bnij,jbnd->ibnd", weights, value).contiguous().view(length, batch, width)
        return self.norm(data + self.drop(self.output(mixed)))  # type: ignore[no-any-return]


def _relative_shift(scores: torch.Tensor) -> torch.Tensor:
    """Row i moved left by its distance from the end: a padded column and a reshape (paper, appendix B)."""
    batch, heads, rows, columns = scores.shape
    padded = torch.cat((scores.new_zeros(batch, heads, rows, 1), scores), dim=3)
    return padded.view(batch, heads, columns + 1, rows).narrow(2, 1, columns).reshape(batch, heads, rows, columns)


class FeedForward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        drop = nn.Dropout(shape.dropout)
        self.core = nn.Sequential(
            nn.Linear(shape.width, shape.inner), nn.ReLU(inplace=True), drop, nn.Linear(shape.inner, shape.width), drop
        )
        self.norm = nn.LayerNorm(shape.width)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.norm(data + self.core(data))  # type: ignore[no-any-return]


class FullVocabulary(nn.Module):
    """One table for input and output and one softmax over all 267,735 words (without ``--adaptive``)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(CUTOFFS[-1], shape.width))
        self.bias = nn.Parameter(torch.empty(CUTOFFS[-1]))

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        return F.embedding(tokens, self.table)

    def losses(self, hidden: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        log_probabilities = F.log_softmax(F.linear(hidden, self.table, self.bias), dim=-1)
        return -log_probabilities.gather(1, target.unsqueeze(1)).squeeze(1)


class AdaptiveVocabulary(nn.Module):
    """Adaptive input and tied adaptive softmax (Grave et al. 2017; Baevski & Auli 2019) over four clusters of words."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        widths = [shape.width // shape.divide**cluster for cluster in range(4)]
        sizes = [high - low for low, high in itertools.pairwise(CUTOFFS)]
        self.narrowing = shape.divide > 1
        if self.narrowing:
            self.tables = nn.ParameterList(torch.empty(size, width) for size, width in zip(sizes, widths, strict=True))
            self.projections = nn.ParameterList(torch.empty(shape.width, width) for width in widths)
        else:
            self.tables = nn.ParameterList([torch.empty(CUTOFFS[-1], shape.width)])
        self.biases = nn.ParameterList(torch.empty(size) for size in sizes)
        self.cluster_weight = nn.Parameter(torch.empty(3, widths[0]))
        self.cluster_bias = nn.Parameter(torch.empty(3))

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        if not self.narrowing:
            return F.embedding(tokens, self.tables[0])
        flat = tokens.reshape(-1)
        embedded = self.cluster_weight.new_zeros(flat.numel(), self.shape.width)
        for indices, table, projection in zip(self._by_cluster(flat), self.tables, self.projections, strict=True):
            rows = F.linear(F.embedding(flat.index_select(0, indices), table), projection)
            embedded = embedded.index_copy(0, indices, rows.to(embedded.dtype))
        return embedded.view(*tokens.shape, -1)

    def losses(self, hidden: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Frequent words and three cluster logits for all tokens, a cluster's words for its own tokens only."""
        table = self.tables[0]
        weights = (
            list(self.tables) if self.narrowing else [table[low:high] for low, high in itertools.pairwise(CUTOFFS)]
        )
        head_weight = torch.cat((weights[0], self.cluster_weight), 0)
        head_bias = torch.cat((self.biases[0], self.cluster_bias), 0)
        head = F.log_softmax(self._logits(hidden, 0, head_weight, head_bias), dim=1)
        losses = []
        for cluster, indices in enumerate(self._by_cluster(target)):
            chosen, wanted = head.index_select(0, indices), target.index_select(0, indices)
            if cluster == 0:
                losses.append(-chosen.gather(1, wanted[:, None]).squeeze(1))
                continue
            own = self._logits(hidden.index_select(0, indices), cluster, weights[cluster], self.biases[cluster])
            losses.append(-(chosen[:, -cluster] + F.log_softmax(own, dim=1).gather(1, wanted[:, None]).squeeze(1)))
        return torch.cat(losses)

    def _by_cluster(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Positions of each cluster's words: as many as WikiText-103 has on average."""
        batch = flat.numel() // self.shape.length
        rare = [max(1, round(share * self.shape.length)) * batch for share in RARE_SHARES]
        return [labels(count) for count in (flat.numel() - sum(rare), *rare)]

    def _logits(self, hidden: torch.Tensor, cluster: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        if self.narrowing:
            hidden = F.linear(hidden, self.projections[cluster].t())
        return F.linear(hidden, weight, bias)


class TransformerXL(nn.Module):
    """The stack between its vocabulary's two ends; returns the negative log-likelihood of every token."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.vocabulary = AdaptiveVocabulary(shape) if shape.adaptive else FullVocabulary(shape)
        head_width = shape.width // shape.heads
        self.content_bias = nn.Parameter(torch.empty(shape.heads, head_width))
        self.position_bias = nn.Parameter(torch.empty(shape.heads, head_width))
        self.attention = nn.ModuleList(RelativeAttention(shape) for _ in range(shape.layers))
        self.feed_forward = nn.ModuleList(FeedForward(shape) for _ in range(shape.layers))
        self.drop = nn.Dropout(shape.dropout)

    def forward(self, tokens: torch.Tensor, target: torch.Tensor, *memories: torch.Tensor) -> torch.Tensor:
        length, batch = tokens.shape
        dtype = self.content_bias.dtype
        hidden = self.drop(self.vocabulary.embed(tokens).mul_(self.shape.width**0.5))
        positions = torch.arange(2 * length - 1, -1, -1.0, device="meta", dtype=dtype)
        frequencies = torch.outer(positions, torch.empty(self.shape.width // 2, device="meta", dtype=dtype))
        encoding = self.drop(torch.cat((frequencies.sin(), frequencies.cos()), dim=-1))
        mask = torch.triu(torch.ones(length, 2 * length, device="meta", dtype=torch.bool), 1 + length)
        states = [hidden]
        for attention, feed_forward, memory in zip(self.attention, self.feed_forward, memories, strict=True):
            hidden = feed_forward(
                attention(hidden, encoding, self.content_bias, self.position_bias, mask, memory.to(dtype))
            )
            states.append(hidden)
        self.memory = [
            torch.cat((m.to(dtype), s), 0)[-length:].detach() for m, s in zip(memories, states, strict=False)
        ]
        return self.vocabulary.losses(self.drop(hidden).view(length * batch, -1), target.view(-1))  # type: ignore[no-any-return]


def _inputs(shape: Shape) -> Any:
    def make(batch: int) -> Inputs:
        memory = [torch.empty(shape.length, batch, shape.width, device="meta") for _ in range(shape.layers)]
        return labels(shape.length, batch), labels(shape.length, batch), *memory

    return make


def _mean_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    return model(*inputs).float().mean()  # type: ignore[no-any-return]


def specs() -> list[Spec]:
    cited = "NVIDIA DeepLearningExamples PyTorch/LanguageModeling/Transformer-XL, Apex O2"
    sizes = {
        "transformer-xl-base": BASE,
        "transformer-xl-large": LARGE,
        "transformer-xl-large@384": LARGE._replace(length=384),
        # As Lambda's benchmark ran them: the batches that fit tell a softmax over the whole vocabulary.
        "transformer-xl-base-full-softmax": BASE._replace(adaptive=False),
        "transformer-xl-large-full-softmax": LARGE._replace(adaptive=False),
    }
    return [
        described(
            name,
            "language modelling",
            "transformer-xl",
            lambda shape=shape: TransformerXL(shape),
            _inputs(shape),  # type: ignore[misc]
            _mean_loss,
            TXL_RECIPE,
            cited,
            pure_half=True,
            batches=(16, 32),
            seq_length=shape.length,
            sample_unit="sequence",
            notes=("weights and activations in half precision (Apex O2); attention scores are stored",),
        )
        for name, shape in sizes.items()
    ]
