"""YOLOv12: a detector whose deep levels attend within areas of the map. Attention scores are stored, as without flash
attention: memory grows with the square of the pixels."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tools.zoo.described.common import described, images
from tools.zoo.described.yolo import COCO, YOLOV8_RECIPE, Conv, _anchor_free_loss
from tools.zoo.spec import Spec

HEAD_WIDTH = 32


def _grouped(inputs: int, outputs: int, kernel: int, stride: int, groups: int, *, active: bool = True) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.SiLU(inplace=True) if active else nn.Identity())


class Split(nn.Module):
    """Half the channels (``hidden``) go through blocks one after another; every stage joins the output."""

    def __init__(self, inputs: int, outputs: int, hidden: int, blocks: Callable[[], nn.Module], depth: int) -> None:
        super().__init__()
        self.split, self.join = Conv(inputs, 2 * hidden), Conv((2 + depth) * hidden, outputs)
        self.blocks = nn.ModuleList(blocks() for _ in range(depth))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        parts = list(self.split(data).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.join(torch.cat(parts, 1))  # type: ignore[no-any-return]


class Bottleneck(nn.Module):
    def __init__(self, width: int, share: float) -> None:
        super().__init__()
        hidden = int(width * share)
        self.layers = nn.Sequential(Conv(width, hidden, 3), Conv(hidden, width, 3))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return data + self.layers(data)  # type: ignore[no-any-return]


class ThreeConv(nn.Module):
    """Two bottlenecks beside a shortcut of half the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.enter, self.pass_by, self.join = Conv(width, half), Conv(width, half), Conv(2 * half, width)
        self.bottlenecks = nn.Sequential(*(Bottleneck(half, 1.0) for _ in range(2)))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.join(torch.cat((self.bottlenecks(self.enter(data)), self.pass_by(data)), 1))  # type: ignore[no-any-return]


class AreaAttention(nn.Module):
    """Attention within each of ``areas`` stripes of the map, then a feed-forward of two widths; both residual."""

    def __init__(self, width: int, areas: int) -> None:
        super().__init__()
        self.areas, self.heads = areas, width // HEAD_WIDTH
        self.qk = _grouped(width, 2 * width, 1, 1, 1, active=False)
        self.v, self.out = (_grouped(width, width, 1, 1, 1, active=False) for _ in range(2))
        self.position = _grouped(width, width, 5, 1, width, active=False)
        self.mlp = nn.Sequential(Conv(width, 2 * width), _grouped(2 * width, width, 1, 1, 1, active=False))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        values = self.v(data)
        q, k = (self._cut(part) for part in self.qk(data).chunk(2, 1))
        scores = q.transpose(-2, -1) @ k * HEAD_WIDTH**-0.5
        raised = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights = raised / raised.sum(-1, keepdim=True)
        mixed = self._cut(values) @ weights.transpose(-2, -1).to(values.dtype)
        batch = data.shape[0]
        mixed = mixed.unflatten(0, (batch, self.areas)).permute(0, 2, 3, 1, 4).reshape(values.shape)
        data = data + self.out(mixed + self.position(values))
        return data + self.mlp(data)  # type: ignore[no-any-return]

    def _cut(self, part: torch.Tensor) -> torch.Tensor:
        """(B, W, H, W) -> (B x areas, heads, head width, places of an area)."""
        flat = part.flatten(2).unflatten(2, (self.areas, -1)).transpose(1, 2).flatten(0, 1)
        return flat.unflatten(1, (self.heads, -1))


class Aggregation(nn.Module):
    """Residual layer aggregation: blocks one after another, every stage joins the output."""

    def __init__(self, inputs: int, outputs: int, depth: int, areas: int | None) -> None:
        super().__init__()
        hidden = outputs // 2
        self.enter, self.join = Conv(inputs, hidden), Conv((1 + depth) * hidden, outputs)
        self.blocks = nn.ModuleList(
            nn.Sequential(*(AreaAttention(hidden, areas) for _ in range(2))) if areas else ThreeConv(hidden)
            for _ in range(depth)
        )

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        parts = [self.enter(data)]
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.join(torch.cat(parts, 1))  # type: ignore[no-any-return]


class YOLOv12s(nn.Module):
    """The small model: half of every width and depth."""

    def __init__(self) -> None:
        super().__init__()
        self.p3 = nn.Sequential(
            Conv(3, 32, 3, 2), _grouped(32, 64, 3, 2, 2), Split(64, 128, 32, lambda: Bottleneck(32, 0.5), 1),
            _grouped(128, 128, 3, 2, 4), Split(128, 256, 64, lambda: Bottleneck(64, 0.5), 1),
        )  # fmt: skip
        self.p4 = nn.Sequential(Conv(256, 256, 3, 2), Aggregation(256, 256, 2, 4))
        self.p5 = nn.Sequential(Conv(256, 512, 3, 2), Aggregation(512, 512, 2, 1))
        self.up4, self.up3 = Aggregation(768, 256, 1, None), Aggregation(512, 128, 1, None)
        self.down4, self.out4 = Conv(128, 128, 3, 2), Aggregation(384, 256, 1, None)
        self.down5, self.out5 = Conv(256, 256, 3, 2), Split(768, 512, 256, lambda: ThreeConv(256), 1)
        levels = (128, 256, 512)
        self.box_heads = nn.ModuleList(
            nn.Sequential(Conv(i, 64, 3), Conv(64, 64, 3), nn.Conv2d(64, 64, 1)) for i in levels
        )
        self.class_heads = nn.ModuleList(
            nn.Sequential(_grouped(i, i, 3, 1, i), Conv(i, 128), _grouped(128, 128, 3, 1, 128), Conv(128, 128),
                          nn.Conv2d(128, COCO, 1))
            for i in levels
        )  # fmt: skip
        self.bins = nn.Conv2d(16, 1, 1, bias=False)

    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        p3 = self.p3(data)
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        n4 = self.up4(torch.cat((F.interpolate(p5, scale_factor=2), p4), 1))
        n3 = self.up3(torch.cat((F.interpolate(n4, scale_factor=2), p3), 1))
        n4 = self.out4(torch.cat((self.down4(n3), n4), 1))
        n5 = self.out5(torch.cat((self.down5(n4), p5), 1))
        boxes = [head(level).flatten(2) for head, level in zip(self.box_heads, (n3, n4, n5), strict=True)]
        classes = [head(level).flatten(2) for head, level in zip(self.class_heads, (n3, n4, n5), strict=True)]
        return torch.cat(boxes, 2), torch.cat(classes, 2)


def specs() -> list[Spec]:
    return [
        described(
            name, "object detection", "yolo", YOLOv12s, lambda b, side=side: (images(b, side),),  # type: ignore[misc]
            _anchor_free_loss, YOLOV8_RECIPE, "Tian et al. 2025, arXiv:2502.12524 (YOLOv12s, attention without flash)",
            batches=(2, 4), image_size=side, sample_unit="image",
        )
        for name, side in (("yolov12s", 640), ("yolov12s@2048", 2048))
    ]  # fmt: skip
