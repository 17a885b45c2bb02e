"""Read a file somebody gave us: a plain file, of bounded size, in UTF-8. nothing in it is executed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from planner.errors import InputError

MAX_JSON_BYTES = 16 << 20
_KINDS: dict[type, str] = {
    bool: "a truth value", int: "a number", float: "a number", str: "a text", list: "a list", type(None): "nothing",
}  # fmt: skip


def read_bytes(path: Path, max_bytes: int, what: str) -> bytes:
    """The content of a plain file. Raises InputError: missing, not a plain file, larger than ``max_bytes``."""
    return _read(path, max_bytes, what, whole=True)


def read_prefix(path: Path, count: int, what: str) -> bytes:
    """The first ``count`` bytes of a plain file of any size, fewer where it is shorter. Raises InputError."""
    return _read(path, count, what, whole=False)


def _read(path: Path, max_bytes: int, what: str, *, whole: bool) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the {what} {str(path)!r}: {_reason(error)}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise InputError(f"the {what} {str(path)!r} is not a plain file")
    with os.fdopen(descriptor, "rb") as file:
        if whole and status.st_size > max_bytes:
            raise InputError(
                f"the {what} {str(path)!r} has {status.st_size:,} bytes; more than {max_bytes:,} are not read"
            )
        try:
            return file.read(max_bytes)
        except OSError as error:
            raise InputError(f"cannot read the {what} {str(path)!r}: {_reason(error)}") from error


def read_text(path: Path, max_bytes: int, what: str) -> str:
    """The text of a UTF-8 file. Raises InputError."""
    try:
        return read_bytes(path, max_bytes, what).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} {str(path)!r} is not UTF-8 text") from error


def read_json_object(path: Path, what: str, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in a file. Raises InputError."""
    return parse_json_object(read_text(path, max_bytes, what), f"the {what} {str(path)!r}")


def parse_json_object(text: str, subject: str) -> dict[str, Any]:
    """The JSON object in ``text``; ``subject`` begins the complaint. Raises InputError."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{subject} is not JSON: {error.msg.lower()} in line {error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{subject} cannot be read as JSON: it is nested too deeply or its numbers are too long"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{subject} holds no JSON object but {kind_of(value)}")
    return value


def kind_of(value: object) -> str:
    """What a value of JSON, YAML or TOML is called: 'a number', 'a list'."""
    return _KINDS.get(type(value), f"a value of the type {type(value).__name__}")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
