"""What a device has beside the work of networks: its engines, memory and links at their best, its launches, updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from bench_case import Bench, Case
from bench_passes import elementwise_of

_SGD_MOMENTUM = {"lr": 1e-3, "momentum": 0.9}
OPTIMIZERS: dict[str, Callable[[list[torch.Tensor]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, **_SGD_MOMENTUM),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, **_SGD_MOMENTUM),
}


def engines(bench: Bench) -> Iterator[Case]:
    """Square products so large that nothing but arithmetic counts, by type; 'tfloat32' is fp32 on the matrix engine."""
    for size in (4096, 8192):
        for name in ("float32", "tfloat32", "float16", "bfloat16"):
            kind = torch.float32 if name == "tfloat32" else getattr(torch, name)
            if name == "tfloat32" and not has_tf32(bench.device):
                continue

            def product(size: int = size, name: str = name, kind: torch.dtype = kind) -> Callable[[], Any]:
                left, right = bench.random(size, size).to(kind), bench.random(size, size).to(kind)
                if name != "tfloat32":
                    return lambda: left @ right

                def on_matrix_engine() -> None:
                    torch.set_float32_matmul_precision("high")
                    left @ right
                    torch.set_float32_matmul_precision("highest")

                return on_matrix_engine

            moved = 3.0 * size**2 * kind.itemsize
            yield Case(
                f"matmul {size} {name}", f"product {name}", "forward", 2.0 * size**3, moved, 1, product, kind.itemsize
            )


def has_tf32(device: torch.device) -> bool:
    return device.type == "cuda" and bool(torch.cuda.get_device_capability(device) >= (8, 0))


def memory(bench: Bench) -> Iterator[Case]:
    """Sums and copies of 256 MB: several times what any cache holds."""
    for case in elementwise_of(bench, 64 << 20):
        yield case._replace(op_class="moved")


def links(bench: Bench) -> Iterator[Case]:
    count = 64 << 20

    def from_host() -> Callable[[], Any]:
        host = torch.empty(count, pin_memory=bench.device.type == "cuda")
        return lambda: host.to(bench.device, non_blocking=True)

    yield Case("copy from host 256 MB", "host copy", "forward", 0.0, 4.0 * count, 1, from_host)
    devices = torch.cuda.device_count() if bench.device.type == "cuda" else 0
    if devices > 1:

        def all_reduce() -> Callable[[], Any]:
            from torch.cuda import nccl

            parts = [torch.ones(count, device=f"cuda:{number}") for number in range(devices)]
            return lambda: nccl.all_reduce(parts)

        yield Case(
            f"all-reduce 256 MB on {devices}",
            "all-reduce",
            "forward",
            0.0,
            4.0 * count,
            1,
            all_reduce,
            devices=devices,
        )


def overhead(bench: Bench) -> Iterator[Case]:
    """What an operation costs that does nothing: dispatch, autograd's node, and its backward call."""
    count = 100

    def build() -> Callable[[], Any]:
        start = bench.random(8).requires_grad_()

        def chain() -> Any:
            value = start
            for _ in range(count):
                value = value * 1.5
            return value

        return chain

    def build_backward() -> Callable[[], Any]:
        chain = build()

        def both() -> None:
            chain().sum().backward()

        return both

    yield Case("100 tiny operations", "launch", "forward", 0.0, 0.0, count, build)
    yield Case("100 tiny operations", "launch", "both", 0.0, 0.0, 2 * count, build_backward)


def updates(bench: Bench, optimizer: str) -> Iterator[Case]:
    """An update of few large tensors: small ones cost what launching them does."""
    for count, elements in ((6, 1600 << 10), (1, 10 << 20)):

        def build(count: int = count, elements: int = elements) -> Callable[[], Any]:
            parameters = [bench.random(elements).requires_grad_() for _ in range(count)]
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            update: Callable[[], Any] = OPTIMIZERS[optimizer](parameters).step
            return update

        name, size = f"{optimizer} {count}x{elements}", 4.0 * count * elements
        yield Case(name, f"update {optimizer}", "update", 0.0, size, count, build)


def held_memory(bench: Bench) -> Iterator[Case]:
    """Writing blocks that are kept until the end, as a step keeps its activations; and the same blocks once more.

    The difference is what the system takes for handing out the memory anew in every step.
    """
    sizes = [bench.batch * count << 10 for count in (768, 384, 384, 192, 192, 192, 192, 96, 96, 96, 96, 48, 48, 48, 48)]

    def hold() -> Callable[[], Any]:
        def step() -> None:
            kept = [torch.empty(size, device=bench.device).fill_(1.0) for size in (*sizes, *sizes)]
            while kept:
                kept.append(torch.empty_like(kept[-1]).fill_(1.0))
                del kept[-2:]

        return step

    def rewrite() -> Callable[[], Any]:
        kept = [torch.empty(size, device=bench.device) for size in sizes]

        def step() -> None:
            for block in kept * 4:
                block.fill_(1.0)

        return step

    held = 8.0 * sum(sizes)
    yield Case("memory held", "held", "forward", 0.0, held, 4 * len(sizes), hold)
    yield Case("memory rewritten", "rewritten", "forward", 0.0, held, 4 * len(sizes), rewrite)
