"""Reading of the shipped tables: plain text files beside the code, opened only when somebody asks."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from planner.errors import DataError

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


def read_lines(file_name: str) -> list[str]:
    """The lines of a table under planner/data, header first. Raises DataError where it cannot be read."""
    try:
        with open(os.path.join(_FOLDER, file_name), encoding="utf-8", newline="") as file:
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the shipped table {file_name} cannot be read: {error}") from error


def read_rows(file_name: str) -> Iterator[dict[str, str]]:
    """The rows of a table under planner/data as dictionaries of text."""
    return csv.DictReader(read_lines(file_name))


def split_line(line: str) -> list[str]:
    """The cells of one line of a table."""
    return next(csv.reader([line]))


def number(text: str, scale: float = 1.0) -> float | None:
    """A cell's number times ``scale``; an empty cell is None."""
    return float(text) * scale if text else None


def whole(text: str) -> int | None:
    """A cell's whole number; an empty cell is None."""
    return int(text) if text else None
