"""What goes wrong in the user's code, as a sentence with the line it happened in."""

from __future__ import annotations

import traceback
from pathlib import Path

OURS = Path(__file__).resolve().parent.parent
_PACKAGES = ("site-packages", "dist-packages")
_STANDARD_LIBRARY = Path(traceback.__file__).resolve().parent
_MAX_CHARACTERS = 300

# How torch says that an operation needs the numbers, which a trace has not.
_DATA_DEPENDENT = (
    "item() cannot be called on meta", "_local_scalar_dense", "data-dependent", "data dependent", "nonzero",
    "cannot be called on meta tensors", "copy out of meta", "DynamicOutputShape", "DataDependent", "unbacked",
    "can't convert meta", "Cannot access data pointer", ".numpy() is not supported", "unique2",
)  # fmt: skip


class CannotTraceError(Exception):
    """The model cannot be made or traced; ``stage`` is import, build, input or step."""

    def __init__(self, stage: str, message: str) -> None:
        self.stage = stage
        super().__init__(message)


def sentence(error: BaseException) -> str:
    """One line: the kind of error, its first line, and the place in the user's code."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    place = place_of(error)
    said = f"{type(error).__name__}: {text[:_MAX_CHARACTERS]}".rstrip(": .")
    return said + (f" ({place})" if place else "")


def place_of(error: BaseException) -> str:
    """'model.py:17' of the innermost frame that is neither ours nor of an installed package; '' where there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        installed = any(part in _PACKAGES for part in path.parts) or _STANDARD_LIBRARY in path.parents
        if path.exists() and not installed and OURS not in path.parents:
            return f"{path.name}:{frame.lineno}"
    return ""


def is_data_dependent(error: BaseException) -> bool:
    """Whether the step needs the values of its tensors: a branch on them, a size computed from them."""
    text = f"{type(error).__name__}: {error}"
    return any(mark in text for mark in _DATA_DEPENDENT)
