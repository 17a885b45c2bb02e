"""What a convolution's window and strides leave in its row: two numbers that its libraries choose an algorithm by."""

from __future__ import annotations

import math
from collections.abc import Sequence


def shorter_side(window: Sequence[int]) -> int:
    """1 of 1 x 7, and of a window of one dimension, which is a row."""
    return min(window) if len(window) > 1 else 1


def common_stride(strides: Sequence[int]) -> float:
    """The stride of all sides whose square says how many times fewer positions come out: 1.41 of 2 along one side."""
    stride = round(math.prod(strides) ** (1.0 / max(len(strides), 2)), 2)
    return int(stride) if stride == int(stride) else stride
