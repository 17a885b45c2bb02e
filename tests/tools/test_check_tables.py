"""The check of the shipped tables passes, and finds each kind of fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import check_tables
from tools.check_tables import Builder, HandWritten, described, faults_of, makes_the_same

TABLE = HandWritten("t.csv", ("name",), ("value",), ("source",), ("as_of",))
GOOD = "name,value,source,as_of\na,1.5,a page,2026-11-30\nb,,,\n"


def faults(folder: Path, text: str) -> list[str]:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return list(faults_of(TABLE, folder))


def test_the_shipped_tables_are_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_tables.main([]) == 0, capsys.readouterr().err


def test_every_hand_written_table_of_the_data_folders_is_checked() -> None:
    page = (check_tables.REPOSITORY / check_tables.PAGE).read_text(encoding="utf-8")
    by_hand = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and "by hand" in line}
    assert by_hand == {table.path for table in check_tables.HAND_WRITTEN if table.path.startswith(check_tables.FOLDERS)}


def test_every_builder_that_the_page_names_is_run() -> None:
    page = (check_tables.REPOSITORY / check_tables.PAGE).read_text(encoding="utf-8")
    for builder in check_tables.BUILDERS:
        assert f"`{builder.script} {builder.inputs} DIR`" in page


def test_a_sound_table(tmp_path: Path) -> None:
    assert faults(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("a page", "", "line 2: a value without source"),
        ("1.5", "about 2", "line 2: value 'about 2' is not a number"),
        ("2026-11-30", "November", "line 2: as_of 'November' is not a day"),
        ("\nb,", "\na,", "line 3: a stands twice"),
        ("b,,,", "b,", "line 3: more or fewer cells than columns"),
        ("value,source", "value,origin", "has no column source"),
    ],
)
def test_each_fault_is_found(tmp_path: Path, old: str, new: str, fault: str) -> None:
    (found,) = faults(tmp_path, GOOD.replace(old, new))
    assert found.endswith(fault)


def test_a_file_that_the_page_does_not_name(tmp_path: Path) -> None:
    for folder in check_tables.FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tables.md").write_text("`planner/data/known.csv`", encoding="utf-8")
    for name in ("known.csv", "new.csv"):
        (tmp_path / "planner" / "data" / name).touch()
    assert list(described(tmp_path)) == ["planner/data/new.csv is not described in docs/tables.md"]


def test_a_builder_that_disagrees_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_tables, "REPOSITORY", tmp_path)
    for name, status in (("agrees.py", 0), ("differs.py", 1)):
        (tmp_path / name).write_text(f"import sys; assert '--check' in sys.argv; sys.exit({status})", encoding="utf-8")
    assert makes_the_same(Builder("agrees.py", "--shared"), tmp_path)
    assert not makes_the_same(Builder("differs.py", "--shared"), tmp_path)
