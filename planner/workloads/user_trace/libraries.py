"""What transformers asks the data before it computes, answered: rows are neither packed nor padded."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

_MASKING = "transformers.masking_utils"
_ANSWERS: dict[str, Any] = {
    "find_packed_sequence_indices": lambda position_ids: None,
    "_ignore_causal_mask_sdpa": lambda *_, **__: True,
}


@contextlib.contextmanager
def data_questions_answered() -> Iterator[None]:
    """Where the library is in use and has these questions; others come as they may."""
    module = sys.modules.get(_MASKING)
    originals = {name: getattr(module, name) for name in _ANSWERS if hasattr(module, name)}
    for name in originals:
        setattr(module, name, _ANSWERS[name])
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(module, name, original)
