"""A torchvision that was built for another torch: stand-ins for both, since neither is installed where tests run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

NAME = "planner.workloads.user_trace.torchvision_operators"
FAKE = """
import torch

for name in ("nms", "qnms"):
    if name not in torch.ops.torchvision.__dict__:
        raise RuntimeError(f"operator torchvision::{name} does not exist")
"""


@pytest.fixture
def operators(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """``torch.ops.torchvision``, to which ``torch.library.Library`` adds what it defines."""
    known = SimpleNamespace()

    class Library:
        def __init__(self, *_: Any) -> None:
            pass

        def define(self, schema: str) -> None:
            name = schema.partition("(")[0]
            assert not hasattr(known, name)  # torch refuses to define an operator twice
            setattr(known, name, schema)

    torch = ModuleType("torch")
    torch.__dict__.update(ops=SimpleNamespace(torchvision=known), library=SimpleNamespace(Library=Library))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    yield known
    for module in (NAME, "torchvision"):
        sys.modules.pop(module, None)


def imported(library: str) -> ModuleType:
    operators = importlib.import_module(NAME)  # anew, beside the torch that stands in
    module: ModuleType = operators.imported(library)
    return module


@pytest.mark.parametrize("already", [(), ("nms",)])
def test_operators_that_did_not_load_are_only_described(
    operators: SimpleNamespace, already: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in already:
        setattr(operators, name, "its own")
    (tmp_path / "torchvision.py").write_text(FAKE)
    monkeypatch.syspath_prepend(tmp_path)
    assert imported("torchvision").__name__ == "torchvision"
    assert sorted(operators.__dict__) == ["nms", "qnms"]


@pytest.mark.parametrize("error", ["RuntimeError('another reason')", "ImportError('no such library')"])
def test_other_reasons_are_left_as_they_are(
    operators: SimpleNamespace, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torchvision.py").write_text(f"raise {error}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((RuntimeError, ImportError), match=r"another reason|no such library"):
        imported("torchvision")
    assert operators.__dict__ == {}
