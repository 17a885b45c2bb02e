"""Image generators: Stable Diffusion, as the UNet alone and as the step that encodes pictures and texts; DiT, DCGAN."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, images, labels
from tools.zoo.spec import Recipe, Spec

SD_RECIPE = Recipe(
    "laion-aesthetics",
    4,
    2048,
    "adamw",
    "Rombach et al. 2022, arXiv:2112.10752, v1 model card (32 x 8 GPUs x 2 steps x 4 = 2,048)",
)
DIT_RECIPE = Recipe("imagenet", 32, 256, "adamw", "Peebles & Xie 2023, arXiv:2212.09748 (256 per step)")
DCGAN_RECIPE = Recipe("celeba", 128, 1024, "adam", "Radford et al. 2016, arXiv:1511.06434 (128 per step)")


class UNetShape(NamedTuple):
    widths: tuple[int, ...]
    depths: tuple[int, ...]  # transformer blocks a level; 0 is none
    middle_depth: int
    context: int  # width of the text embedding
    head_width: int  # 0: eight heads whatever the width
    linear_projection: bool
    pooled: int  # width of the pooled text and size embedding (SDXL)
    side: int  # of the latent image


SHAPES = {
    "stable-diffusion-1.5": UNetShape((320, 640, 1280, 1280), (1, 1, 1, 0), 1, 768, 0, False, 0, 64),
    "stable-diffusion-2.1": UNetShape((320, 640, 1280, 1280), (1, 1, 1, 0), 1, 1024, 64, True, 0, 96),
    "stable-diffusion-xl": UNetShape((320, 640, 1280), (0, 2, 10), 10, 2048, 64, True, 2816, 128),
}


# (width, layers, heads) of the text encoders: CLIP ViT-L/14, OpenCLIP ViT-H/14 and both CLIP ViT-L/14 and OpenCLIP
# ViT-bigG/14, whose last layers are not used (Podell et al. 2023).
TEXT_TOKENS = 77
TEXT_ENCODERS = {
    "stable-diffusion-1.5": ((768, 12, 12),),
    "stable-diffusion-2.1": ((1024, 23, 16),),
    "stable-diffusion-xl": ((768, 12, 12), (1280, 32, 20)),
}


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(1280, outputs))
        self.second = nn.Sequential(nn.GroupNorm(32, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, data: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        hidden = self.first(data) + self.time(time)[:, :, None, None]
        return self.shortcut(data) + self.second(hidden)  # type: ignore[no-any-return]


class CrossAttention(nn.Module):
    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(i, width, bias=False) for i in (width, context, context))
        self.out = nn.Linear(width, width)

    def forward(self, data: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        batch, length, width = data.shape
        q, k, v = (
            projected.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)
            for projected in (self.q(data), self.k(context), self.v(context))
        )
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))  # type: ignore[no-any-return]


class TransformerBlock(nn.Module):
    """Self-attention, attention to the text, and a gated feed-forward of four widths."""

    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.text = CrossAttention(width, width, heads), CrossAttention(width, context, heads)
        self.gated, self.out = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, data: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        normed = self.norms[0](data)
        data = data + self.own(normed, normed)
        data = data + self.text(self.norms[1](data), context)
        value, gate = self.gated(self.norms[2](data)).chunk(2, -1)
        return data + self.out(value * F.gelu(gate))  # type: ignore[no-any-return]


class SpatialTransformer(nn.Module):
    def __init__(self, width: int, shape: UNetShape, depth: int) -> None:
        super().__init__()
        heads = width // shape.head_width if shape.head_width else 8
        project = nn.Linear if shape.linear_projection else (lambda i, o: nn.Conv2d(i, o, 1))
        self.linear = shape.linear_projection
        self.norm = nn.GroupNorm(32, width)
        self.enter, self.leave = project(width, width), project(width, width)
        self.blocks = nn.ModuleList(TransformerBlock(width, shape.context, heads) for _ in range(depth))

    def forward(self, data: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(data) if self.linear else self.enter(self.norm(data))
        hidden = hidden.flatten(2).transpose(1, 2)
        hidden = self.enter(hidden) if self.linear else hidden
        for block in self.blocks:
            hidden = block(hidden, context)
        hidden = self.leave(hidden) if self.linear else hidden
        hidden = hidden.transpose(1, 2).reshape(data.shape)
        return data + (hidden if self.linear else self.leave(hidden))  # type: ignore[no-any-return]


class DiffusionUNet(nn.Module):
    """Rombach et al. 2022 / Podell et al. 2023: two residual blocks a level down, three up, text by cross-attention."""

    def __init__(self, shape: UNetShape) -> None:
        super().__init__()
        first = shape.widths[0]
        self.time = nn.Sequential(nn.Linear(first, 1280), nn.SiLU(), nn.Linear(1280, 1280))
        self.pooled = (
            nn.Sequential(nn.Linear(shape.pooled, 1280), nn.SiLU(), nn.Linear(1280, 1280)) if shape.pooled else None
        )
        self.enter = nn.Conv2d(4, first, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        skips, width = [first], first
        for level, (outputs, depth) in enumerate(zip(shape.widths, shape.depths, strict=True)):
            for _ in range(2):
                self.down.append(_stage(width, outputs, shape, depth))
                width = outputs
                skips.append(width)
            if level < len(shape.widths) - 1:
                self.down.append(nn.Conv2d(width, width, 3, 2, 1))
                skips.append(width)
        self.middle = nn.ModuleList(
            (
                ResidualBlock(width, width),
                SpatialTransformer(width, shape, shape.middle_depth),
                ResidualBlock(width, width),
            )
        )
        for level, (outputs, depth) in reversed(list(enumerate(zip(shape.widths, shape.depths, strict=True)))):
            for _ in range(3):
                self.up.append(_stage(width + skips.pop(), outputs, shape, depth))
                width = outputs
            if level:
                self.up.append(nn.Conv2d(width, width, 3, padding=1))
        self.leave = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(
        self, data: torch.Tensor, steps: torch.Tensor, context: torch.Tensor, *pooled: torch.Tensor
    ) -> torch.Tensor:
        time = self.time(steps)
        if self.pooled is not None:
            time = time + self.pooled(*pooled)
        data = self.enter(data)
        skips = [data]
        for stage in self.down:
            data = stage(data) if isinstance(stage, nn.Conv2d) else _run(stage, data, time, context)
            skips.append(data)
        first, attention, second = self.middle
        data = second(attention(first(data, time), context), time)
        for stage in self.up:
            if isinstance(stage, nn.Conv2d):
                data = stage(F.interpolate(data, scale_factor=2))
            else:
                data = _run(stage, torch.cat((data, skips.pop()), 1), time, context)
        return self.leave(data)  # type: ignore[no-any-return]


class TextEncoder(nn.Module):
    """CLIP's text transformer (Radford et al. 2021): 77 tokens of 49,408, causal blocks with an MLP of four widths."""

    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.tokens, self.places = nn.Embedding(49408, width), nn.Parameter(torch.empty(TEXT_TOKENS, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.ModuleList(nn.Linear(width, width) for _ in range(3)) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        data = self.tokens(text) + self.places
        batch, length, width = data.shape
        for layer, (projections, out, mlp) in enumerate(zip(self.qkv, self.out, self.mlps, strict=True)):
            normed = self.norms[2 * layer](data)
            q, k, v = (
                project(normed).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                for project in projections  # type: ignore[union-attr]
            )
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            data = data + out(mixed.transpose(1, 2).reshape(batch, length, width))
            data = data + mlp(self.norms[2 * layer + 1](data))
        return self.norm(data)  # type: ignore[no-any-return]


class ImageEncoder(nn.Module):
    """The encoder of Rombach et al.'s autoencoder: 128 channels by (1, 2, 4, 4), attention over the latent."""

    def __init__(self, widths: tuple[int, ...] = (128, 256, 512, 512)) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, widths[0], 3, padding=1)
        self.stages = nn.ModuleList()
        width = widths[0]
        for level, outputs in enumerate(widths):
            for _ in range(2):
                self.stages.append(PlainBlock(width, outputs))
                width = outputs
            if level < len(widths) - 1:
                self.stages.append(nn.Conv2d(width, width, 3, 2, 1))
        self.middle = nn.ModuleList(PlainBlock(width, width) for _ in range(2))
        self.norm, self.out = nn.GroupNorm(32, width), nn.Linear(width, width)
        self.qkv = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.leave = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 8, 3, padding=1))
        self.moments = nn.Conv2d(8, 8, 1)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        data = self.enter(pictures)
        for stage in self.stages:
            data = stage(data)
        data = self.middle[0](data)
        flat = self.norm(data).flatten(2).transpose(1, 2)
        q, k, v = (project(flat).unsqueeze(1) for project in self.qkv)
        mixed = self.out(F.scaled_dot_product_attention(q, k, v).squeeze(1)).transpose(1, 2).reshape(data.shape)
        mean, spread = self.moments(self.leave(self.middle[1](data + mixed))).chunk(2, 1)
        return mean + torch.exp(0.5 * spread) * torch.empty_like(mean)  # type: ignore[no-any-return]


class PlainBlock(nn.Module):
    """A residual block that knows no time."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.second = nn.Sequential(nn.GroupNorm(32, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        return self.shortcut(data) + self.second(self.first(data))  # type: ignore[no-any-return]


class DiffusionStep(nn.Module):
    """What the training scripts of diffusers run: frozen encoders of picture and text, noise, and the UNet."""

    def __init__(self, shape: UNetShape, texts: tuple[tuple[int, int, int], ...]) -> None:
        super().__init__()
        self.shape, self.unet, self.image = shape, DiffusionUNet(shape), ImageEncoder()
        self.texts = nn.ModuleList(TextEncoder(*each) for each in texts)
        self.image.requires_grad_(False)
        self.texts.requires_grad_(False)

    def forward(self, pictures: torch.Tensor, text: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            latent = self.image(pictures)
            context = torch.cat([encoder(text) for encoder in self.texts], -1)
            noise = torch.empty_like(latent)
            noisy = latent * 0.5 + noise * 0.5
        pooled = [torch.empty(len(text), self.shape.pooled, device="meta")] if self.shape.pooled else []
        return F.mse_loss(self.unet(noisy, steps, context, *pooled).float(), noise.float())


def _stage(inputs: int, outputs: int, shape: UNetShape, depth: int) -> nn.ModuleList:
    blocks: list[nn.Module] = [ResidualBlock(inputs, outputs)]
    if depth:
        blocks.append(SpatialTransformer(outputs, shape, depth))
    return nn.ModuleList(blocks)


def _run(stage: Any, data: torch.Tensor, time: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
    data = stage[0](data, time)
    return stage[1](data, context) if len(stage) > 1 else data


def _noise_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    latent, *conditions = inputs
    return F.mse_loss(model(latent, *conditions).float(), latent)


def _latents(shape: UNetShape) -> Any:
    def make(batch: int) -> Inputs:
        latent = images(batch, shape.side, 4)
        steps = torch.empty(batch, shape.widths[0], device="meta")
        text = torch.empty(batch, 77, shape.context, device="meta")
        return (latent, steps, text, *([torch.empty(batch, shape.pooled, device="meta")] if shape.pooled else []))

    return make


def _pictures(shape: UNetShape) -> Any:
    def make(batch: int) -> Inputs:
        steps = torch.empty(batch, shape.widths[0], device="meta")
        return images(batch, 8 * shape.side), labels(batch, TEXT_TOKENS), steps

    return make


class DiT(nn.Module):
    """Peebles & Xie 2023: ViT blocks modulated by time and class over 2 x 2 patches of a 32 x 32 x 4 latent."""

    def __init__(self, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(4, width, 2, stride=2)
        self.position = nn.Parameter(torch.empty(1, 256, width), requires_grad=False)
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.classes = nn.Embedding(1001, width)
        self.blocks = nn.ModuleList(DiTBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.modulate, self.leave = nn.Linear(width, 2 * width), nn.Linear(width, 32)

    def forward(self, latent: torch.Tensor, steps: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        data = self.patches(latent).flatten(2).transpose(1, 2) + self.position
        condition = self.time(steps) + self.classes(classes)
        for block in self.blocks:
            data = block(data, condition)
        shift, scale = self.modulate(F.silu(condition)).unsqueeze(1).chunk(2, -1)
        return self.leave(self.norm(data) * (1 + scale) + shift)  # type: ignore[no-any-return]


class DiTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.modulate = nn.Linear(width, 6 * width)

    def forward(self, data: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        batch, length, width = data.shape
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulate(F.silu(condition)).unsqueeze(1).chunk(6, -1)
        qkv = self.qkv(self.norms[0](data) * (1 + scale1) + shift1)
        q, k, v = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        data = data + gate1 * self.out(mixed)
        return data + gate2 * self.mlp(self.norms[1](data) * (1 + scale2) + shift2)  # type: ignore[no-any-return]


def _dit_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    """Noise and learned variance: twice the channels of the latent."""
    output = model(*inputs)
    return (
        F.mse_loss(output[..., :16].float(), torch.empty(*output.shape[:-1], 16, device="meta")) + output.float().mean()
    )


class DCGAN(nn.Module):
    """Generator 100 -> 64 x 64 and its mirror image; a step trains both, the discriminator on real and made images."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        widths = (8 * width, 4 * width, 2 * width, width)
        layers: list[nn.Module] = [
            nn.ConvTranspose2d(100, widths[0], 4, bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.ReLU(True),
        ]
        for inputs, outputs in itertools.pairwise(widths):
            layers += [nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True)]
        self.generator = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())
        layers = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
        for outputs, inputs in zip(reversed(widths[:-1]), reversed(widths[1:]), strict=True):
            layers += [
                nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.LeakyReLU(0.2, True),
            ]
        self.discriminator = nn.Sequential(*layers, nn.Conv2d(widths[0], 1, 4, bias=False))

    def forward(self, real: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        made = self.generator(noise)
        verdicts = (self.discriminator(real), self.discriminator(made.detach()), self.discriminator(made))
        return sum(F.binary_cross_entropy_with_logits(v, torch.empty_like(v)) for v in verdicts)  # type: ignore[return-value]


def specs() -> list[Spec]:
    task = "image generation"
    unets = [
        described(
            name,
            task,
            "stable-diffusion",
            lambda shape=shape: DiffusionUNet(shape),
            _latents(shape),
            _noise_loss,
            SD_RECIPE,  # type: ignore[misc]
            "Rombach et al. 2022, arXiv:2112.10752" if "xl" not in name else "Podell et al. 2023, arXiv:2307.01952",
            batches=(8, 16),
            image_size=8 * shape.side,
            sample_unit="image",
            notes=(
                "the UNet on cached latents and text embeddings; the image and text encoders are not in it "
                f"({name}@encoders has them)",
            ),
        )
        for name, shape in SHAPES.items()
    ]
    whole = [
        described(
            f"{name}@encoders",
            task,
            "stable-diffusion",
            lambda name=name, shape=shape: DiffusionStep(shape, TEXT_ENCODERS[name]),  # type: ignore[misc]
            _pictures(shape),
            lambda model, inputs: model(*inputs),
            SD_RECIPE,
            "Rombach et al. 2022, arXiv:2112.10752" if "xl" not in name else "Podell et al. 2023, arXiv:2307.01952",
            batches=(8, 16),
            image_size=8 * shape.side,
            sample_unit="image",
            notes=(
                "with the frozen encoders of pictures and texts in every step, as scripts run them that cache neither "
                f"latents nor embeddings; {name} is the UNet alone",
            ),
        )
        for name, shape in SHAPES.items()
    ]
    sizes = {"dit-s-2": (384, 12, 6), "dit-b-2": (768, 12, 12), "dit-l-2": (1024, 24, 16), "dit-xl-2": (1152, 28, 16)}
    dits = [
        described(
            name,
            task,
            "dit",
            lambda size=size: DiT(*size),  # type: ignore[misc]
            lambda b: (images(b, 32, 4), torch.empty(b, 256, device="meta"), labels(b)),
            _dit_loss,
            DIT_RECIPE,
            "Peebles & Xie 2023, arXiv:2212.09748",
            batches=(16, 32),
            image_size=256,
            sample_unit="image",
        )
        for name, size in sizes.items()
    ]
    return [
        *unets,
        *whole,
        *dits,
        described(
            "dcgan",
            task,
            "dcgan",
            DCGAN,
            lambda b: (images(b, 64), torch.empty(b, 100, 1, 1, device="meta")),
            lambda model, inputs: model(*inputs),
            DCGAN_RECIPE,
            "Radford et al. 2016, arXiv:1511.06434",
            batches=(64, 128),
            image_size=64,
            sample_unit="image",
        ),
    ]
