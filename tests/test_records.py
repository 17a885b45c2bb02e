"""Records must be quick to define: they are a third of a start otherwise."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import ForwardRef

import planner
import pricing

NOT_AT_START = ("planner.tui", "planner.workloads.torch_trace", "planner.workloads.user_trace")


def _modules() -> Iterator[str]:
    for package in (planner, pricing):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.startswith(NOT_AT_START):
                yield info.name


def test_no_field_of_a_record_is_a_string_to_compile() -> None:
    """``typing.NamedTuple`` compiles every annotation that is a string, as ``from __future__ import annotations`` makes
    them; 700 of those took longer than reading all prices. Modules that define NamedTuples do without that import."""
    strings = []
    for name in _modules():
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, type) and issubclass(value, tuple) and value.__module__ == name:
                fields = {key: kind for key, kind in value.__annotations__.items() if isinstance(kind, ForwardRef)}
                strings += [f"{name}.{value.__name__}.{key}" for key in fields]
    assert strings == []
