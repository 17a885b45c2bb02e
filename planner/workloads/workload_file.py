"""A workload as a JSON file of the user's own: ``gpuplanner trace`` writes it, -m reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.workloads.record import parse_record, to_record
from planner.workloads.workload import Workload

SCHEMA_VERSION = 1
_KEY = "workload"
_MAX_OPERATIONS = 100_000
_MAX_PARAMETERS = 1e15
_MAX_VALUE = 1e27
_MAX_TEXT = 2_000


def is_workload(content: Mapping[str, Any]) -> bool:
    """Whether a JSON object is one of our files rather than somebody's configuration."""
    return _KEY in content and "schema_version" in content


def workload_text(workload: Workload) -> str:
    """The file's text; an operation a line."""
    record = to_record(workload)
    rows = record.pop("operations")
    head = json.dumps({"schema_version": SCHEMA_VERSION, _KEY: record}, indent=1, ensure_ascii=False)
    listed = ",\n   ".join(json.dumps(row) for row in rows)
    return (
        f'{head.removesuffix("}").rstrip().removesuffix("}").rstrip()},\n  "operations": [\n   {listed}\n  ]\n }}\n}}\n'
    )


def workload_from(content: Mapping[str, Any], path: Path) -> Workload:
    """The workload in a file's JSON object. Raises InputError with the field that is wrong."""
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"the workload file {str(path)!r} is of schema version {_shown(version)}; {SCHEMA_VERSION} is read here"
        )
    record = content[_KEY]
    try:
        _check(record)
        return parse_record(record)
    except (ValueError, TypeError, KeyError) as error:
        said = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"the workload file {str(path)!r} cannot be used: {said}") from error


def _check(record: Any) -> None:
    """Raise KeyError, TypeError or ValueError for what a workload cannot be."""
    if not isinstance(record, dict):
        raise TypeError(f"'{_KEY}' is no object")
    for name in ("name", "task", "family", "recipe_source", "source"):
        _text(name, record[name])
    for name in ("optimizer", "sample_unit"):
        _text(name, record.get(name, ""))
    if record["default_dataset"] is not None:
        _text("default_dataset", record["default_dataset"])
    _whole("parameters", record["parameters"], 0, _MAX_PARAMETERS)
    _whole("parameter_tensors", record["parameter_tensors"], 0, 1e9)
    for name in ("recipe_batch_size_per_gpu", "max_global_batch_size"):
        _whole(name, record[name], 1, 1e9)
    for name in ("image_size", "seq_length", "trainable_parameters", "embedding_parameters"):
        if record.get(name) is not None:
            _whole(name, record[name], 0, _MAX_PARAMETERS)
    if not isinstance(record.get("notes", []), list):
        raise TypeError("'notes' is no list")
    for note in record.get("notes", []):
        _text("notes", note)
    _check_memory(record["memory"])
    _check_operations(record["operations"])


def _check_memory(memory: Any) -> None:
    if not isinstance(memory, dict):
        raise TypeError("'memory' is no object")
    for kind in ("amp", "fp32"):
        values = memory[kind]
        if not isinstance(values, list) or len(values) != 4:
            raise TypeError(f"'memory.{kind}' is no list of 4 numbers")
        for value in values:
            _number(f"memory.{kind}", value, -_MAX_VALUE)


def _check_operations(rows: Any) -> None:
    if not isinstance(rows, list) or not rows:
        raise TypeError("'operations' is no list of operations")
    if len(rows) > _MAX_OPERATIONS:
        raise ValueError(f"'operations' has {len(rows):,} rows; more than {_MAX_OPERATIONS:,} are not read")
    for place, row in enumerate(rows):
        where = f"operations[{place}]"
        if not isinstance(row, list) or len(row) not in (11, 12):
            raise TypeError(f"'{where}' is no list of 11 or 12 values")
        _text(where, row[0])
        _whole(where, row[1], 0, 1)
        _whole(where, row[2], 1, 16)
        for value in row[3:6]:
            _number(where, value, 0)
        for value in row[6:10]:  # a line through two batch sizes may cross 0 below them
            _number(where, value, -_MAX_VALUE)
        for value in row[10:]:
            _number(where, value, 0)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > _MAX_TEXT or not value.isprintable():
        raise TypeError(f"'{name}' is no line of text: {_shown(value)}")


def _whole(name: str, value: Any, low: float, high: float) -> None:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"'{name}' is no whole number from {low:,.0f} to {high:,.0f}: {_shown(value)}")


def _number(name: str, value: Any, low: float) -> None:
    if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= _MAX_VALUE:
        raise ValueError(f"'{name}' has a value that is no number in range: {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
