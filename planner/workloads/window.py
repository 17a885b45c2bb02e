"""What a convolution's window, strides and channels leave in its row: what its libraries choose an algorithm by."""

from __future__ import annotations

import math
from collections.abc import Sequence

# What a matrix engine takes of 2-byte operands at once; where there are fewer channels, it fills them up with zeros.
CHANNELS_AT_ONCE = 8


def few_channels(into: int, out: int) -> int:
    """The fewer of a convolution's input and output channels where matrix engines have to fill them up; else 0."""
    fewer = min(into, out)
    return fewer if fewer < CHANNELS_AT_ONCE else 0


def shorter_side(window: Sequence[int]) -> int:
    """1 of 1 x 7, and of a window of one dimension, which is a row."""
    return min(window) if len(window) > 1 else 1


def common_stride(strides: Sequence[int]) -> float:
    """The stride of all sides whose square says how many times fewer positions come out: 1.41 of 2 along one side."""
    stride = round(math.prod(strides) ** (1.0 / max(len(strides), 2)), 2)
    return int(stride) if stride == int(stride) else stride
