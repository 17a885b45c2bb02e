"""How many parameters ``*.safetensors`` files hold, from their headers: no weight is read, nothing is executed.

A file starts with the header's length (8 bytes, little endian) and the header, JSON: name -> dtype, shape, offsets.
"""

from __future__ import annotations

import math
from pathlib import Path

from planner.errors import InputError
from planner.workloads.reading import parse_json_object, read_prefix

MAX_HEADER_BYTES = 64 << 20
_MAX_FILES = 2_000
_LENGTH_BYTES = 8
_NOT_WEIGHTS = ("U8", "I8", "I16", "U16", "I32", "U32", "I64", "U64", "BOOL")


def stored_parameters(folder: Path) -> int | None:
    """Elements of all floating-point tensors in a folder's files; None where there is none. Raises InputError.

    Packed (quantized) weights are integers: how many parameters they are is not known from a header.
    """
    files = sorted(folder.glob("*.safetensors"))[:_MAX_FILES]
    if not files:
        return None
    counts = [_count(path) for path in files]
    return None if None in counts else sum(count for count in counts if count is not None)


def _count(path: Path) -> int | None:
    subject = f"the weights {str(path)!r}"
    length = int.from_bytes(read_prefix(path, _LENGTH_BYTES, "weights"), "little")
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise InputError(f"{subject} declare a header of {length:,} bytes; more than {MAX_HEADER_BYTES:,} are not read")
    text = read_prefix(path, _LENGTH_BYTES + length, "weights")[_LENGTH_BYTES:]
    if len(text) < length:
        raise InputError(
            f"{subject} are cut off: the header has {length:,} bytes, the file {len(text):,} after its start"
        )
    try:
        header = parse_json_object(text.decode("utf-8"), f"the header of {subject}")
    except UnicodeDecodeError as error:
        raise InputError(f"the header of {subject} is not UTF-8 text") from error
    return _elements(header, subject)


def _elements(header: dict[str, object], subject: str) -> int | None:
    elements = 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        shape = tensor.get("shape") if isinstance(tensor, dict) else None
        if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
            raise InputError(f"{subject} have no usable shape for {name[:80]!r}")
        if isinstance(tensor, dict) and tensor.get("dtype") in _NOT_WEIGHTS:
            if "weight" in name:
                return None
            continue
        elements += math.prod(shape)
    return elements
