"""The small language models people train to learn how: nanoGPT's characters and nanochat's depth-20 model."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import HALF, Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.language import causal_lm_spec, config
from tools.zoo.spec import Recipe, Spec

CHARACTERS = 65  # in the Shakespeare text
CHAR_RECIPE = Recipe(None, 64, 64, "adamw", "karpathy/nanoGPT config/train_shakespeare_char.py (64 x 256 characters)")
CHAT_RECIPE = Recipe("fineweb-edu-10b", 32, 256, "adamw", "karpathy/nanochat base_train.py (524,288 tokens a step)")
VOCABULARY, LENGTH, DEPTH, WIDTH, HEADS = 65536, 2048, 20, 1280, 10


class Attention(nn.Module):
    """Causal attention with rotated, normalised queries and keys."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, data: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        batch, length, _ = data.shape
        q, k, v = (
            project(data).view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for project in (self.q, self.k, self.v)
        )
        q, k = (_norm(_rotated(heads, cosine, sine)) for heads in (q, k))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))  # type: ignore[no-any-return]


def _norm(data: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(data, (data.shape[-1],))


def _rotated(heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    first, second = heads.chunk(2, -1)
    return torch.cat((first * cosine + second * sine, second * cosine - first * sine), -1)


class NanoChat(nn.Module):
    """Blocks of attention and squared-ReLU layers without biases or learned norms; untied, softly capped logits.

    Its embedding and its rotations are in bf16 (``gpt.py``: "it saves memory: both in the model and the activations"),
    and with them all that passes from block to block; here the rows that were looked up are cast.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.attentions = nn.ModuleList(Attention() for _ in range(DEPTH))
        self.up = nn.ModuleList(nn.Linear(WIDTH, 4 * WIDTH, bias=False) for _ in range(DEPTH))
        self.down = nn.ModuleList(nn.Linear(4 * WIDTH, WIDTH, bias=False) for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        data = self.embedding(tokens)
        data = _norm(data.to(HALF) if torch.is_autocast_enabled() else data)
        cosine, sine = (
            torch.empty(LENGTH, WIDTH // HEADS // 2, device=data.device, dtype=data.dtype) for _ in range(2)
        )
        for attention, up, down in zip(self.attentions, self.up, self.down, strict=True):
            data = data + attention(_norm(data), cosine, sine)
            data = data + down(F.relu(up(_norm(data))).square())
        logits = self.head(_norm(data))
        return 15.0 * torch.tanh(logits / 15.0)


def _next_token_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    tokens, target = inputs
    return F.cross_entropy(model(tokens).float().flatten(0, 1), target.flatten())


def specs() -> list[Spec]:
    characters = config(
        "GPT2Config", n_embd=384, n_layer=6, n_head=6, n_positions=256, vocab_size=CHARACTERS,
        resid_pdrop=0.2, embd_pdrop=0.2, attn_pdrop=0.2,
    )  # fmt: skip
    return [
        causal_lm_spec("nanogpt-char", "gpt2", characters, 256, CHAR_RECIPE, "karpathy/nanoGPT train_shakespeare_char"),
        described(
            "nanochat-d20", "language modelling", "nanochat", NanoChat,
            lambda b: (labels(b, LENGTH), labels(b, LENGTH)), _next_token_loss,
            CHAT_RECIPE, "karpathy/nanochat (depth 20, 561 million parameters)",
            batches=(4, 8), seq_length=LENGTH, sample_unit="sequence",
        ),
    ]  # fmt: skip
