"""Markdown that renders: a heading, paragraphs apart, tables after a blank line, drawings in a fence."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.cli.conftest import Run

RESNET = ("-m", "resnet50", "-e", "90", "-o", "markdown")
COMMANDS = (
    ("estimate", *RESNET, "-n", "3", "--front", "--compare", "1,2"),
    ("explain", *RESNET),
    ("scale", *RESNET, "--gpus", "A100:2"),
    ("breakeven", *RESNET, "--buy", "RTX 4090"),
    ("sweep", "-m", "resnet50", "--grid", "epochs=3,6", "-o", "markdown"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_tables_stand_after_a_blank_line_and_drawings_in_a_fence(run: Run, command: tuple[str, ...]) -> None:
    lines = run(*command).out.splitlines()
    assert lines[0].startswith("# ") or command[0] == "sweep"
    for before, line in pairwise(lines):
        assert not line.startswith("| ") or before == "" or before.startswith("| ")
    outside = "\n".join("\n".join(lines).split("```")[::2])
    assert not set("┤└█░") & set(outside.replace("░ set-up, █▓ experiments", ""))


def test_a_column_on_limits_is_only_there_where_there_are_any(run: Run) -> None:
    asked = ("estimate", *RESNET, "-n", "3")
    assert "| meets |" not in run(*asked).out
    assert "| meets |" in run(*asked, "--deadline", "3d").out


def test_what_to_do_and_why_are_paragraphs(run: Run) -> None:
    paragraphs = run("estimate", *RESNET, "-n", "3").out.split("\n\n")
    assert {"Answer", "Passed", "Tier:"} <= {text.split()[0] for text in paragraphs}
