"""Free notebooks on the command line: named as a provider, free of cost, left out where the question excludes them."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run

SMALL = ("estimate", "-m", "resnet18", "-d", "cifar10", "-e", "2", "--offline")


def test_a_free_notebook_is_named_like_a_provider(run: Run) -> None:
    result = run(*SMALL, "--where", "kaggle", "-o", "json", "-n", "0")
    assert result.code == 0
    (row,) = result.record["estimates"]
    assert (row["purchase"], row["provider"], row["place"]) == ("free_tier", "kaggle", "cloud")
    assert row["cost_usd"]["p50"] == 0
    assert result.record["recommendation"]["rank"] == 1
    assert any("a free notebook" in text for text in result.record["assumptions"])
    (refused,) = result.record["unranked"]
    assert "not lent since 2026-09-15" in refused["reason"]


def test_nothing_is_recommended_that_outlasts_its_week(run: Run) -> None:
    result = run("estimate", "-m", "resnet50", "-e", "90", "--where", "kaggle", "--offline", "-o", "json")
    assert result.record["recommendation"] is None
    assert "weekly_quota" in result.record["estimates"][0]["flags"]


def test_the_table_says_free(run: Run) -> None:
    out = run(*SMALL, "--where", "kaggle").out
    assert "free" in out
    assert "$0.00" in out


@pytest.mark.parametrize("flags", [("--spot",), ("--on-demand",), ("--region", "us-*"), ("--where", "aws")])
def test_a_question_about_how_to_pay_or_where_leaves_them_out(run: Run, flags: tuple[str, ...]) -> None:
    rows = run(*SMALL, *flags, "-o", "json", "-n", "0").record
    assert not any(row["purchase"] == "free_tier" for row in rows["estimates"] + rows["unranked"])


def test_explain_takes_one(run: Run) -> None:
    result = run("explain", *SMALL[1:], "--on", "kaggle:T4x2", "-o", "json")
    assert result.code == 0
    assert result.record["machine"]["provider"] == "kaggle"
