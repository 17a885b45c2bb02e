"""The replay of public reports, on made-up reports and on the shipped table of cases."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.units import Interval
from tools.reports.cases import Case, Replay, Report, read_cases, read_reports
from tools.reports.page import CAUSES, page
from tools.reports.replay import FIGURES, Verdict, judge, machine_of

REPOSITORY = Path(__file__).parents[2]
RESNET = {"model": "resnet50", "batch_size_per_gpu": 64}
DESK = {"gpu": "RTX 3090"}


def _report(outcome: float | None) -> Report:
    return Report("X1", "A", "someone/something#1", "https://example.org/1", "ResNet", "RTX 3090", outcome, "s/step")


def _verdict(reported: float | None = None, **replay: Any) -> Verdict:
    fields = {
        "id": "X1", "measure": "step", "outcome": None, "experiment": RESNET, "machine": DESK, "label": "",
        "extra": False, "beside": {}, "software": {},
    } | replay  # fmt: skip
    return judge(_report(reported), Case("X1", (Replay(**fields),), "As it stands.", "loader", "The loader."))


def _predicted(measure: str = "step") -> Interval:
    (outcome,) = _verdict(1.0, measure=measure).outcomes
    assert outcome.predicted is not None
    return outcome.predicted


def test_a_figure_inside_p10_to_p90_is_right() -> None:
    predicted = _predicted()
    assert _verdict(predicted.p50).right
    assert _verdict(predicted.p10).right
    assert not _verdict(predicted.p10 * 0.99).right
    assert not _verdict(predicted.p90 * 1.01).right


@pytest.mark.parametrize("measure", FIGURES)
def test_every_figure_has_its_percentiles_in_order(measure: str) -> None:
    assert 0 < _predicted(measure).p10 < _predicted(measure).p50 < _predicted(measure).p90


def test_units_agree_with_each_other() -> None:
    step, rate = _predicted("step"), _predicted("rate_per_gpu")
    assert _predicted("step_ms").p50 == pytest.approx(1e3 * step.p50)
    assert rate.p50 == pytest.approx(64 / step.p50)
    assert _predicted("run").p50 == pytest.approx(step.p50 / 3600)


def test_the_verdict_on_memory_is_held_against_the_report() -> None:
    assert _verdict(measure="fits", outcome=True).right
    assert not _verdict(measure="fits", outcome=False).right
    crowded = {**RESNET, "batch_size_per_gpu": 4096}
    assert _verdict(measure="fits", outcome=False, experiment=crowded).right


def test_a_ratio_leaves_the_other_machine_s_uncertainty_out() -> None:
    (outcome,) = _verdict(measure="times_as_fast", outcome=1.0, beside=DESK).outcomes
    assert outcome.predicted is not None
    assert outcome.predicted.p50 == pytest.approx(1.0)
    assert outcome.right


def test_what_cannot_be_replayed_is_missed_with_the_reason() -> None:
    verdict = _verdict(1.0, experiment={"model": "no-such-model"})
    assert not verdict.right
    assert "no-such-model" in verdict.outcomes[0].problem
    assert "no-such-model" in page([verdict])
    assert not judge(_report(1.0), Case("X1", (), "", "method", "")).right


def test_older_software_takes_longer() -> None:
    (old,) = _verdict(1.0, software={"update_loop": True}).outcomes
    assert old.predicted is not None
    assert old.predicted.p50 > _predicted().p50


def test_extra_figures_do_not_count() -> None:
    assert not _verdict(_predicted().p50, extra=True).right


def test_an_outcome_that_is_no_number_needs_one_of_its_own() -> None:
    with pytest.raises(ValueError, match="needs one"):
        _verdict(None)


def test_nodes_without_a_stated_network_have_an_unknown_one() -> None:
    assert machine_of({**DESK, "nodes": 2}).network is None
    assert machine_of({**DESK, "nodes": 2, "network": "100 Gb/s Ethernet"}).network is not None


def test_software_of_its_time_is_slower_and_takes_more_memory() -> None:
    """Attention that stores its scores, as before PyTorch 2, and fp32 products at half of today's rate."""
    bert = {"model": "bert-base", "seq_length": 512, "batch_size_per_gpu": 16, "precision": "fp32-strict"}

    def step(**software: Any) -> Interval:
        (outcome,) = _verdict(1.0, experiment=bert, software=software).outcomes
        assert outcome.predicted is not None
        return outcome.predicted

    assert step(stored_scores=True).p50 > step().p50
    assert step(fp32_product_share=0.5).p50 > 1.3 * step().p50
    needed = []
    for software in ({}, {"stored_scores": True}):
        (outcome,) = _verdict(measure="fits", outcome=True, experiment=bert, software=software).outcomes
        assert outcome.step is not None
        needed.append(outcome.step.memory_required_bytes or 0.0)
    # Scores of 16 sequences in 12 layers of 12 heads; backward then needs no outputs of attention.
    scores, outputs = 16 * 12 * 12 * 512**2 * 4, 16 * 12 * 512 * 768 * 4
    assert needed[1] - needed[0] == pytest.approx(1.08 * (scores - outputs), rel=0.02)


def test_the_page_counts_and_explains() -> None:
    right, wrong = _verdict(_predicted().p50), _verdict(1e9)
    text = page([right, wrong])
    assert "1 of 2 reports (50%" in text
    assert text.count("The loader.") == 1


def test_every_case_is_right_by_prediction_or_explained() -> None:
    for case in read_cases().values():
        assert case.replays or (case.cause and case.explanation), case.id
        assert not case.cause or case.cause in CAUSES, case.id
        assert bool(case.cause) == bool(case.explanation), case.id


def test_the_page_says_why_of_every_miss() -> None:
    text = (REPOSITORY / "docs" / "reports.md").read_text(encoding="utf-8")
    assert "not explained" not in text
    assert len(set(re.findall(r"^\| \[([A-C]\d+)\]", text, re.MULTILINE))) == len(read_cases())


def test_only_complete_reports_of_time_memory_and_scaling_are_read(tmp_path: Path) -> None:
    fields = ("id", "kind", "source", "url", "model", "gpu", "outcome_value", "outcome_unit", "replay")
    path = tmp_path / "reports.csv"
    with path.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(fields)
        for row in ("A1 A 2.5 full", "A2 A 1 partial", "B1 B OOM full", "D1 D 1 full"):
            id_, kind, outcome, replay = row.split()
            writer.writerow((id_, kind, "", "", "", "", outcome, "", replay))
    assert [(report.id, report.outcome) for report in read_reports(path)] == [("A1", 2.5), ("B1", None)]


def test_the_command_writes_nothing_when_it_checks(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    fields, row = "id,kind,source,url,model,gpu,outcome_value,outcome_unit,replay", "A61,A,,,,,2.7,s/iter,full"
    (tmp_path / "data" / "reports.csv").write_text(f"{fields}\n{row}\n", encoding="utf-8")
    page_before = (REPOSITORY / "docs" / "reports.md").read_bytes()
    command = [sys.executable, str(REPOSITORY / "tools" / "replay_reports.py"), "--shared", str(tmp_path), "--check"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "reports.md" in ended.stderr
    assert (REPOSITORY / "docs" / "reports.md").read_bytes() == page_before
