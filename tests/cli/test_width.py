"""No line of an answer is wider than the terminal, whatever the command and whatever is shown."""

from __future__ import annotations

import pytest

from planner.cli.table import Column, render, with_room
from tests.cli.conftest import Run

RESNET = ("-m", "resnet50", "-e", "90", "--offline")
COMMANDS = (
    ("explain", *RESNET),
    ("explain", *RESNET, "--gpus", "H100:8"),
    ("estimate", *RESNET, "--front", "--compare", "1,2,3"),
    ("breakeven", *RESNET),
    ("scale", *RESNET, "--gpus", "A100:8"),
    ("doctor",),
    ("prices", "list"),
    ("prices", "list", "-n", "0", "--provider", "azure"),
    ("prices", "status"),
    ("gpus",),
    ("gpus", "--for", "resnet50"),
    ("models", "-n", "0"),
    ("datasets", "-n", "0"),
    ("sweep", "-m", "resnet50", "--grid", "epochs=3,6"),
    ("breakeven", "-m", "bert-large", "-d", "squad", "-e", "2", "--buy", "RTX 4090", "--deadline", "30m"),
    ("ledger",),
)


def too_wide(text: str, width: int) -> list[str]:
    """Lines beyond the width, but for one word, such as a path, that is longer than a line."""
    return [line for line in text.splitlines() if len(line) > width and max(map(len, line.split())) < width - 24]


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run(*command).out
    assert shown
    assert too_wide(shown, width) == []


@pytest.mark.parametrize("width", [80, 100])
def test_the_ledger_is_no_wider_than_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    run("estimate", *RESNET, "--gpus", "A100", "-n", "3", "--record")
    run("record", "--samples-per-s", "1000", "--time", "31h", "--cost", "12.40")
    assert too_wide(run("ledger").out, width) == []


def test_a_reason_is_as_long_as_the_terminal_allows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert "…" not in run("explain", *RESNET, "--gpus", "H100:8").out


@pytest.mark.parametrize("width", [60, 80])
def test_notes_of_explain_go_on_below(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("explain", *RESNET, "--on", "H100:8").out
    words = " ".join(out[out.index("The same step on the CPU") :].split())
    assert "…" not in words
    for note in ("what the vendor's scripts reach", "samples are read and decoded by the CPU"):
        assert all(word in words for word in note.split())


def test_a_cell_that_wraps_goes_on_in_its_column() -> None:
    columns = (Column("a", "right"), Column("note", width=9, wraps=True), Column("b"))
    assert render(columns, [("1", "one two three", "x"), ("2", "", "y")]) == [
        "a note    b",
        "1 one two x",
        "  three",
        "2         y",
    ]


def test_where_no_column_may_go_words_are_cut_and_figures_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = (Column("name", width=60), Column("figure", "right"))
    assert render(columns, [("a" * 50, "1" * 25)])[1] == "a" * 13 + "… " + "1" * 25


def test_columns_are_narrowed_before_the_least_needed_goes() -> None:
    columns = (Column("name", least=4), Column("note", drop=2), Column("seen", drop=1))
    row = ("resnet50", "abcdef", "2026")
    assert render(columns, [row])[0].split() == ["name", "note", "seen"]
    assert with_room(columns, [row], 20)[1] == [row]
    assert with_room(columns, [row], 17)[0][0].width == 5
    assert with_room(columns, [row], 12)[1] == [["resnet50", "2026"]]
    assert with_room(columns, [row], 4)[1] == [["resnet50"]]


def test_a_table_without_rows_has_its_header() -> None:
    assert render((Column("name", least=4), Column("note")), []) == ["name note"]
