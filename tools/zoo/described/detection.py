"""Object detectors: SSD300 with ResNet-50 as NVIDIA's DeepLearningExamples trains it."""

from __future__ import annotations

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


class SSD300(nn.Module):
    """ResNet-50 up to its third stage at stride 16 -> 8 (38 x 38), five extra stages, six 3 x 3 heads."""

    def __init__(self) -> None:
        super().__init__()
        import torchvision

        backbone = torchvision.models.resnet50(weights=None)
        self.features = nn.Sequential(*list(backbone.children())[:7])
        first = self.features[-1][0]
        first.conv1.stride = first.conv2.stride = first.downsample[0].stride = (1, 1)
        widths = (1024, 512, 512, 256, 256, 256)
        self.extras = nn.ModuleList()
        for index, (inputs, outputs, middle) in enumerate(
            zip(widths[:-1], widths[1:], (256, 256, 128, 128, 128), strict=True)
        ):
            stride, padding = (2, 1) if index < 3 else (1, 0)
            self.extras.append(
                nn.Sequential(conv_bn_relu(inputs, middle, 1), conv_bn_relu(middle, outputs, 3, stride, padding))
            )
        anchors = (4, 6, 6, 6, 4, 4)
        self.locations = nn.ModuleList(nn.Conv2d(w, a * 4, 3, padding=1) for w, a in zip(widths, anchors, strict=True))
        self.classes = nn.ModuleList(
            nn.Conv2d(w, a * COCO_CLASSES, 3, padding=1) for w, a in zip(widths, anchors, strict=True)
        )

    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        maps = [self.features(data)]
        for stage in self.extras:
            maps.append(stage(maps[-1]))
        boxes = [head(m).reshape(m.size(0), 4, -1) for head, m in zip(self.locations, maps, strict=True)]
        scores = [head(m).reshape(m.size(0), COCO_CLASSES, -1) for head, m in zip(self.classes, maps, strict=True)]
        return torch.cat(boxes, 2), torch.cat(scores, 2)


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
        described(
            "ssd300",
            "object detection",
            "ssd",
            SSD300,
            _ssd_inputs,
            _ssd_loss,
            SSD_RECIPE,
            "NVIDIA DeepLearningExamples PyTorch/Detection/SSD (ResNet-50 backbone, 300 x 300)",
            image_size=300,
            sample_unit="image",
        )
    ]
