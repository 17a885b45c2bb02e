"""Reading the shipped tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import DataError
from planner.hardware import tables


def test_a_table_that_is_missing_is_said() -> None:
    with pytest.raises(DataError, match=r"nothing\.csv cannot be read"):
        tables.read_lines("nothing.csv")


def test_a_table_that_is_damaged_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "_FOLDER", str(tmp_path))
    (tmp_path / "links.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError):
        list(tables.read_rows("links.csv"))


def test_cells() -> None:
    assert tables.number("1.5", 2) == 3.0
    assert tables.number("") is None
    assert tables.whole("7") == 7
    assert tables.whole("") is None
    assert tables.split_line('a,"b, c",') == ["a", "b, c", ""]
