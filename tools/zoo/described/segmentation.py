"""Segmentation networks: U-Net, NVIDIA's medical and industrial U-Nets, nnU-Net in 2D and 3D, V-Net."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import conv_bn_relu, described, images, labels
from tools.zoo.spec import Recipe, Spec

NVIDIA = "NVIDIA DeepLearningExamples"
UNET_RECIPE = Recipe("carvana", 4, 64, "rmsprop", "milesial/Pytorch-UNet (small steps at full size)")
MEDICAL_RECIPE = Recipe(None, 8, 64, "adam", f"{NVIDIA} TensorFlow2/Segmentation/UNet_Medical (8 per GPU)")
INDUSTRIAL_RECIPE = Recipe(None, 16, 16, "rmsprop", f"{NVIDIA} TensorFlow/Segmentation/UNet_Industrial (16 in all)")
NNUNET_2D_RECIPE = Recipe(None, 64, 512, "adam", f"{NVIDIA} PyTorch/Segmentation/nnUNet (2D: 64 per GPU)")
NNUNET_3D_RECIPE = Recipe("kits19", 2, 64, "sgd", "Isensee et al. 2021 (2 per step); MLPerf v1.0 UNet3D (up to 64)")
VNET_RECIPE = Recipe(None, 2, 32, "adam", f"{NVIDIA} TensorFlow/Segmentation/VNet (2 per GPU)")


def _double(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(conv_bn_relu(inputs, outputs, 3, padding=1), conv_bn_relu(outputs, outputs, 3, padding=1))


class UNet(nn.Module):
    """Ronneberger et al. 2015 with padded convolutions: five widths doubling from ``width``, transposed upsampling."""

    def __init__(self, channels: int = 3, classes: int = 2, width: int = 64, double: Any = _double) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        self.down = nn.ModuleList(double(i, o) for i, o in zip((channels, *widths[:-1]), widths, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1]))
        self.merge = nn.ModuleList(double(2 * w, w) for w in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        skips = []
        for level, block in enumerate(self.down):
            data = block(data if level == 0 else F.max_pool2d(data, 2))
            skips.append(data)
        for up, merge, skip in zip(self.up, self.merge, reversed(skips[:-1]), strict=True):
            raised = up(data)
            margin = (skip.shape[-1] - raised.shape[-1]) // 2  # unpadded convolutions leave a smaller map
            side = raised.shape[-1]
            data = merge(torch.cat((skip[..., margin : margin + side, margin : margin + side], raised), dim=1))
        return self.head(data)  # type: ignore[no-any-return]


def _plain_double(padding: int) -> Any:
    """The original's pair of convolutions, without normalisation."""

    def pair(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=padding),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=padding),
            nn.ReLU(inplace=True),
        )

    return pair


class DynamicUNet(nn.Module):
    """nnU-Net (Isensee et al. 2021): instance norm, leaky ReLU, strided convolutions, widths 32 .. ``widest``."""

    def __init__(self, dimensions: int, channels: int, classes: int, levels: int, widest: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d if dimensions == 2 else nn.Conv3d
        self.norm = nn.InstanceNorm2d if dimensions == 2 else nn.InstanceNorm3d
        up = nn.ConvTranspose2d if dimensions == 2 else nn.ConvTranspose3d
        widths = [min(32 * 2**level, widest) for level in range(levels)]
        self.down = nn.ModuleList(
            self._pair(i, o, 1 if level == 0 else 2)
            for level, (i, o) in enumerate(zip((channels, *widths[:-1]), widths, strict=True))
        )
        pairs = list(zip(reversed(widths[1:]), reversed(widths[:-1]), strict=True))
        self.up = nn.ModuleList(up(deep, shallow, 2, stride=2, bias=False) for deep, shallow in pairs)
        self.merge = nn.ModuleList(self._pair(2 * shallow, shallow, 1) for _, shallow in pairs)
        self.head = self.convolution(widths[0], classes, 1)

    def _pair(self, inputs: int, outputs: int, stride: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for i, step in ((inputs, stride), (outputs, 1)):
            layers += [
                self.convolution(i, outputs, 3, step, 1, bias=False),
                self.norm(outputs, affine=True),
                nn.LeakyReLU(0.01, inplace=True),
            ]
        return nn.Sequential(*layers)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        skips = []
        for block in self.down:
            data = block(data)
            skips.append(data)
        for up, merge, skip in zip(self.up, self.merge, reversed(skips[:-1]), strict=True):
            data = merge(torch.cat((up(data), skip), dim=1))
        return self.head(data)  # type: ignore[no-any-return]


class VNet(nn.Module):
    """Milletari et al. 2016 as NVIDIA runs it: residual 3 x 3 x 3 blocks, widths 16 to 256, 32 x 32 x 32 patches."""

    def __init__(self) -> None:
        super().__init__()
        widths, depths = (16, 32, 64, 128, 256), (1, 2, 3, 3, 3)
        self.first = nn.Conv3d(1, widths[0], 3, padding=1)
        self.down = nn.ModuleList(nn.Conv3d(i, o, 2, stride=2) for i, o in itertools.pairwise(widths))
        self.encode = nn.ModuleList(_residual(w, d) for w, d in zip(widths, depths, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose3d(w * 2, w, 2, stride=2) for w in reversed(widths[:-1]))
        self.mix = nn.ModuleList(nn.Conv3d(2 * w, w, 1) for w in reversed(widths[:-1]))
        self.decode = nn.ModuleList(_residual(w, 2) for w in reversed(widths[:-1]))
        self.head = nn.Conv3d(widths[0], 3, 1)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        data = self.first(data)
        skips = []
        for level, block in enumerate(self.encode):
            data = data if level == 0 else self.down[level - 1](data)
            data = F.relu(data + block(data))
            skips.append(data)
        for up, mix, block, skip in zip(self.up, self.mix, self.decode, reversed(skips[:-1]), strict=True):
            data = mix(torch.cat((up(data), skip), dim=1))
            data = F.relu(data + block(data))
        return self.head(data)  # type: ignore[no-any-return]


def _residual(width: int, depth: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [nn.Conv3d(width, width, 3, padding=1), nn.BatchNorm3d(width), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def _pixel_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    data, target = inputs
    return F.cross_entropy(model(data), target)


def _dice_and_entropy(model: Any, inputs: Inputs) -> torch.Tensor:
    """Cross entropy and soft Dice over one-hot classes, as nnU-Net sums them."""
    data, target = inputs
    logits = model(data)
    probabilities = F.softmax(logits, dim=1, dtype=torch.float32)
    wanted = torch.zeros_like(probabilities).scatter(1, target.unsqueeze(1), 1.0)
    axes = tuple(range(2, logits.dim()))
    overlap = (probabilities * wanted).sum(axes)
    size = probabilities.sum(axes) + wanted.sum(axes)
    return F.cross_entropy(logits, target) + 1.0 - (2.0 * overlap / (size + 1e-5)).mean()


def _volumes(batch: int, channels: int, side: int) -> torch.Tensor:
    return torch.empty(batch, channels, side, side, side, device="meta")


def specs() -> list[Spec]:
    task = "semantic segmentation"
    return [
        described(
            "unet",
            task,
            "unet",
            UNet,
            lambda b: (images(b, 512), labels(b, 512, 512)),
            _pixel_loss,
            UNET_RECIPE,
            "Ronneberger et al. 2015, arXiv:1505.04597, with padding and batch norm",
            batches=(8, 16),
            image_size=512,
            sample_unit="image",
        ),
        described(
            "unet-medical",
            task,
            "unet",
            lambda: UNet(1, 2, 64, _plain_double(0)),
            lambda b: (images(b, 572, 1), labels(b, 388, 388)),
            _dice_and_entropy,
            MEDICAL_RECIPE,
            f"{NVIDIA} TensorFlow2/Segmentation/UNet_Medical (572 x 572, unpadded)",
            batches=(8, 16),
            image_size=572,
            sample_unit="image",
        ),
        described(
            "unet-industrial",
            task,
            "unet",
            lambda: UNet(1, 1, 32, _plain_double(1)),
            lambda b: (images(b, 512, 1), labels(b, 512, 512)),
            _pixel_loss,
            INDUSTRIAL_RECIPE,
            f"{NVIDIA} TensorFlow/Segmentation/UNet_Industrial (512 x 512, width 32)",
            batches=(8, 16),
            image_size=512,
            sample_unit="image",
        ),
        described(
            "nnunet-2d",
            task,
            "nnunet",
            lambda: DynamicUNet(2, 4, 4, 6, 512),
            lambda b: (images(b, 192, 4)[..., :160], labels(b, 192, 160)),
            _dice_and_entropy,
            NNUNET_2D_RECIPE,
            f"{NVIDIA} PyTorch/Segmentation/nnUNet (2D, 192 x 160, 4 modalities)",
            batches=(32, 64),
            sample_unit="image",
        ),
        described(
            "nnunet-3d",
            task,
            "nnunet",
            lambda: DynamicUNet(3, 4, 4, 6, 320),
            lambda b: (_volumes(b, 4, 128), labels(b, 128, 128, 128)),
            _dice_and_entropy,
            NNUNET_3D_RECIPE,
            f"{NVIDIA} PyTorch/Segmentation/nnUNet (3D, 128 x 128 x 128, 4 modalities)",
            batches=(2, 4),
            sample_unit="volume",
        ),
        described(
            "unet3d",
            task,
            "unet",
            lambda: DynamicUNet(3, 1, 3, 6, 320),
            lambda b: (_volumes(b, 1, 128), labels(b, 128, 128, 128)),
            _dice_and_entropy,
            NNUNET_3D_RECIPE,
            "MLPerf training v1.0 image_segmentation (KiTS19, 128 x 128 x 128)",
            batches=(2, 4),
            sample_unit="volume",
        ),
        described(
            "vnet",
            task,
            "vnet",
            VNet,
            lambda b: (_volumes(b, 1, 32), labels(b, 32, 32, 32)),
            _dice_and_entropy,
            VNET_RECIPE,
            "Milletari et al. 2016, arXiv:1606.04797, and NVIDIA DeepLearningExamples TensorFlow/Segmentation/VNet",
            batches=(8, 16),
            sample_unit="volume",
        ),
    ]
