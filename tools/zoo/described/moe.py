"""Mixture-of-experts decoders by their published configurations, with tokens spread evenly over the experts.

Routing depends on data, which the meta device has not. Evenly loaded experts cost the same FLOPs; each expert's rows
are one product of a batched multiplication (grouped GEMM).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo import recipes
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Spec


class Shape(NamedTuple):
    """``dense_layers`` come first with an MLP of width ``dense_inner``; then every layer has experts."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    experts: int
    chosen: int
    inner: int
    shared_inner: int = 0
    dense_layers: int = 0
    dense_inner: int = 0
    tied: bool = False
    qk_norm: bool = False
    biases: bool = False


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        wide = data.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(data.dtype)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions (Su et al. 2021)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width, kv_width = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
        self.q = nn.Linear(shape.hidden, width, bias=shape.biases)
        self.k, self.v = (nn.Linear(shape.hidden, kv_width, bias=shape.biases) for _ in range(2))
        self.out = nn.Linear(width, shape.hidden, bias=shape.biases)
        self.norms = nn.ModuleList(RMSNorm(shape.head_width) for _ in range(2)) if shape.qk_norm else None
        self.sinks = nn.Parameter(torch.empty(shape.heads)) if shape.biases else None

    def forward(self, data: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        batch, length, _ = data.shape
        q, k, v = (f(data).view(batch, length, -1, self.shape.head_width) for f in (self.q, self.k, self.v))
        if self.norms is not None:
            q, k = self.norms[0](q), self.norms[1](k)
        q, k = (_rotate(t.transpose(1, 2), cosine, sine) for t in (q, k))
        repeats = self.shape.heads // self.shape.kv_heads
        k, v = (t.repeat_interleave(repeats, dim=1) for t in (k, v.transpose(1, 2)))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))  # type: ignore[no-any-return]


class LatentAttention(nn.Module):
    """Multi-head latent attention of DeepSeek-V2 (arXiv:2405.04434): low-rank queries, keys and values."""

    def __init__(self, shape: Shape, q_rank: int = 1536, kv_rank: int = 512, rope: int = 64, nope: int = 128) -> None:
        super().__init__()
        self.heads, self.kv_rank, self.rope, self.nope = shape.heads, kv_rank, rope, nope
        self.q_down, self.q_norm = nn.Linear(shape.hidden, q_rank, bias=False), RMSNorm(q_rank)
        self.q_up = nn.Linear(q_rank, shape.heads * (nope + rope), bias=False)
        self.kv_down, self.kv_norm = nn.Linear(shape.hidden, kv_rank + rope, bias=False), RMSNorm(kv_rank)
        self.kv_up = nn.Linear(kv_rank, shape.heads * (nope + shape.head_width), bias=False)
        self.out = nn.Linear(shape.heads * shape.head_width, shape.hidden, bias=False)

    def forward(self, data: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        batch, length, _ = data.shape
        q = self.q_up(self.q_norm(self.q_down(data))).view(batch, length, self.heads, -1).transpose(1, 2)
        latent, k_rope = self.kv_down(data).split((self.kv_rank, self.rope), dim=-1)
        kv = self.kv_up(self.kv_norm(latent)).view(batch, length, self.heads, -1).transpose(1, 2)
        k_nope, v = kv.split((self.nope, kv.shape[-1] - self.nope), dim=-1)
        q_nope, q_rope = q.split((self.nope, self.rope), dim=-1)
        k_rope = _rotate(k_rope.unsqueeze(1), cosine, sine).expand(-1, self.heads, -1, -1)
        q = torch.cat((q_nope, _rotate(q_rope, cosine, sine)), dim=-1)
        k = torch.cat((k_nope, k_rope), dim=-1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))  # type: ignore[no-any-return]


def _rotate(data: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    first, second = data.chunk(2, dim=-1)
    return data * cosine.to(data.dtype) + torch.cat((-second, first), dim=-1) * sine.to(data.dtype)


class MLP(nn.Module):
    """SwiGLU (Shazeer 2020)."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(hidden, inner, bias=False), nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(data)) * self.up(data))  # type: ignore[no-any-return]


class Experts(nn.Module):
    """``chosen`` of ``experts`` a token: route, gather, three grouped products, weigh and scatter back."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.router = nn.Linear(shape.hidden, shape.experts, bias=shape.biases)
        self.gate_up = nn.Parameter(torch.empty(shape.experts, shape.hidden, 2 * shape.inner))
        self.down = nn.Parameter(torch.empty(shape.experts, shape.inner, shape.hidden))
        if shape.biases:
            self.gate_up_bias = nn.Parameter(torch.empty(shape.experts, 1, 2 * shape.inner))
            self.down_bias = nn.Parameter(torch.empty(shape.experts, 1, shape.hidden))
        self.shared = MLP(shape.hidden, shape.shared_inner) if shape.shared_inner else None

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        flat = data.flatten(0, 1)
        weights, experts = self.router(flat).softmax(dim=-1, dtype=torch.float32).topk(self.shape.chosen, dim=-1)
        order = experts.flatten().argsort()
        tokens = flat.index_select(0, order).view(self.shape.experts, -1, self.shape.hidden)
        gate, up = self._product(tokens, "gate_up").chunk(2, dim=-1)
        output = self._product(F.silu(gate) * up, "down").flatten(0, 1)
        weighted = output * weights.flatten().index_select(0, order).unsqueeze(-1).to(output.dtype)
        mixed = torch.zeros_like(flat, dtype=output.dtype).index_add(0, order, weighted).view(data.shape)
        return mixed if self.shared is None else mixed + self.shared(data)

    def _product(self, rows: torch.Tensor, name: str) -> torch.Tensor:
        product = torch.bmm(rows, getattr(self, name))
        return product + getattr(self, f"{name}_bias") if self.shape.biases else product


class Layer(nn.Module):
    def __init__(self, shape: Shape, index: int, latent: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(RMSNorm(shape.hidden) for _ in range(2))
        self.attention = LatentAttention(shape) if latent else Attention(shape)
        self.mlp = MLP(shape.hidden, shape.dense_inner) if index < shape.dense_layers else Experts(shape)

    def forward(self, data: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        data = data + self.attention(self.norms[0](data), cosine, sine)
        return data + self.mlp(self.norms[1](data))  # type: ignore[no-any-return]


class MixtureDecoder(nn.Module):
    def __init__(self, shape: Shape, latent: bool = False) -> None:
        super().__init__()
        self.rotary_width = 64 if latent else shape.head_width
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape, index, latent) for index in range(shape.layers))
        self.norm = RMSNorm(shape.hidden)
        self.head = nn.Linear(shape.hidden, shape.vocabulary, bias=False)
        if shape.tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        angles = torch.empty(tokens.shape[1], self.rotary_width, device="meta")
        cosine, sine = angles.cos(), angles.sin()
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = layer(hidden, cosine, sine)
        return self.head(self.norm(hidden))  # type: ignore[no-any-return]


def _next_token_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    tokens, target = inputs
    return F.cross_entropy(model(tokens).float().flatten(0, 1), target.flatten())


_SHAPES: dict[str, tuple[str, Shape, str]] = {
    "mixtral-8x7b": ("mistral", Shape(4096, 32, 32, 8, 128, 32000, 8, 2, 14336), "Jiang et al. 2024, arXiv:2401.04088"),
    "mixtral-8x22b": (
        "mistral",
        Shape(6144, 56, 48, 8, 128, 32768, 8, 2, 16384),
        "Mistral AI, Mixtral-8x22B-v0.1 model card",
    ),
    "qwen3-30b-a3b": (
        "qwen",
        Shape(2048, 48, 32, 4, 128, 151936, 128, 8, 768, qk_norm=True),
        "Qwen team 2025, arXiv:2505.09388",
    ),
    "qwen3-235b-a22b": (
        "qwen",
        Shape(4096, 94, 64, 4, 128, 151936, 128, 8, 1536, qk_norm=True),
        "Qwen team 2025, arXiv:2505.09388",
    ),
    "gpt-oss-20b": (
        "gpt-oss",
        Shape(2880, 24, 64, 8, 64, 201088, 32, 4, 2880, biases=True),
        "OpenAI 2025, arXiv:2508.10925",
    ),
    "gpt-oss-120b": (
        "gpt-oss",
        Shape(2880, 36, 64, 8, 64, 201088, 128, 4, 2880, biases=True),
        "OpenAI 2025, arXiv:2508.10925",
    ),
    "deepseek-v3": (
        "deepseek",
        Shape(7168, 61, 128, 128, 128, 129280, 256, 8, 2048, 2048, 3, 18432),
        "DeepSeek-AI 2024, arXiv:2412.19437",
    ),
    "kimi-k2": (
        "deepseek",
        Shape(7168, 61, 64, 64, 128, 163840, 384, 8, 2048, 2048, 1, 18432),
        "Kimi team 2025, arXiv:2507.20534",
    ),
}


def specs() -> list[Spec]:
    note = "tokens spread evenly over the experts, one batched product a weight (grouped GEMM)"
    return [
        described(
            name,
            "language modelling",
            family,
            lambda shape=shape, latent=family == "deepseek": MixtureDecoder(shape, latent),  # type: ignore[misc]
            lambda batch: (labels(batch, 4096), labels(batch, 4096)),
            _next_token_loss,
            recipes.MOE,
            cited,
            batches=(24, 48),
            seq_length=4096,
            sample_unit="sequence",
            notes=(note,),
        )
        for name, (family, shape, cited) in _SHAPES.items()
    ]
