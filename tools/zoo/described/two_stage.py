"""Two-stage and one-stage detectors on feature pyramids: Faster and Mask R-CNN, RetinaNet (COCO, short side 800)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

NVIDIA = "NVIDIA DeepLearningExamples PyTorch/Segmentation/MaskRCNN"
HEIGHT, WIDTH = 832, 1152  # short side 800, padded to the largest of a batch of like shapes and to 32
CLASSES = 81
ROIS, POSITIVES = 512, 128  # regions a image in the box head, and in the mask head (a quarter)
LEVEL_SHARES = (0.5, 0.25, 0.125, 0.125)  # of the regions, by pyramid level
RCNN_RECIPE = Recipe("coco", 2, 16, "sgd", "Detectron2 and maskrcnn-benchmark, 1x schedule (16 per step, 2 per GPU)")
RETINANET_RECIPE = Recipe("coco", 2, 16, "sgd", "Lin et al. 2017, arXiv:1708.02002 (16 per step, 2 per GPU)")


class FrozenNorm(nn.Module):
    """Batch norm with fixed statistics, in the precision of its input as NVIDIA's and Detectron2's code keep it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.empty(width))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        scale = self.weight * (self.running_var + 1e-5).rsqrt()
        shift = self.bias - self.running_mean * scale
        return data * scale.to(data.dtype)[:, None, None] + shift.to(data.dtype)[:, None, None]


def _pyramid(extra: Any = None) -> nn.Module:
    """ResNet-50 with frozen batch norm and its first two stages fixed, and a 256-wide pyramid."""
    import torchvision.models.detection.backbone_utils as backbones

    options = {} if extra is None else {"returned_layers": [2, 3, 4], "extra_blocks": extra}
    return backbones.resnet_fpn_backbone(
        backbone_name="resnet50", weights=None, trainable_layers=3, norm_layer=FrozenNorm, **options
    )


class RegionProposals(nn.Module):
    """Objectness and box offsets of three anchors at every place of five levels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(256, 256, 3, padding=1)
        self.objectness, self.offsets = nn.Conv2d(256, 3, 1), nn.Conv2d(256, 12, 1)

    def forward(self, maps: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        scores, boxes = [], []
        for level in maps:
            hidden = F.relu(self.conv(level))
            scores.append(self.objectness(hidden).flatten(1))
            boxes.append(self.offsets(hidden).permute(0, 2, 3, 1).reshape(level.shape[0], -1, 4))
            _rank(scores[-1], boxes[-1])
        return torch.cat(scores, 1), torch.cat(boxes, 1)


def _rank(scores: torch.Tensor, boxes: torch.Tensor) -> None:
    """Order a level's scores and decode its best 2,000 boxes (suppression itself is one small kernel)."""
    with torch.no_grad():
        _, order = scores.sigmoid().topk(min(2000, scores.shape[1]), dim=1)
        chosen = boxes.gather(1, order.unsqueeze(-1).expand(-1, -1, 4))
        torch.cat((chosen[..., :2] - chosen[..., 2:], chosen[..., :2] + chosen[..., 2:]), -1).clamp(0, WIDTH)


class RCNN(nn.Module):
    """Ren et al. 2015 / He et al. 2017 on a feature pyramid, with the number of regions that training samples."""

    def __init__(self, masks: bool) -> None:
        super().__init__()
        self.backbone, self.proposals = _pyramid(), RegionProposals()
        self.box_head = nn.Sequential(nn.Linear(256 * 49, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU())
        self.classifier, self.regressor = nn.Linear(1024, CLASSES), nn.Linear(1024, 4 * CLASSES)
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Conv2d(256, 256, 3, padding=1), nn.ReLU()]
        layers += [nn.ConvTranspose2d(256, 256, 2, stride=2), nn.ReLU(), nn.Conv2d(256, CLASSES, 1)]
        self.mask_head = nn.Sequential(*layers) if masks else None

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        maps = list(self.backbone(data).values())
        scores, boxes = self.proposals(maps)
        loss = F.binary_cross_entropy_with_logits(scores, torch.empty_like(scores)) + F.smooth_l1_loss(
            boxes, torch.empty_like(boxes)
        )
        batch = data.shape[0]
        hidden = self.box_head(_pooled(maps, ROIS * batch, 7).flatten(1))
        classes, offsets = self.classifier(hidden), self.regressor(hidden)
        loss = loss + F.cross_entropy(classes, labels(ROIS * batch)) + offsets.float().abs().mean()
        if self.mask_head is not None:
            masks = self.mask_head(_pooled(maps, POSITIVES * batch, 14))
            own = masks[:, 0]  # the mask of each region's own class
            loss = loss + F.binary_cross_entropy_with_logits(own, torch.empty_like(own))
        return loss


def _pooled(maps: list[torch.Tensor], regions: int, side: int) -> torch.Tensor:
    """RoIAlign of ``regions`` regions spread over the levels."""
    from torchvision.ops import roi_align

    pooled = []
    for level, share in zip(maps, LEVEL_SHARES, strict=False):
        boxes = torch.empty(round(regions * share), 5, device="meta")
        pooled.append(roi_align(level.float(), boxes, side, sampling_ratio=2))
    return torch.cat(pooled)


class RetinaNet(nn.Module):
    """Lin et al. 2017: two heads of four convolutions over five levels, nine anchors a place, focal loss."""

    def __init__(self) -> None:
        super().__init__()
        from torchvision.ops.feature_pyramid_network import LastLevelP6P7

        self.backbone = _pyramid(LastLevelP6P7(256, 256))
        self.classes, self.boxes = _retina_head(9 * 80), _retina_head(9 * 4)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        maps = list(self.backbone(data).values())
        scores = torch.cat([self.classes(level).flatten(1) for level in maps], 1)
        offsets = torch.cat([self.boxes(level).flatten(1) for level in maps], 1)
        probability = torch.sigmoid(scores)
        entropy = F.binary_cross_entropy_with_logits(scores, torch.empty_like(scores), reduction="none")
        return (entropy * (1 - probability) ** 2).sum() + offsets.float().abs().mean()


def _retina_head(outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(4):
        layers += [nn.Conv2d(256, 256, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(256, outputs, 3, padding=1))


def _images(batch: int) -> Inputs:
    return (torch.empty(batch, 3, HEIGHT, WIDTH, device="meta"),)


def _own_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    return model(*inputs)  # type: ignore[no-any-return]


def specs() -> list[Spec]:
    task = "object detection"
    return [
        described(
            "mask-rcnn-r50-fpn",
            "instance segmentation",
            "rcnn",
            lambda: RCNN(masks=True),
            _images,
            _own_loss,
            RCNN_RECIPE,
            f"He et al. 2017, arXiv:1703.06870, and {NVIDIA}",
            batches=(4, 8),
            sample_unit="image",
            notes=("images of about 832 x 1152 after padding; 512 regions, 128 masks an image",),
        ),
        described(
            "faster-rcnn-r50-fpn",
            task,
            "rcnn",
            lambda: RCNN(masks=False),
            _images,
            _own_loss,
            RCNN_RECIPE,
            "Ren et al. 2015, arXiv:1506.01497, on a feature pyramid",
            batches=(4, 8),
            sample_unit="image",
            notes=("images of about 832 x 1152 after padding; 512 regions an image",),
        ),
        described(
            "retinanet-r50-fpn",
            task,
            "retinanet",
            RetinaNet,
            _images,
            _own_loss,
            RETINANET_RECIPE,
            "Lin et al. 2017, arXiv:1708.02002",
            batches=(4, 8),
            sample_unit="image",
            notes=("images of about 832 x 1152 after padding",),
        ),
    ]
