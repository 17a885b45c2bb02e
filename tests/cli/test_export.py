"""``export`` and ``diff`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run

EXPORT = ("export", "-m", "resnet50", "--offline")


def test_export_writes_the_recommended_row_to_standard_output(run: Run) -> None:
    recommended = run("estimate", "-m", "resnet50", "--offline", "-o", "json").record["recommendation"]["estimate"]
    result = run(*EXPORT, "--to", "skypilot")
    assert result.code == 0
    resources = yaml.safe_load(result.out)["resources"]
    assert resources["infra"].startswith(f"{recommended['provider']}/{recommended['region']}")
    assert resources["accelerators"].endswith(f":{recommended['num_gpus']}")


def test_export_takes_the_row_that_the_table_numbers(run: Run) -> None:
    rows = run("estimate", "-m", "resnet50", "--offline", "-o", "json").record["estimates"]
    result = run(*EXPORT, "--to", "bash", "--row", "3", "--group", "offer", "-o", "json")
    chosen = result.record["estimate"]
    third = rows[2]
    assert {key: chosen[key] for key in ("name", "region", "purchase")} == {
        key: third[key] for key in ("name", "region", "purchase")
    }


def test_the_heading_has_the_cost_in_the_currency_asked_for(run: Run) -> None:
    cost = run(*EXPORT, "--to", "bash", "-o", "json").record["estimate"]["cost_usd"]
    said = run(*EXPORT, "--to", "bash", "--currency", "EUR=0.5").out
    assert f"{cost['p50'] / 2:,.2f} EUR (" in said
    assert "# Amounts in EUR at 0.5 EUR a USD, your rate of" in said


def test_the_exported_bill_adds_up(run: Run) -> None:
    estimate = run(*EXPORT, "--to", "bash", "-o", "json").record["estimate"]
    known = [part["usd"] for part in estimate["cost_parts"] if part["usd"] is not None]
    assert round(sum(known), 2) == pytest.approx(estimate["cost_usd"]["p50"], abs=1e-9)


def test_export_writes_a_file_and_a_lock_that_diff_reads(run: Run, tmp_path: Path) -> None:
    task, lock = tmp_path / "task.yaml", tmp_path / "plan.lock.json"
    result = run(*EXPORT, "--to", "dstack", "-f", str(task), "--lock", str(lock))
    assert (result.code, result.out) == (0, "")
    assert yaml.safe_load(task.read_text(encoding="utf-8"))["type"] == "task"
    locked = json.loads(lock.read_text(encoding="utf-8"))["lock"]
    assert locked["inputs"]["experiment"]["model"] == "resnet50"
    assert locked["versions"]["gpuplanner"]
    assert all(len(digest) == 64 for digest in locked["versions"]["tables_sha256"].values())
    assert "planner/data/accelerators.csv" in locked["versions"]["tables_sha256"]
    chosen = locked["chosen"]
    assert chosen == json.loads(lock.read_text(encoding="utf-8"))["recommendation"]["estimate"]
    published = [
        price
        for price in locked["prices"]
        if all(price[key] == chosen[key] for key in ("provider", "instance_type", "region", "zone", "purchase"))
    ]
    assert float(published[0]["price"]) * chosen["num_nodes"] == pytest.approx(chosen["usd_per_hour"])

    unmoved = run("diff", str(lock), str(lock), "-o", "json")
    assert unmoved.code == 0
    assert unmoved.record["choice"]["flips"] is False
    assert unmoved.record["inputs"] == unmoved.record["versions"] == []


@pytest.mark.parametrize("max_rows", ["20", "0"])
def test_a_lock_and_the_json_of_the_same_question_do_not_differ(run: Run, tmp_path: Path, max_rows: str) -> None:
    lock, plan = tmp_path / "lock.json", tmp_path / "plan.json"
    assert run(*EXPORT, "--to", "bash", "--lock", str(lock)).code == 0
    plan.write_text(run("estimate", "-m", "resnet50", "--offline", "-n", max_rows, "-o", "json").out, encoding="utf-8")
    for old, new in ((lock, plan), (plan, lock)):
        out = run("diff", str(old), str(new)).out
        assert "Nothing else moved" in out
        assert not any(word in out for word in ("Moved:", "Only in", "Other versions", "Asked otherwise"))


def test_what_somebody_else_wrote_is_not_written_over(run: Run, tmp_path: Path) -> None:
    script, lock = tmp_path / "train.sh", tmp_path / "plan.lock.json"
    for flags, path, theirs in (
        (("-f", str(script)), script, "python train.py  # mine\n"),
        (("--lock", str(lock)), lock, '{"version": 3}'),
    ):
        path.write_text(theirs, encoding="utf-8")
        refused = run(*EXPORT, "--to", "bash", *flags)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert "not written by gpuplanner" in refused.err
        assert path.read_text(encoding="utf-8") == theirs
        assert run(*EXPORT, "--to", "bash", *flags, "--force").code == 0
        assert path.read_text(encoding="utf-8") != theirs
        assert run(*EXPORT, "--to", "bash", *flags).code == 0  # one of ours is written anew


def test_diff_says_what_another_question_changes(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(run("estimate", "-m", "resnet50", "--offline", "-o", "json").out, encoding="utf-8")
    longer = run("estimate", "-m", "resnet50", "-e", "180", "--offline", "-o", "json").out
    new.write_text(longer, encoding="utf-8")
    result = run("diff", str(old), str(new))
    assert result.code == 0
    assert "experiment.epochs: 90 -> 180" in result.out
    assert "The choice" in result.out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((*EXPORT,), "--to"),
        ((*EXPORT, "--to", "kubernetes"), "invalid choice"),
        ((*EXPORT, "--to", "bash", "-o", "csv"), "-o csv"),
        ((*EXPORT, "--to", "bash", "--row", "999999"), "--row"),
        ((*EXPORT, "--to", "bash", "-f", "/nonexistent-folder/x"), "cannot write"),
        (("diff", "/nonexistent.json", "/nonexistent.json"), "cannot read"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, argv: tuple[str, ...], words: str) -> None:
    result = run(*argv)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "not json",
        "{}",
        '{"schema_version": 1, "estimates": null}',
        '{"schema_version": 1, "estimates": [], "x": NaN}',
    ],
)
def test_diff_refuses_what_is_no_plan(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    result = run("diff", str(path), str(path))
    assert result.code == 2
    assert str(path) in result.err


def test_diff_asks_a_locks_question_again(run: Run, tmp_path: Path) -> None:
    lock = tmp_path / "plan.lock.json"
    assert run(*EXPORT, "--to", "bash", "--deadline", "30h", "--lock", str(lock)).code == 0
    record = run("diff", str(lock), "-o", "json").record
    assert record["choice"]["flips"] is False
    assert record["inputs"] == record["versions"] == []


def test_a_row_that_was_taken_by_its_rank_is_taken_again(run: Run, tmp_path: Path) -> None:
    lock = tmp_path / "plan.lock.json"
    assert run(*EXPORT, "--to", "bash", "--on", "workstation", "--lock", str(lock)).code == 0
    record = run("diff", str(lock), "-o", "json").record
    assert record["choice"]["new"]["place"] == "workstation"
    assert record["choice"]["flips"] is False


def test_a_deadline_that_has_passed_is_asked_no_more(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plan.lock.json"
    run(*EXPORT, "--to", "bash", "--deadline", "30h", "--lock", str(path))
    lock = json.loads(path.read_text(encoding="utf-8"))
    lock["lock"]["inputs"]["question"]["limits"]["deadline"] = "2020-01-01T00:00:00+00:00"
    path.write_text(json.dumps(lock), encoding="utf-8")
    changed = {change["name"]: change["new"] for change in run("diff", str(path), "-o", "json").record["inputs"]}
    assert changed == {"question.limits.deadline": None}


def test_only_a_lock_of_this_version_can_be_asked_again(run: Run, tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.json", tmp_path / "other.json"
    plain.write_text(run("estimate", "-m", "resnet50", "--offline", "-o", "json").out, encoding="utf-8")
    record = json.loads(plain.read_text(encoding="utf-8"))
    inputs = {"experiment": {"modle": "resnet50"}, "question": {"limits": {"deadline": None}}}
    other.write_text(json.dumps({**record, "lock": {"inputs": inputs}}), encoding="utf-8")
    for path, words in ((plain, "only a lock"), (other, "does not know")):
        result = run("diff", str(path))
        assert result.code == 2
        assert words in result.err
