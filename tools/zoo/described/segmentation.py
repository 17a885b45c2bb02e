"""Segmentation networks: the U-Net of Ronneberger et al."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import conv_bn_relu, described, images, labels
from tools.zoo.spec import Recipe, Spec

UNET_RECIPE = Recipe("carvana", 4, 64, "rmsprop", "milesial/Pytorch-UNet (small steps at full size)")


def _double(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(conv_bn_relu(inputs, outputs, 3, padding=1), conv_bn_relu(outputs, outputs, 3, padding=1))


class UNet(nn.Module):
    """Ronneberger et al. 2015 with padded convolutions and batch norm: widths 64 to 1,024, transposed upsampling."""

    def __init__(self, channels: int = 3, classes: int = 2, width: int = 64) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        self.down = nn.ModuleList(_double(i, o) for i, o in zip((channels, *widths[:-1]), widths, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1]))
        self.merge = nn.ModuleList(_double(2 * w, w) for w in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        skips = []
        for level, block in enumerate(self.down):
            data = block(data if level == 0 else F.max_pool2d(data, 2))
            skips.append(data)
        for up, merge, skip in zip(self.up, self.merge, reversed(skips[:-1]), strict=True):
            data = merge(torch.cat((skip, up(data)), dim=1))
        return self.head(data)  # type: ignore[no-any-return]


def _pixel_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    data, target = inputs
    return F.cross_entropy(model(data), target)


def specs() -> list[Spec]:
    return [
        described(
            "unet", "semantic segmentation", "unet", UNet, lambda b: (images(b, 512), labels(b, 512, 512)), _pixel_loss,
            UNET_RECIPE, "Ronneberger et al. 2015, arXiv:1505.04597, with padding and batch norm",
            batches=(4, 8), image_size=512, sample_unit="image",
        )
    ]  # fmt: skip
