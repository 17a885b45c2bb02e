"""CoCa: contrastive learning and captioning in one model, as open_clip trains it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, images, labels
from tools.zoo.spec import Recipe, Spec

VOCABULARY, CONTEXT, TEXT_WIDTH, TEXT_HEADS, DEPTH = 49408, 76, 768, 12, 12
IMAGE_WIDTH, IMAGE_HEADS, IMAGE_DEPTH, PATCH, SIDE = 1024, 16, 24, 14, 224
QUERIES, POOL_HEADS = 256, 8
COCA_RECIPE = Recipe(
    "laion-400m", 64, 65536, "adamw", "Yu et al. 2022, arXiv:2205.01917 (65,536 in all); open_clip coca_ViT-L-14"
)


class Attention(nn.Module):
    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(i, width) for i in (width, context, context))
        self.out = nn.Linear(width, width)

    def forward(self, data: torch.Tensor, context: torch.Tensor, causal: bool = False) -> torch.Tensor:
        q, k, v = (
            projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for projected in (self.q(data), self.k(context), self.v(context))
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class Block(nn.Module):
    """Pre-norm attention, to itself or to ``context``, and a feed-forward of four widths."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, data: torch.Tensor, context: torch.Tensor | None = None, causal: bool = False) -> torch.Tensor:
        normed = self.norm(data)
        data = data + self.attention(normed, normed if context is None else context, causal)
        return data + self.mlp(self.second_norm(data))  # type: ignore[no-any-return]


class CoCa(nn.Module):
    """An image tower pooled to 256 tokens, a text tower, and a captioner that looks from the text at the image."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, IMAGE_WIDTH, PATCH, stride=PATCH, bias=False)
        self.position = nn.Parameter(torch.empty(1, (SIDE // PATCH) ** 2 + 1, IMAGE_WIDTH))
        self.class_token = nn.Parameter(torch.empty(1, 1, IMAGE_WIDTH))
        self.image_norms = nn.ModuleList(nn.LayerNorm(w) for w in (IMAGE_WIDTH, IMAGE_WIDTH, TEXT_WIDTH))
        self.image = nn.ModuleList(Block(IMAGE_WIDTH, IMAGE_HEADS) for _ in range(IMAGE_DEPTH))
        self.queries = nn.Parameter(torch.empty(1, QUERIES, TEXT_WIDTH))
        self.pool = Attention(TEXT_WIDTH, IMAGE_WIDTH, POOL_HEADS)
        self.words = nn.Embedding(VOCABULARY, TEXT_WIDTH)
        self.text_position = nn.Parameter(torch.empty(1, CONTEXT, TEXT_WIDTH))
        self.text, self.own, self.across = (
            nn.ModuleList(Block(TEXT_WIDTH, TEXT_HEADS) for _ in range(DEPTH)) for _ in range(3)
        )
        self.text_norm, self.caption_norm = nn.LayerNorm(TEXT_WIDTH), nn.LayerNorm(TEXT_WIDTH)
        self.head = nn.Linear(TEXT_WIDTH, VOCABULARY, bias=False)

    def forward(self, pixels: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        seen = self._pooled(pixels)
        text = self.words(tokens) + self.text_position
        for block in self.text:
            text = block(text, causal=True)
        caption = text
        for own, across in zip(self.own, self.across, strict=True):
            caption = across(own(caption, causal=True), seen)
        normed = (F.normalize(vector, dim=-1) for vector in (seen[:, 0], self.text_norm(text[:, -1])))
        return *normed, self.head(self.caption_norm(caption))

    def _pooled(self, pixels: torch.Tensor) -> torch.Tensor:
        first, after, pooled = self.image_norms
        data = self.patches(pixels).flatten(2).transpose(1, 2)
        data = first(torch.cat((self.class_token.expand(len(data), -1, -1), data), 1) + self.position)
        for block in self.image:
            data = block(data)
        return pooled(self.pool(self.queries.expand(len(data), -1, -1), after(data)))  # type: ignore[no-any-return]


def _contrast_and_caption(model: Any, inputs: Inputs) -> torch.Tensor:
    pixels, tokens, target = inputs
    seen, read, caption = model(pixels, tokens)
    similarity = seen @ read.T
    own = torch.empty(len(pixels), dtype=torch.long, device="meta")
    contrast = (F.cross_entropy(similarity, own) + F.cross_entropy(similarity.T, own)) / 2
    return contrast + F.cross_entropy(caption.permute(0, 2, 1), target)


def specs() -> list[Spec]:
    return [
        described(
            "coca-vit-l-14", "text to image", "coca", CoCa,
            lambda b: (images(b, SIDE), labels(b, CONTEXT), labels(b, CONTEXT)), _contrast_and_caption, COCA_RECIPE,
            "Yu et al. 2022, arXiv:2205.01917, in open_clip's sizes (coca_ViT-L-14)",
            batches=(16, 32), sample_unit="image",
        )
    ]  # fmt: skip
