"""Object detectors: SSD300 on ResNet-50 as NVIDIA's DeepLearningExamples trains it, on ResNet-34 as MLPerf does, and on
VGG-16 as torchvision does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import conv_bn_relu, described, images, labels
from tools.zoo.spec import Recipe, Spec

COCO_CLASSES = 81
ANCHORS = 8732
SSD_RECIPE = Recipe(
    "coco", 32, 1024, "sgd", "NVIDIA DeepLearningExamples PyTorch/Detection/SSD (32 per GPU); MLPerf v0.6 (1,024)"
)
MLPERF_RECIPE = Recipe(
    "coco", 32, 2048, "sgd", "mlcommons/training single_stage_detector (32 per step); MLPerf v0.7, Google (2,048)"
)
VGG_RECIPE = Recipe(
    "coco", 4, 1024, "sgd", "torchvision references/detection (4 per GPU on 8 GPUs); MLPerf v0.6 (1,024, on ResNet-34)"
)


class SSD300(nn.Module):
    """A ResNet up to its third stage at stride 16 -> 8 (38 x 38), five extra stages, six 3 x 3 heads.

    ``extra_norms``: batch norm in the extra stages, as NVIDIA has it; MLPerf's reference has none.
    """

    def __init__(self, backbone: str, width: int, *, extra_norms: bool) -> None:
        super().__init__()
        import torchvision

        network = torchvision.models.get_model(backbone, weights=None)
        self.features = nn.Sequential(*list(network.children())[:7])
        for part in self.features[-1][0].modules():
            if isinstance(part, nn.Conv2d):
                part.stride = (1, 1)
        make = conv_bn_relu if extra_norms else _conv_relu
        widths = (width, 512, 512, 256, 256, 256)
        self.extras = nn.ModuleList()
        for index, (inputs, outputs, middle) in enumerate(
            zip(widths[:-1], widths[1:], (256, 256, 128, 128, 128), strict=True)
        ):
            stride, padding = (2, 1) if index < 3 else (1, 0)
            self.extras.append(nn.Sequential(make(inputs, middle, 1), make(middle, outputs, 3, stride, padding)))
        self.heads = Heads(widths)

    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        maps = [self.features(data)]
        for stage in self.extras:
            maps.append(stage(maps[-1]))
        return self.heads(maps)  # type: ignore[no-any-return]


class SSD300VGG(nn.Module):
    """torchvision's extractor, Liu et al. 2016: VGG-16 with dilated fully connected layers and four extra stages."""

    def __init__(self) -> None:
        super().__init__()
        from torchvision.models.detection import ssd300_vgg16

        self.features = ssd300_vgg16(weights=None, weights_backbone=None).backbone
        self.heads = Heads((512, 1024, 512, 256, 256, 256))

    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.heads(list(self.features(data).values()))  # type: ignore[no-any-return]


class Heads(nn.Module):
    """Boxes (B, 4, 8732) and class scores (B, 81, 8732) from six maps, a pair of 3 x 3 convolutions each."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        anchors = (4, 6, 6, 6, 4, 4)
        self.locations = nn.ModuleList(nn.Conv2d(w, a * 4, 3, padding=1) for w, a in zip(widths, anchors, strict=True))
        self.classes = nn.ModuleList(
            nn.Conv2d(w, a * COCO_CLASSES, 3, padding=1) for w, a in zip(widths, anchors, strict=True)
        )

    def forward(self, maps: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        boxes = [head(m).reshape(m.size(0), 4, -1) for head, m in zip(self.locations, maps, strict=True)]
        scores = [head(m).reshape(m.size(0), COCO_CLASSES, -1) for head, m in zip(self.classes, maps, strict=True)]
        return torch.cat(boxes, 2), torch.cat(scores, 2)


def _conv_relu(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, padding), nn.ReLU(inplace=True))


def _ssd_inputs(batch: int) -> Inputs:
    return images(batch, 300), torch.empty(batch, 4, ANCHORS, device="meta"), labels(batch, ANCHORS)


def _ssd_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    """Smooth L1 on matched anchors and cross entropy with three hard negatives for each."""
    data, target_boxes, target_classes = inputs
    boxes, scores = model(data)
    matched = target_classes > 0
    positives = matched.sum(dim=1)
    box_loss = (matched.float() * F.smooth_l1_loss(boxes, target_boxes, reduction="none").sum(dim=1)).sum(dim=1)
    class_loss = F.cross_entropy(scores, target_classes, reduction="none")
    negatives = torch.where(matched, torch.zeros_like(class_loss), class_loss)
    rank = negatives.sort(dim=1, descending=True)[1].sort(dim=1)[1]
    hard = rank < torch.clamp(3 * positives, max=ANCHORS).unsqueeze(-1)
    total = box_loss + (class_loss * (matched.float() + hard.float())).sum(dim=1)
    return (total * (positives > 0).float() / positives.float().clamp(min=1e-6)).mean()


def specs() -> list[Spec]:
    return [
        _ssd_spec(
            "ssd300",
            lambda: SSD300("resnet50", 1024, extra_norms=True),
            SSD_RECIPE,
            "NVIDIA DeepLearningExamples PyTorch/Detection/SSD (ResNet-50 backbone, 300 x 300)",
        ),
        _ssd_spec(
            "ssd300-resnet34",
            lambda: SSD300("resnet34", 256, extra_norms=False),
            MLPERF_RECIPE,
            "mlcommons/training single_stage_detector (ResNet-34 backbone, 300 x 300)",
        ),
        _ssd_spec(
            "ssd300-vgg16", SSD300VGG, VGG_RECIPE, "torchvision.models.detection.ssd300_vgg16 (VGG-16, 300 x 300)"
        ),
    ]


def _ssd_spec(name: str, make_model: Callable[[], nn.Module], recipe: Recipe, cited: str) -> Spec:
    return described(
        name,
        "object detection",
        "ssd",
        make_model,
        _ssd_inputs,
        _ssd_loss,
        recipe,
        cited,
        image_size=300,
        sample_unit="image",
    )
