"""What the builder must know of one model: how to make it, what one step is, and how people train it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planner.workloads.torch_trace import Inputs, StepLoss


@dataclass(frozen=True)
class Recipe:
    """How a model is usually trained; ``source`` names the paper or script the numbers come from."""

    dataset: str | None
    batch_size_per_gpu: int
    max_global_batch_size: int
    optimizer: str
    source: str


@dataclass(frozen=True)
class Step:
    """A model on the meta device with its inputs (by batch size) and its scalar loss."""

    model: Any
    make_inputs: Callable[[int], Inputs]
    loss: StepLoss


@dataclass(frozen=True)
class Spec:
    """One record to be. ``pure_half`` means weights and activations in half (Apex O2) instead of autocast."""

    name: str
    task: str
    family: str
    source: str
    build: Callable[[], Step]
    recipe: Recipe
    batches: tuple[int, int] = (4, 8)
    pure_half: bool = False
    extras: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
