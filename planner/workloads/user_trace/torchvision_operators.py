"""Import torchvision beside a torch it was not built for, as timm does when it is imported.

Its compiled operators do not load then, which it bears but for describing two of them. Networks that classify images
need neither.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import torch

_DESCRIBED = ("nms", "qnms")
_SCHEMA = "(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor"
_kept: list[torch.library.Library] = []  # an operator goes with the library that defines it


def imported(library: str) -> ModuleType:
    """``timm`` or ``torchvision``. Raises ImportError, and what else the library itself raises."""
    try:
        return importlib.import_module(library)
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
    operators = torch.library.Library("torchvision", "FRAGMENT")
    for name in _DESCRIBED:
        if not hasattr(torch.ops.torchvision, name):
            operators.define(name + _SCHEMA)
    _kept.append(operators)
    return importlib.import_module(library)
