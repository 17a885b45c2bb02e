"""What was found in a training configuration: values for the experiment, and fields that were not understood."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.errors import InputError, UnknownNameError
from planner.workloads.datasets import dataset

Setter = Callable[["Found", str, Any], None]


class Found:
    """Collects a configuration's meaning. ``values`` are fields of ``ExperimentRequest``.

    ``left_aside`` are fields that may matter and were not understood, ``remarks`` what is said of understood ones,
    ``unknown_data`` the data sets trained on of which nothing is known here.
    """

    def __init__(self, subject: str, folder: Path) -> None:
        self.subject = subject
        self.folder = folder
        self.values: dict[str, Any] = {}
        self.left_aside: list[str] = []
        self.remarks: list[str] = []
        self.unknown_data: list[str] = []

    def put(self, field: str, value: Any) -> None:
        self.values[field] = value

    def leave(self, key: str) -> None:
        self.left_aside.append(key)

    def read(self, content: Mapping[str, Any], setters: Mapping[str, Setter], without_effect: frozenset[str]) -> None:
        """Hand every field to its setter; those without effect on time, memory or cost are passed over."""
        for key, value in content.items():
            key = str(key)
            setter = setters.get(key)
            if value is None or value == "" or key in without_effect:
                continue
            if setter is None:
                self.leave(key)
            else:
                setter(self, key, value)

    def wrong(self, key: str, value: Any, expected: str) -> InputError:
        text = repr(value)
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        return InputError(f"{self.subject}: {key!r} must be {expected}, not {shown}")


def whole(field: str, *, scale: int = 1) -> Setter:
    """A whole number; text that is one counts, as YAML and command lines have it."""

    def set_whole(found: Found, key: str, value: Any) -> None:
        found.put(field, scale * as_whole(found, key, value))

    return set_whole


def as_whole(found: Found, key: str, value: Any) -> int:
    """The value as a whole number. Raises InputError."""
    result = _finite(value)
    if result is None or result != int(result):
        raise found.wrong(key, value, "a whole number")
    return int(result)


def number(field: str) -> Setter:
    """A finite number, also one that stands as text."""

    def set_number(found: Found, key: str, value: Any) -> None:
        found.put(field, as_number(found, key, value))

    return set_number


def as_number(found: Found, key: str, value: Any) -> float:
    """The value as a finite number. Raises InputError."""
    result = _finite(value)
    if result is None:
        raise found.wrong(key, value, "a number")
    return result


def _finite(value: Any) -> float | None:
    """The number that is written; None for none, and for true and false, which Python counts as 1 and 0."""
    try:
        result = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    return result if math.isfinite(result) else None


def steps(found: Found, key: str, value: Any) -> None:
    """Optimizer steps in all; -1 and 0 say that epochs decide."""
    count = as_whole(found, key, value)
    if count > 0:
        found.put("steps", float(count))


def switch(field: str) -> Setter:
    """True or false."""

    def set_switch(found: Found, key: str, value: Any) -> None:
        found.put(field, as_bool(found, key, value))

    return set_switch


def as_bool(found: Found, key: str, value: Any) -> bool:
    """The value as true or false, also as text. Raises InputError."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise found.wrong(key, value, "true or false")
    return value


def text(field: str) -> Setter:
    """A text as it stands."""

    def set_text(found: Found, key: str, value: Any) -> None:
        found.put(field, as_text(found, key, value))

    return set_text


def as_text(found: Found, key: str, value: Any) -> str:
    """The value, which must be a text of sensible length. Raises InputError."""
    if not isinstance(value, str) or len(value) > 500:
        raise found.wrong(key, value, "a text")
    return value


def data_set(found: Found, key: str, value: Any) -> None:
    """A data set by its name, here or on a hub ('tatsu-lab/alpaca')."""
    data_sets(found, key, [as_text(found, key, value)])


def data_sets(found: Found, key: str, names: Sequence[str]) -> None:
    """The data set trained on, where it is one that is known here; a mixture is none."""
    try:
        (name,) = names
        found.put("dataset", dataset(name).name)
    except (ValueError, UnknownNameError):
        found.unknown_data += names
        found.leave(f"{key}: {', '.join(names)}")


def four_bit_without_adapters(found: Found, key: str) -> None:
    """Frozen weights in 4 bits are planned below adapters only; without them the field is left aside."""
    if found.values.get("four_bit_weights") and "lora_rank" not in found.values:
        del found.values["four_bit_weights"]
        found.leave(key)


def model_name(found: Found, key: str, value: Any) -> None:
    """A name, or a path as it is seen from the configuration's own folder."""
    name = as_text(found, key, value)
    beside = found.folder / name
    try:
        is_folder = beside.is_dir()
    except (OSError, ValueError):
        is_folder = False
    found.put("model", str(beside) if is_folder else name)


_OPTIMIZERS = (
    ("paged_adamw_8bit", "adamw8bit"), ("pagedadamw8bit", "adamw8bit"), ("adamw8bit", "adamw8bit"),
    ("adamw_8bit", "adamw8bit"), ("adamw_bnb_8bit", "adamw8bit"), ("adamw", "adamw"), ("adafactor", "adafactor"),
    ("adam", "adam"), ("lamb", "lamb"), ("rmsprop", "rmsprop"), ("momentum", "sgd"), ("nesterov", "sgd"),
    ("sgd", "sgd"),
)  # fmt: skip
_SPELLINGS = ("", "_torch", "_hf", "_torch_fused", "_fused", "_apex_fused", "_torch_xla", "tf")


def optimizer(found: Found, key: str, value: Any) -> None:
    """An optimizer by any tool's spelling, or by its class; another than the known ones is left aside."""
    name = as_text(found, key, value).rpartition(".")[2].lower()
    for known, ours in _OPTIMIZERS:
        if name in {known + ending for ending in _SPELLINGS}:
            found.put("optimizer", ours)
            return
    found.leave(f"{key}: {value}")
