"""A cost of which a part is only a bound is marked wherever it is said, and so is what must be bought first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ASKED = ("-m", "resnet50", "-e", "9", "--where", "vast")
"""Vast tells no rate of egress: what it costs counts at the dearest rate known."""


def _words(text: str) -> str:
    return " ".join(text.split())


def test_estimate_marks_bounds_in_every_table(run: Run) -> None:
    out = run("estimate", *ASKED, "-n", "3", "--front", "--compare", "1,2").out
    assert re.search(r"for at most \$[\d.]+ \(", _words(out))
    front = out.partition("Front of time and cost")[2].partition("Side by side")[0]
    rows = front.splitlines()[2:-1]
    assert rows
    assert all(re.search(r" ≤\$[\d.]+ ", row) for row in rows)
    total = next(line for line in out.splitlines() if line.startswith("total "))
    egress = next(line for line in out.splitlines() if line.startswith("egress "))
    assert (total.count("≤$"), egress.count("≤$")) == (2, 2)
    page = run("estimate", *ASKED, "-n", "3", "-o", "html").out
    assert re.search(r"<summary>1\. .* for ≤\$[\d.]+</summary>", page)


def test_scale_marks_bounds(run: Run) -> None:
    asked = ("scale", *ASKED, "--gpus", "RTX 4090:2", "--deadline", "30d")
    record = run(*asked, "-o", "json").record
    assert [row["at_most"] for row in record["rows"]] == [True, True]
    out = run(*asked).out
    assert re.search(r"1 \([\dhm]+, ≤\$[\d.]+\) is the fewest", out)
    assert len(re.findall(r"o-d +≤\$", out)) == 2


def test_breakeven_marks_bounds(run: Run) -> None:
    asked = ("breakeven", *ASKED, "--buy", "RTX 4090")
    assert run(*asked, "-o", "json").record["rents"][0]["at_most"] is True
    out = _words(run(*asked).out)
    assert re.search(r"and at most \$[\d,.]+ rented \(vast", out)
    assert re.search(r"Rent, cheapest: vast .*?: at most \$[\d,.]+ and", out)


def test_explain_marks_bounds(run: Run) -> None:
    out = run("explain", *ASKED).out
    assert re.search(r"at most \$[\d.]+ a run", _words(out))
    for name in ("egress", "total"):
        assert re.search(rf"^{name} .*≤\$[\d.]+$", out, re.MULTILINE)
    assert re.search(r"Levers: the whole run with each, against [\dhm]+ and ≤\$", out)


def test_sweep_marks_bounds(run: Run) -> None:
    asked = ("sweep", *ASKED, "--pool", "RTX 4090=2")
    assert run(*asked, "-o", "json").record["cost_at_most"] is True
    out = run(*asked).out
    assert re.search(r"for at most \$[\d.]+ \(", _words(out))
    assert re.search(r"^sum +≤\$", out, re.MULTILINE)
    assert re.search(r"this pool .*≤\$", out)


def test_diff_marks_bounds(run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(run("estimate", *ASKED, "-o", "json").out, encoding="utf-8")
    assert re.search(r"for at most \$", _words(run("diff", str(plan), str(plan)).out))


@pytest.mark.parametrize("output", ["table", "markdown", "html"])
def test_what_must_be_bought_first_is_never_called_own(run: Run, output: str) -> None:
    asked = ("estimate", "-m", "resnet50", "-e", "90", "--where", "workstation,cluster", "-n", "0", "-o", output)
    lines = [line for line in re.split(r"\n|</tr>", run(*asked).out) if "*DGX H100" in line and "8×H100" in line]
    assert lines
    assert all(re.search(r"\bbuy\b", line) and not re.search(r"\bown\b", line) for line in lines)


def test_every_command_says_what_must_be_bought(run: Run, tmp_path: Path) -> None:
    asked = ("-m", "resnet50", "-e", "9", "--where", "cluster", "--gpus", "H100-SXM:8")
    rows = run("scale", *asked, "-o", "json").record["rows"]
    assert (rows[7]["machine"], rows[7]["purchase"], rows[7]["hypothetical"]) == ("DGX H100", "owned", True)
    scaled = run("scale", *asked).out
    assert re.search(r"\*DGX H100 +buy ", scaled)
    assert "* before a machine: it must be bought first." in scaled
    assert re.search(r"\*DGX H100 .* buy ", run("estimate", *asked, "--front").out.partition("Front of")[2])
    assert re.search(r"\*DGX H100 .* buy ", run("sweep", *asked, "--pool", "DGX H100").out)
    plan = tmp_path / "plan.json"
    plan.write_text(run("estimate", *asked, "-o", "json").out, encoding="utf-8")
    assert "The choice stands: DGX H100, to be bought" in run("diff", str(plan), str(plan)).out
