"""StyleGAN2 (configuration F) at several resolutions, and its half-wide form of stylegan2-ada-pytorch below 512."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, images
from tools.zoo.spec import Recipe, Spec

RECIPE = Recipe("ffhq", 4, 32, "adam", "Karras et al. 2020, arXiv:1912.04958 (32 per step on 8 GPUs)")
LATENT = 512


FULL, HALF = 32768, 16384
"""Channels times resolution, at most 512 channels: ``channel_base`` of stylegan2-ada-pytorch's train.py, whose ``auto``
and ``paper256`` configurations halve it below 512 x 512."""


def _width(resolution: int, base: int) -> int:
    return min(base // resolution, 512)


class ModulatedConv(nn.Module):
    """Scale the input by the style, convolve, normalise by the weight norm; upsampling is a strided transpose."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, up: bool = False, demodulate: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel))
        self.style = nn.Linear(LATENT, inputs)
        self.bias = nn.Parameter(torch.empty(outputs))
        self.strength = nn.Parameter(torch.empty(())) if demodulate else None
        self.up, self.kernel = up, kernel

    def forward(self, data: torch.Tensor, latent: torch.Tensor) -> torch.Tensor:
        style = self.style(latent)
        data = data * style[:, :, None, None].to(data.dtype)
        if self.up:
            data = _filtered(F.conv_transpose2d(data, self.weight.transpose(0, 1), stride=2), 1)
        else:
            data = F.conv2d(data, self.weight, padding=self.kernel // 2)
        if self.strength is None:
            return data + self.bias[None, :, None, None].to(data.dtype)
        norm = ((self.weight.unsqueeze(0) * style[:, None, :, None, None]).square().sum((2, 3, 4)) + 1e-8).rsqrt()
        noise = torch.randn(data.shape[0], 1, *data.shape[2:], device="meta") * self.strength
        data = data * norm[:, :, None, None].to(data.dtype) + noise.to(data.dtype)
        return F.leaky_relu(data + self.bias[None, :, None, None].to(data.dtype), 0.2)


def _filtered(data: torch.Tensor, padding: int, stride: int = 1) -> torch.Tensor:
    """The 4 x 4 low-pass filter around every change of resolution, channel by channel."""
    taps = torch.empty(data.shape[1], 1, 4, 4, device="meta", dtype=data.dtype)
    return F.conv2d(data, taps, stride=stride, padding=padding, groups=data.shape[1])


class Generator(nn.Module):
    """Mapping of eight layers, then two modulated convolutions and an RGB output added up per resolution."""

    def __init__(self, resolution: int, base: int) -> None:
        super().__init__()
        self.mapping = nn.Sequential(
            *(layer for _ in range(8) for layer in (nn.Linear(LATENT, LATENT), nn.LeakyReLU(0.2)))
        )
        self.constant = nn.Parameter(torch.empty(512, 4, 4))
        self.first, self.first_rgb = ModulatedConv(512, 512, 3), ModulatedConv(512, 3, 1, demodulate=False)
        self.blocks = nn.ModuleList()
        for level in range(3, int(math.log2(resolution)) + 1):
            inputs, outputs = _width(2 ** (level - 1), base), _width(2**level, base)
            up, same = ModulatedConv(inputs, outputs, 3, up=True), ModulatedConv(outputs, outputs, 3)
            self.blocks.append(nn.ModuleList((up, same, ModulatedConv(outputs, 3, 1, demodulate=False))))

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        latent = self.mapping(noise)
        data = self.first(self.constant.unsqueeze(0).expand(noise.shape[0], -1, -1, -1), latent)
        picture = self.first_rgb(data, latent)
        for up, same, rgb in self.blocks:
            data = same(up(data, latent), latent)
            picture = _filtered(F.interpolate(picture, scale_factor=2), 2)[..., 1:, 1:] + rgb(data, latent)
        return picture


class Discriminator(nn.Module):
    """Residual blocks from the full resolution down to 4 x 4, then a convolution and two linear layers."""

    def __init__(self, resolution: int, base: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, _width(resolution, base), 1)
        self.blocks = nn.ModuleList()
        for level in range(int(math.log2(resolution)), 2, -1):
            inputs, outputs = _width(2**level, base), _width(2 ** (level - 1), base)
            same, down = nn.Conv2d(inputs, inputs, 3, padding=1), nn.Conv2d(inputs, outputs, 3, stride=2)
            self.blocks.append(nn.ModuleList((same, down, nn.Conv2d(inputs, outputs, 1, bias=False))))
        self.last = nn.Conv2d(513, 512, 3, padding=1)
        self.verdict = nn.Sequential(nn.Linear(512 * 16, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1))

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        data = F.leaky_relu(self.enter(picture), 0.2)
        for same, down, skip in self.blocks:
            shortcut = skip(_filtered(data, 1, stride=2))
            data = F.leaky_relu(same(data), 0.2)
            data = F.leaky_relu(down(_filtered(data, 2)), 0.2) + shortcut
        spread = data.float().std(0).mean().expand(data.shape[0], 1, 4, 4).to(data.dtype)
        data = F.leaky_relu(self.last(torch.cat((data, spread), 1)), 0.2)
        return self.verdict(data.flatten(1))  # type: ignore[no-any-return]


class StyleGAN2(nn.Module):
    """One step of both players: the generator through the discriminator, the discriminator on made and real images."""

    def __init__(self, resolution: int, base: int) -> None:
        super().__init__()
        self.generator, self.discriminator = Generator(resolution, base), Discriminator(resolution, base)

    def forward(self, real: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            made = self.generator(noise)
        loss = F.softplus(self.discriminator(made)).mean() + F.softplus(-self.discriminator(real)).mean()
        return loss + F.softplus(-self.discriminator(self.generator(noise))).mean()


def _inputs(resolution: int) -> Any:
    def make(batch: int) -> Inputs:
        return images(batch, resolution), torch.empty(batch, LATENT, device="meta")

    return make


def specs() -> list[Spec]:
    full = [_spec(f"stylegan2-{resolution}", resolution, FULL) for resolution in (256, 512, 1024)]
    return full + [_spec(f"stylegan2-ada-{resolution}", resolution, HALF) for resolution in (128, 256)]


def _spec(name: str, resolution: int, base: int) -> Spec:
    return described(
        name,
        "image generation",
        "stylegan",
        lambda: StyleGAN2(resolution, base),
        _inputs(resolution),
        lambda model, inputs: model(*inputs),
        RECIPE,
        "Karras et al. 2020, arXiv:1912.04958, and NVlabs/stylegan2-ada-pytorch",
        batches=(4, 8),
        image_size=resolution,
        sample_unit="image",
        notes=("without the lazy regularisation (R1 every 16th step, path length every 4th)",),
    )
