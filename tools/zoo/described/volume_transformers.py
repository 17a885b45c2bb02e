"""Transformers over medical volumes: UNETR and Swin UNETR with MONAI's convolutional decoder."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

CLASSES = 14  # organs of BTCV and background
UNETR_RECIPE = Recipe(None, 2, 64, "adamw", "Hatamizadeh et al. 2022, arXiv:2103.10504 (6 on 8 GPUs)")
SWIN_RECIPE = Recipe(None, 1, 64, "adamw", "Hatamizadeh et al. 2022, arXiv:2201.01266 (1 per GPU)")


class Residual(nn.Module):
    """Two 3 x 3 x 3 convolutions with instance norms and a shortcut."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv3d(inputs, outputs, 3, padding=1, bias=False)
        self.second = nn.Conv3d(outputs, outputs, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.InstanceNorm3d(outputs) for _ in range(2))
        self.shortcut = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv3d(inputs, outputs, 1, bias=False), nn.InstanceNorm3d(outputs))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        hidden = F.leaky_relu(self.norms[0](self.first(data)), 0.01)
        return F.leaky_relu(self.norms[1](self.second(hidden)) + self.shortcut(data), 0.01)


class Up(nn.Module):
    """Twice the side by a transposed convolution, joined with the encoder's map of that side."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose3d(inputs, outputs, 2, stride=2, bias=False)
        self.merge = Residual(2 * outputs, outputs)

    def forward(self, data: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        return self.merge(torch.cat((self.up(data), skip), 1))  # type: ignore[no-any-return]


def _raised(inputs: int, outputs: int, times: int) -> nn.Sequential:
    """A transposed convolution, then ``times`` more with residual blocks: tokens become a map of an early side."""
    layers: list[nn.Module] = [nn.ConvTranspose3d(inputs, outputs, 2, stride=2, bias=False)]
    for _ in range(times):
        layers += [nn.ConvTranspose3d(outputs, outputs, 2, stride=2, bias=False), Residual(outputs, outputs)]
    return nn.Sequential(*layers)


class VolumeAttention(nn.Module):
    """Scores are stored, as MONAI's blocks do; ``bias`` is the relative position table of a window, if any."""

    def __init__(self, width: int, heads: int, window: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.empty((2 * window - 1) ** 3, heads)) if window else None

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(data).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
        if self.bias is not None:
            tokens = data.shape[1]
            place = torch.empty(tokens * tokens, dtype=torch.long, device="meta")
            scores = scores + self.bias[place].view(tokens, tokens, self.heads).permute(2, 0, 1)
        mixed = F.softmax(scores, -1).to(v.dtype) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class VolumeBlock(nn.Module):
    """Attention over all tokens, or over shifted windows of a volume when ``window`` is given."""

    def __init__(self, width: int, heads: int, window: int | None = None, shift: bool = False) -> None:
        super().__init__()
        self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = VolumeAttention(width, heads, window)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.window, self.shift = window, shift

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        normed = self.norm(data)
        mixed = self.attention(normed) if self.window is None else self._in_windows(normed, self.window)
        data = data + mixed
        return data + self.mlp(self.second_norm(data))  # type: ignore[no-any-return]

    def _in_windows(self, data: torch.Tensor, window: int) -> torch.Tensor:
        """(B, S, S, S, W) cut into windows, padded where the side is no multiple."""
        batch, side, _, _, width = data.shape
        window = min(window, side)
        margin = -side % window
        data = F.pad(data, (0, 0, *((0, margin) * 3)))
        if self.shift:
            data = torch.roll(data, (-(window // 2),) * 3, (1, 2, 3))
        count = (side + margin) // window
        cut = data.view(batch, count, window, count, window, count, window, width).permute(0, 1, 3, 5, 2, 4, 6, 7)
        mixed = self.attention(cut.reshape(-1, window**3, width))
        back = mixed.view(batch, count, count, count, window, window, window, width).permute(0, 1, 4, 2, 5, 3, 6, 7)
        data = back.reshape(batch, side + margin, side + margin, side + margin, width)
        if self.shift:
            data = torch.roll(data, (window // 2,) * 3, (1, 2, 3))
        return data[:, :side, :side, :side]


class UNETR(nn.Module):
    """A ViT-B over patches of 16 x 16 x 16 whose layers 3, 6, 9 and 12 feed a U-shaped decoder."""

    def __init__(self, side: int, feature: int = 16, width: int = 768) -> None:
        super().__init__()
        self.grid = side // 16
        self.patches = nn.Conv3d(1, width, 16, stride=16)
        self.position = nn.Parameter(torch.empty(1, self.grid**3, width))
        self.blocks = nn.ModuleList(VolumeBlock(width, 12) for _ in range(12))
        self.norm = nn.LayerNorm(width)
        self.enter = Residual(1, feature)
        self.raised = nn.ModuleList(_raised(width, feature * 2 ** (i + 1), 2 - i) for i in range(3))
        widths = (width, 8 * feature, 4 * feature, 2 * feature, feature)
        self.up = nn.ModuleList(Up(i, o) for i, o in itertools.pairwise(widths))
        self.head = nn.Conv3d(feature, CLASSES, 1)

    def forward(self, volume: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(volume).flatten(2).transpose(1, 2) + self.position
        kept = []
        for number, block in enumerate(self.blocks, start=1):
            tokens = block(tokens)
            if number in (3, 6, 9):
                kept.append(tokens)
        skips = [self.enter(volume), *(raise_(self._map(k)) for raise_, k in zip(self.raised, kept, strict=True))]
        data = self._map(self.norm(tokens))
        for up, skip in zip(self.up, reversed(skips), strict=True):
            data = up(data, skip)
        return self.head(data)  # type: ignore[no-any-return]

    def _map(self, tokens: torch.Tensor) -> torch.Tensor:
        return tokens.transpose(1, 2).unflatten(2, (self.grid,) * 3)


class Merging(nn.Module):
    """Eight neighbours become one token of twice the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(8 * width), nn.Linear(8 * width, 2 * width, bias=False)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        corners = [data[:, i::2, j::2, k::2] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        return self.reduce(self.norm(torch.cat(corners, -1)))  # type: ignore[no-any-return]


class SwinUNETR(nn.Module):
    """Swin transformer of four stages of two blocks in windows of 7, and the residual U-shaped decoder."""

    def __init__(self, feature: int = 48) -> None:
        super().__init__()
        widths = [feature * 2**level for level in range(5)]
        self.patches = nn.Conv3d(1, feature, 2, stride=2)
        self.stages = nn.ModuleList(
            nn.Sequential(*(VolumeBlock(width, width // 16, 7, shift) for shift in (False, True)), Merging(width))
            for width in widths[:-1]
        )
        self.encoders = nn.ModuleList([Residual(1, feature), *(Residual(w, w) for w in widths[:3])])
        self.bottom = Residual(widths[4], widths[4])
        outputs = (*reversed(widths[:-1]), feature)
        self.up = nn.ModuleList(Up(i, o) for i, o in zip((widths[4], *outputs[:-1]), outputs, strict=True))
        self.head = nn.Conv3d(feature, CLASSES, 1)

    def forward(self, volume: torch.Tensor) -> torch.Tensor:
        data = self.patches(volume).permute(0, 2, 3, 4, 1)
        maps = [data]
        for stage in self.stages:
            data = stage(data)
            maps.append(data)
        hidden = [F.layer_norm(m, (m.shape[-1],)).permute(0, 4, 1, 2, 3) for m in maps]
        inputs = (volume, *hidden[:3])
        skips = [*(encode(each) for encode, each in zip(self.encoders, inputs, strict=True)), hidden[3]]
        data = self.bottom(hidden[4])
        for up, skip in zip(self.up, reversed(skips), strict=True):
            data = up(data, skip)
        return self.head(data)  # type: ignore[no-any-return]


def _dice_and_entropy(model: Any, inputs: Inputs) -> torch.Tensor:
    volume, target = inputs
    logits = model(volume)
    chance = F.softmax(logits, 1)
    wanted = F.one_hot(target, CLASSES).movedim(-1, 1).to(chance.dtype)
    axes = (2, 3, 4)
    dice = 2 * (chance * wanted).sum(axes) / (chance.sum(axes) + wanted.sum(axes))
    return F.cross_entropy(logits, target) + (1 - dice).mean()


def _cubes(side: int) -> Callable[[int], Inputs]:
    return lambda batch: (torch.empty(batch, 1, side, side, side, device="meta"), labels(batch, side, side, side))


def specs() -> list[Spec]:
    monai = "in MONAI's sizes"
    rows: list[tuple[str, str, Callable[[], nn.Module], int, Recipe, str]] = [
        ("unetr", "unetr", lambda: UNETR(96), 96, UNETR_RECIPE, f"arXiv:2103.10504, {monai} (96 x 96 x 96)"),
        ("swin-unetr", "swin-unetr", SwinUNETR, 96, SWIN_RECIPE, f"arXiv:2201.01266, {monai} (96 x 96 x 96)"),
        ("swin-unetr@64", "swin-unetr", SwinUNETR, 64, SWIN_RECIPE, f"arXiv:2201.01266, {monai} (64 x 64 x 64)"),
    ]
    return [
        described(
            name, "volume segmentation", family, make, _cubes(side), _dice_and_entropy, recipe,
            f"Hatamizadeh et al. 2022, {cited}", batches=(2, 4), sample_unit="volume",
        )
        for name, family, make, side, recipe, cited in rows
    ]  # fmt: skip
