"""YOLO detectors (v3, v8 in its five sizes) and EfficientDet-D0, by their published descriptions."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, images
from tools.zoo.spec import Recipe, Spec

YOLOV8_RECIPE = Recipe("coco", 16, 128, "sgd", "Ultralytics YOLOv8 (16 per GPU; 128 in all on 8 GPUs)")
YOLOV3_RECIPE = Recipe("coco", 8, 64, "sgd", "Redmon & Farhadi 2018, arXiv:1804.02767 (64 per step)")
EFFICIENTDET_RECIPE = Recipe("coco", 16, 128, "sgd", "Tan et al. 2020, arXiv:1911.09070 (128 per step)")
COCO = 80


class Conv(nn.Sequential):
    """Convolution, batch norm, activation (SiLU, or the leaky ReLU of YOLOv3)."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1, *, leaky: bool = False) -> None:
        activation = nn.LeakyReLU(0.1, inplace=True) if leaky else nn.SiLU(inplace=True)
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs), activation)


class C2f(nn.Module):
    """Cross-stage block: half the channels go through ``depth`` bottlenecks, every stage joins the output."""

    def __init__(self, inputs: int, outputs: int, depth: int, shortcut: bool) -> None:
        super().__init__()
        self.half, self.shortcut = outputs // 2, shortcut
        self.split, self.join = Conv(inputs, outputs), Conv((2 + depth) * self.half, outputs)
        self.bottlenecks = nn.ModuleList(
            nn.Sequential(Conv(self.half, self.half, 3), Conv(self.half, self.half, 3)) for _ in range(depth)
        )

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        parts = list(self.split(data).chunk(2, 1))
        for bottleneck in self.bottlenecks:
            output = bottleneck(parts[-1])
            parts.append(parts[-1] + output if self.shortcut else output)
        return self.join(torch.cat(parts, 1))  # type: ignore[no-any-return]


class PoolingPyramid(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.narrow, self.join = Conv(width, width // 2), Conv(2 * width, width)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        pooled = [self.narrow(data)]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        return self.join(torch.cat(pooled, 1))  # type: ignore[no-any-return]


class YOLOv8(nn.Module):
    """Backbone of strided convolutions and C2f blocks, path aggregation, a head without anchors on three levels."""

    def __init__(self, depth: float, width: float, widest: int) -> None:
        super().__init__()
        w = [math.ceil(min(base, widest) * width / 8) * 8 for base in (64, 128, 256, 512, 1024)]
        three, six = max(1, round(3 * depth)), max(1, round(6 * depth))
        self.stem = nn.Sequential(Conv(3, w[0], 3, 2), Conv(w[0], w[1], 3, 2), C2f(w[1], w[1], three, True))
        self.p3 = nn.Sequential(Conv(w[1], w[2], 3, 2), C2f(w[2], w[2], six, True))
        self.p4 = nn.Sequential(Conv(w[2], w[3], 3, 2), C2f(w[3], w[3], six, True))
        self.p5 = nn.Sequential(Conv(w[3], w[4], 3, 2), C2f(w[4], w[4], three, True), PoolingPyramid(w[4]))
        self.up4, self.up3 = C2f(w[4] + w[3], w[3], three, False), C2f(w[3] + w[2], w[2], three, False)
        self.down4, self.down5 = Conv(w[2], w[2], 3, 2), Conv(w[3], w[3], 3, 2)
        self.out4, self.out5 = C2f(w[2] + w[3], w[3], three, False), C2f(w[3] + w[4], w[4], three, False)
        boxes, classes = max(16, w[2] // 4, 64), max(w[2], min(COCO, 100))
        levels = (w[2], w[3], w[4])
        self.box_heads = nn.ModuleList(_head(i, boxes, 64) for i in levels)
        self.class_heads = nn.ModuleList(_head(i, classes, COCO) for i in levels)
        self.bins = nn.Conv2d(16, 1, 1, bias=False)

    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        p3 = self.p3(self.stem(data))
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        n4 = self.up4(torch.cat((F.interpolate(p5, scale_factor=2), p4), 1))
        n3 = self.up3(torch.cat((F.interpolate(n4, scale_factor=2), p3), 1))
        n4 = self.out4(torch.cat((self.down4(n3), n4), 1))
        n5 = self.out5(torch.cat((self.down5(n4), p5), 1))
        maps = (n3, n4, n5)
        boxes = [head(level).flatten(2) for head, level in zip(self.box_heads, maps, strict=True)]
        classes = [head(level).flatten(2) for head, level in zip(self.class_heads, maps, strict=True)]
        return torch.cat(boxes, 2), torch.cat(classes, 2)


def _head(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(Conv(inputs, width, 3), Conv(width, width, 3), nn.Conv2d(width, outputs, 1))


def _anchor_free_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    """Binary cross entropy over every place and class, distances as distributions over 16 bins."""
    boxes, classes = model(*inputs)
    batch, _, places = boxes.shape
    distances = F.softmax(boxes.view(batch, 4, 16, places).transpose(1, 2), dim=1)
    with torch.no_grad():  # the task-aligned assignment: scores of every place against about 8 objects an image
        (
            torch.empty(batch, 8, places, 4, device="meta")
            - model.bins(distances).squeeze(1).transpose(1, 2).unsqueeze(1)
        ).amin(-1)
    entropy = F.binary_cross_entropy_with_logits(classes, torch.empty_like(classes), reduction="none")
    return entropy.sum() + F.cross_entropy(
        boxes.view(batch, 4, 16, places).transpose(1, 2), torch.empty(batch, 4, places, dtype=torch.long, device="meta")
    )


class YOLOv3(nn.Module):
    """Darknet-53 and three heads on an upsampling path."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _conv3(3, 32)
        self.stages = nn.ModuleList()
        for inputs, outputs, depth in ((32, 64, 1), (64, 128, 2), (128, 256, 8), (256, 512, 8), (512, 1024, 4)):
            blocks = nn.ModuleList(
                nn.Sequential(Conv(outputs, outputs // 2, leaky=True), _conv3(outputs // 2, outputs))
                for _ in range(depth)
            )
            self.stages.append(nn.ModuleList((_conv3(inputs, outputs, 2), blocks)))
        self.heads, self.outs, self.narrow = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for inputs, width in ((1024, 512), (768, 256), (384, 128)):
            self.heads.append(_five(inputs, width))
            self.outs.append(nn.Sequential(_conv3(width, 2 * width), nn.Conv2d(2 * width, 3 * (COCO + 5), 1)))
            self.narrow.append(Conv(width, width // 2, leaky=True) if width > 128 else nn.Identity())

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        data, maps = self.stem(data), []
        for down, blocks in self.stages:
            data = down(data)
            for block in blocks:
                data = data + block(data)
            maps.append(data)
        outputs, carried = [], maps[-1]
        for index, (head, out, narrow) in enumerate(zip(self.heads, self.outs, self.narrow, strict=True)):
            hidden = head(carried)
            outputs.append(out(hidden).flatten(1))
            if index < 2:
                carried = torch.cat((F.interpolate(narrow(hidden), scale_factor=2), maps[-2 - index]), 1)
        return torch.cat(outputs, 1)


def _conv3(inputs: int, outputs: int, stride: int = 1) -> Conv:
    return Conv(inputs, outputs, 3, stride, leaky=True)


def _five(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        Conv(inputs, width, leaky=True),
        _conv3(width, 2 * width),
        Conv(2 * width, width, leaky=True),
        _conv3(width, 2 * width),
        Conv(2 * width, width, leaky=True),
    )


def _dense_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    output = model(*inputs)
    return F.binary_cross_entropy_with_logits(output, torch.empty_like(output))


class EfficientDet(nn.Module):
    """D0: EfficientNet-B0, three BiFPN layers of 64 over five levels, heads of three separable convolutions."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        import timm

        self.backbone = timm.create_model("efficientnet_b0", features_only=True, out_indices=(2, 3, 4))
        self.laterals = nn.ModuleList(_linear(channels, width) for channels in (40, 112, 320))
        self.p6 = _linear(320, width)
        self.fusions = nn.ModuleList(nn.ModuleList(_separable(width) for _ in range(8)) for _ in range(3))
        self.weights = nn.ParameterList(torch.empty(8, 3) for _ in range(3))
        self.class_head = nn.ModuleList(_separable(width) for _ in range(3))
        self.box_head = nn.ModuleList(_separable(width) for _ in range(3))
        self.classes, self.boxes = _predict(width, 9 * 90), _predict(width, 9 * 4)

    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.backbone(data)
        levels = [lateral(level) for lateral, level in zip(self.laterals, features, strict=True)]
        levels.append(F.max_pool2d(self.p6(features[-1]), 3, 2, 1))
        levels.append(F.max_pool2d(levels[-1], 3, 2, 1))
        for fusion, weights in zip(self.fusions, self.weights, strict=True):
            levels = _fuse(levels, fusion, F.relu(weights))
        return self._head(levels, self.class_head, self.classes), self._head(levels, self.box_head, self.boxes)

    def _head(self, levels: list[torch.Tensor], tower: Any, predict: nn.Module) -> torch.Tensor:
        outputs = []
        for level in levels:
            for layer in tower:
                level = F.silu(layer(level))
            outputs.append(predict(level).flatten(1))
        return torch.cat(outputs, 1)


def _fuse(levels: list[torch.Tensor], fusion: Any, weights: torch.Tensor) -> list[torch.Tensor]:
    """Top-down, then bottom-up, each a weighted sum of neighbours and a separable convolution."""
    top_down = [levels[-1]]
    for step, level in enumerate(reversed(levels[:-1])):
        raised = F.interpolate(top_down[0], size=level.shape[-2:])
        top_down.insert(0, fusion[step](F.silu(level * weights[step, 0] + raised * weights[step, 1])))
    outputs = [top_down[0]]
    for step, (level, middle) in enumerate(zip(levels[1:], top_down[1:], strict=True), start=4):
        lowered = F.max_pool2d(outputs[-1], 3, 2, 1)
        mixed = level * weights[step, 0] + middle * weights[step, 1] + lowered * weights[step, 2]
        outputs.append(fusion[step](F.silu(mixed)))
    return outputs


def _linear(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1), nn.BatchNorm2d(outputs))


def _separable(width: int) -> nn.Sequential:
    depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False)
    return nn.Sequential(depthwise, nn.Conv2d(width, width, 1), nn.BatchNorm2d(width))


def _predict(width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False), nn.Conv2d(width, outputs, 1))


def _focal_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    scores, boxes = model(*inputs)
    entropy = F.binary_cross_entropy_with_logits(scores, torch.empty_like(scores), reduction="none")
    return (entropy * (1 - torch.sigmoid(scores)) ** 1.5).sum() + boxes.float().abs().mean()


def specs() -> list[Spec]:
    task = "object detection"
    sizes = {
        "n": (0.33, 0.25, 1024),
        "s": (0.33, 0.5, 1024),
        "m": (0.67, 0.75, 768),
        "l": (1.0, 1.0, 512),
        "x": (1.0, 1.25, 512),
    }
    v8 = [
        described(
            f"yolov8{letter}",
            task,
            "yolo",
            lambda size=size: YOLOv8(*size),
            lambda b: (images(b, 640),),
            _anchor_free_loss,  # type: ignore[misc]
            YOLOV8_RECIPE,
            "Ultralytics YOLOv8",
            batches=(8, 16),
            image_size=640,
            sample_unit="image",
        )
        for letter, size in sizes.items()
    ]
    return [
        *v8,
        described(
            "yolov3",
            task,
            "yolo",
            YOLOv3,
            lambda b: (images(b, 416),),
            _dense_loss,
            YOLOV3_RECIPE,
            "Redmon & Farhadi 2018, arXiv:1804.02767",
            batches=(16, 32),
            image_size=416,
            sample_unit="image",
        ),
        described(
            "efficientdet-d0",
            task,
            "efficientdet",
            EfficientDet,
            lambda b: (images(b, 512),),
            _focal_loss,
            EFFICIENTDET_RECIPE,
            "Tan et al. 2020, arXiv:1911.09070",
            batches=(16, 32),
            image_size=512,
            sample_unit="image",
        ),
    ]
