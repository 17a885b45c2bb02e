"""Pieces that several described models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from planner.workloads.torch_trace import Inputs, StepLoss
from tools.zoo.spec import Recipe, Spec, Step


def images(batch: int, size: int, channels: int = 3) -> torch.Tensor:
    return torch.empty(batch, channels, size, size, device="meta")


def labels(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, dtype=torch.long, device="meta")


def conv_bn_relu(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def label_smoothed_loss(logits: torch.Tensor, target: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Label smoothing as NVIDIA's translation scripts write it: fp32 log-probabilities, gather and mean."""
    log_probabilities = torch.nn.functional.log_softmax(logits, dim=-1, dtype=torch.float32)
    picked = -log_probabilities.gather(dim=-1, index=target.unsqueeze(-1)).squeeze(-1)
    return ((1.0 - smoothing) * picked - smoothing * log_probabilities.mean(dim=-1)).sum()


def described(
    name: str,
    task: str,
    family: str,
    make_model: Callable[[], nn.Module],
    make_inputs: Callable[[int], Inputs],
    loss: StepLoss,
    recipe: Recipe,
    cited: str,
    *,
    batches: tuple[int, int] = (32, 64),
    pure_half: bool = False,
    notes: tuple[str, ...] = (),
    **extras: Any,
) -> Spec:
    """A spec whose source says that the module was written for the zoo after ``cited``."""

    def build() -> Step:
        with torch.device("meta"):
            model = make_model()
        return Step(model, make_inputs, loss)

    source = f"described after {cited}, traced on the meta device"
    return Spec(name, task, family, source, build, recipe, batches, pure_half, extras, notes)
