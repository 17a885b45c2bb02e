"""The files that the launchers' own loaders are asked to read: one of each kind of machine, for both launchers."""

from __future__ import annotations

from pathlib import Path

from tools.check_handoff import write


def test_every_kind_of_machine_has_its_files(tmp_path: Path) -> None:
    assert write(tmp_path) == 0
    skypilot, dstack = (list(tmp_path.glob(f"*.{launcher}.yaml")) for launcher in ("skypilot", "dstack"))
    assert len(skypilot) > 500
    assert len(dstack) > 500
    assert any("num_nodes: 2" in path.read_text(encoding="utf-8") for path in skypilot)
    assert any("nodes: 2" in path.read_text(encoding="utf-8") for path in dstack)
