"""The zoo's builder: the shipped tables read and written back, and one model laid over them. Needs torch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tools.build_zoo import DATA, Entry, shipped_entries, tables


def test_shipped_tables_come_back_as_they_are() -> None:
    zoo, index = tables(shipped_entries(DATA))
    assert zoo == (DATA / "zoo.jsonl").read_bytes()
    assert index == (DATA / "zoo_index.csv").read_bytes()


def test_a_model_laid_over_moves_those_behind_it() -> None:
    shipped = shipped_entries(DATA)
    first = min(shipped)
    longer = Entry(shipped[first].line.replace(b"\n", b" \n"), shipped[first].row)
    zoo, index = tables({**shipped, first: longer})
    assert len(zoo) == sum(len(entry.line) for entry in shipped.values()) + 1
    second = index.decode().splitlines()[2].split(",")
    assert int(second[-2]) == len(longer.line)
