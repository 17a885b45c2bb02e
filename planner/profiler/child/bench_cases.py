"""What is measured: one call for each class of operations, with the FLOPs and bytes that its rate is taken from.

Needs only torch and the files beside it: ``torch_bench.py`` times the calls in the user's interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from bench_case import Bench, Case
from bench_device import OPTIMIZERS, engines, has_tf32, links, memory, overhead, updates
from bench_matrix import attention, batched_products, convolution, products, recurrent
from bench_passes import VOCABULARY, elementwise, normalisation, pooling, transformer_parts, vocabulary


def cases(bench: Bench) -> Iterator[Case]:
    """All cases that every device has."""
    yield from overhead(bench)
    for optimizer in OPTIMIZERS:
        yield from updates(bench, optimizer)
    yield from products(bench, 512, 640, 640)
    yield from products(bench, 512, 640, 2560)
    yield from products(bench, bench.batch, 512, 1000)
    yield from attention(bench)
    yield from transformer_parts(bench)
    for hidden in (512, 450):  # one that fills vectors and cache lines, and one that does not
        yield from recurrent(bench, hidden)
    for channels, size in ((48, 56), (96, 28), (192, 14), (384, 7)):
        yield from convolution(bench, channels, channels, size, kernel=3)
    for inputs, outputs, size in ((48, 192, 56), (192, 48, 56), (384, 96, 28), (192, 768, 14), (16, 96, 56)):
        yield from convolution(bench, inputs, outputs, size, kernel=1)
    for channels, size in ((96, 56), (192, 28), (384, 14)):
        yield from convolution(bench, channels, channels, size, kernel=3, groups=channels)
    yield from normalisation(bench)
    yield from elementwise(bench)
    yield from convolution(bench, 3, 48, 224, kernel=7, stride=2)
    yield from pooling(bench)
    yield from vocabulary(bench)
    yield from products(bench, 1024, 512, VOCABULARY)
    yield from convolution(bench, 192, 192, 28, kernel=3, groups=32)
    yield from batched_products(bench)


def accelerator_cases(bench: Bench) -> Iterator[Case]:
    """What an accelerator has beside the rest: its engines, its memory and its links at their best; 2-byte types."""
    yield from engines(bench)
    yield from memory(bench)
    yield from links(bench)
    half = bench._replace(type=half_type(bench.device))
    for case in _matrix_cases(half):
        yield case._replace(name=f"{case.name} half", bytes=case.bytes / 2, element_bytes=2)


def half_type(device: torch.device) -> torch.dtype:
    """The 2-byte type that automatic mixed precision takes here: GPUs that have TF32 have bf16."""
    return torch.bfloat16 if has_tf32(device) else torch.float16


def _matrix_cases(bench: Bench) -> Iterator[Case]:
    yield from products(bench, bench.batch * 64, 640, 2560)
    yield from attention(bench)
    for channels, size in ((48, 56), (96, 28), (192, 14), (384, 7)):
        yield from convolution(bench, channels, channels, size, kernel=3)
    for inputs, outputs, size in ((48, 192, 56), (192, 48, 56), (192, 768, 14)):
        yield from convolution(bench, inputs, outputs, size, kernel=1)
    for channels, size in ((96, 56), (384, 14)):
        yield from convolution(bench, channels, channels, size, kernel=3, groups=channels)
    yield from batched_products(bench)
