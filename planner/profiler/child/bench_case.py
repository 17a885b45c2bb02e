"""One thing to time, and where: the records that the benchmarks beside this file are made of. Needs only torch."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Case(NamedTuple):
    """One thing to time. ``build`` makes its operands and returns the call.

    ``width``, ``groups`` and ``kernel_size`` are a convolution's as in the model's operation records; ``devices`` is
    how many take part.
    """

    name: str
    op_class: str
    phase: str
    flops: float
    bytes: float
    kernels: float
    build: Callable[[], Callable[[], Any]]
    element_bytes: int = 4
    width: float = 0.0
    groups: int = 1
    kernel_size: int = 0
    devices: int = 1


class Bench(NamedTuple):
    """Where and in which type it is measured; ``batch`` is large enough to fill the device."""

    device: torch.device
    batch: int
    type: torch.dtype = torch.float32

    def random(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, device=self.device, dtype=self.type)

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        elif self.device.type == "mps":
            torch.mps.synchronize()
