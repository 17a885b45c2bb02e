"""``sweep`` from the command line: sums, order, limits and formats."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from planner.plan.config import config_path
from tests.cli.conftest import Run

SWEEP = ("sweep", "-m", "resnet50", "--offline")
POOL = ("--pool", "aws:g6e.2xlarge=2", "--pool", "gcp:a2-highgpu-1g:spot", "--pool", "workstation")


@pytest.fixture
def record(run: Run) -> Any:
    result = run(*SWEEP, "--grid", "epochs=2,5,9", "--grid", "seed=1..3", *POOL, "-o", "json")
    assert result.code == 0
    return result.record


def test_every_total_is_the_sum_of_its_lines_to_the_cent(record: Any) -> None:
    for machine in record["machines"]:
        lines = sum(round(part["usd"] * 100) for part in machine["cost_parts"] if part["usd"] is not None)
        assert lines == round(machine["cost_usd"] * 100)
    parts = sum(round(part["usd"] * 100) for part in record["cost_parts"])
    assert parts == round(record["cost_usd"]["p50"] * 100)
    assert record["cost_usd"]["p10"] <= record["cost_usd"]["p50"] <= record["cost_usd"]["p90"]


def test_every_experiment_runs_once_and_machines_do_one_at_a_time(record: Any) -> None:
    assert [row["index"] for row in record["experiments"]] == list(range(9))
    for machine in record["machines"]:
        rows = [record["experiments"][index] for index in machine["experiments"]]
        clock = machine["setup_s"]
        for row in rows:
            assert row["machine"] == machine["name"]
            assert row["start_s"] == pytest.approx(clock)
            clock = row["end_s"]
        if rows:
            assert machine["end_s"]["p50"] == pytest.approx(clock)


def test_the_makespan_is_the_last_result_and_not_below_the_bound(record: Any) -> None:
    ends = [row["end_s"] for row in record["experiments"]]
    assert record["makespan_s"]["p50"] == pytest.approx(max(ends))
    assert record["feedback"]["all_s"] == pytest.approx(max(ends))
    assert record["feedback"]["first_s"] == pytest.approx(min(ends))
    assert 0 < record["lower_bound_s"] <= record["makespan_s"]["p50"] * (1 + 1e-9)


def test_pools_name_the_one_asked_for_and_a_front(record: Any) -> None:
    pools = record["pools"]
    assert sum(pool["this"] for pool in pools) == 1
    costs = [pool["cost_usd"] for pool in pools]
    assert costs == sorted(costs)
    front = [pool["makespan_s"] for pool in pools if pool["on_front"]]
    assert front == sorted(front, reverse=True)


def test_the_same_experiments_take_as_long_as_estimate_says(run: Run) -> None:
    """One experiment on one machine is what estimate plans, but for the time the machine idles afterwards."""
    alone = run(*SWEEP, "--grid", "epochs=5", "--pool", "aws:g6e.2xlarge:on_demand", "-o", "json").record
    machine = alone["machines"][0]
    rows = run(
        "estimate", "-m", "resnet50", "-e", "5", "--offline", "-o", "json", "-n", "0", "--where", "aws", "--on-demand",
        "--region", machine["region"],
    ).record["estimates"]  # fmt: skip
    same = next(row for row in rows if row["instance_type"] == "g6e.2xlarge" and row["zone"] == machine["zone"])
    assert alone["makespan_s"]["p50"] == pytest.approx(same["time_s"]["p50"])
    assert alone["cost_usd"]["p50"] == pytest.approx(same["cost_usd"]["p50"], abs=0.011)


def test_longest_first_gives_the_first_result_later_and_the_last_at_the_same_time(run: Run) -> None:
    flags = ("--grid", "epochs=2,20", "--pool", "workstation", "-o", "json")
    short, long = (run(*SWEEP, *flags, "--order", order).record for order in ("shortest", "longest"))
    assert short["feedback"]["first_s"] < long["feedback"]["first_s"]
    assert short["makespan_s"] == long["makespan_s"]


def test_no_more_machines_are_rented_than_allowed(run: Run) -> None:
    result = run(*SWEEP, "--grid", "seed=1..6", *POOL, "--max-rentals", "1", "-o", "json").record
    assert sum(machine["provider"] is not None for machine in result["machines"]) == 1
    assert {"workstation" if machine["provider"] is None else "rented" for machine in result["machines"]} == {
        "workstation", "rented",
    }  # fmt: skip
    assert not any("more" in pool["name"] for pool in result["pools"])


def test_limits_that_are_missed_exit_with_3_and_the_plan(run: Run) -> None:
    result = run(*SWEEP, "--grid", "seed=1..3", "--pool", "workstation", "--deadline", "1h")
    assert result.code == 3
    assert "misses your limits" in result.out


SHARED = ("--grid", "epochs=30,90", "--grid", "lr=0.1,0.03", "--pool", "workstation", "--pool", "aws:g6e.4xlarge")


def test_dear_machines_are_left_idle_where_the_limits_are_met_without_them(run: Run) -> None:
    """At its soonest the sweep misses the budget; on the workstation alone it meets both limits."""
    free = run(*SWEEP, *SHARED, "-o", "json").record
    assert all(machine["used"] for machine in free["machines"])
    assert free["fastest"] is None
    budget = free["cost_usd"]["p50"] * 0.8
    record = run(*SWEEP, *SHARED, "--deadline", "30d", "--budget", f"{budget:.2f}", "-o", "json").record
    assert [machine["name"] for machine in record["machines"] if not machine["used"]] == ["g6e.4xlarge"]
    assert record["cost_usd"]["p50"] < budget
    assert record["p_meets"] > 0.9 > record["fastest"]["p_meets"]
    assert record["fastest"]["makespan_s"] == free["makespan_s"]["p50"]
    assert record["lower_bound_s"] == free["lower_bound_s"]
    assert "Chosen for your limits" in run(*SWEEP, *SHARED, "--deadline", "30d", "--budget", f"{budget:.2f}").out


def test_by_a_deadline_the_cheapest_within_a_budget_the_soonest(run: Run) -> None:
    free = run(*SWEEP, *SHARED, "-o", "json").record
    by_deadline = run(*SWEEP, *SHARED, "--deadline", "30d", "-o", "json").record
    assert by_deadline["cost_usd"]["p50"] < free["cost_usd"]["p50"]
    in_budget = run(*SWEEP, *SHARED, "--budget", "100000", "-o", "json").record
    assert in_budget["makespan_s"]["p50"] == free["makespan_s"]["p50"]


def test_which_machine_a_name_means_does_not_hang_on_the_order_of_the_grid(run: Run) -> None:
    pools = [
        run(*SWEEP, "--grid", f"epochs={values}", "--pool", "RTX 4090=2", "-o", "json").record["machines"]
        for values in ("1,90", "90,1")
    ]
    names = [{(machine["name"], machine["region"], machine["purchase"]) for machine in pool} for pool in pools]
    assert names[0] == names[1]


def test_limits_do_not_change_which_machine_a_name_means(run: Run) -> None:
    flags = ("--grid", "epochs=30,90", "--pool", "RTX 4090=2", "-o", "json")
    free, limited = run(*SWEEP, *flags), run(*SWEEP, *flags, "--deadline", "30d", "--budget", "1000")
    assert [machine["name"] for machine in free.record["machines"]] == [
        machine["name"] for machine in limited.record["machines"]
    ]


def test_limits_that_no_machine_meets_alone_are_missed_and_not_wrong_usage(run: Run) -> None:
    result = run(*SWEEP, "--where", "aws", "--spot", "--deadline", "30h", "--budget", "10")
    assert (result.code, "misses your limits" in result.out) == (3, True)


def test_a_pool_in_which_nothing_may_be_recommended_is_exit_3(run: Run) -> None:
    result = run(*SWEEP, "--where", "cloud", "--region", "us-gov-east-1", "--gpus", "H100:8")
    assert result.code == 3
    assert "nothing" in result.err


def test_the_table_shows_the_chart_the_bound_and_the_pools(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(*SWEEP, "--grid", "epochs=2,5", "--grid", "seed=1..4", *POOL)
    assert result.code == 0
    assert "No schedule on this pool can end before" in result.out
    assert "░" in result.out
    assert "Pools:" in result.out
    chart = [line for line in result.out.splitlines() if "$" in line and ("█" in line or line.startswith("sum"))]
    assert all(len(line) <= 80 for line in chart)
    *parts, total = [round(float(line.split("$")[-1].rstrip("?").replace(",", "")) * 100) for line in chart]
    assert len(parts) >= 2
    assert sum(parts) == total


def test_csv_and_markdown(run: Run) -> None:
    flags = ("--grid", "seed=1..2", "--pool", "workstation")
    rows = list(csv.DictReader(io.StringIO(run(*SWEEP, *flags, "-o", "csv").out)))
    assert [row["name"] for row in rows] == ["seed=1", "seed=2"]
    markdown = run(*SWEEP, *flags, *POOL, "-o", "markdown").out
    assert "| pool |" in markdown
    assert "```text" in markdown


def test_a_card_that_nobody_has_or_rents_is_taken_as_one_might_buy_it(run: Run) -> None:
    (machine,) = run(*SWEEP, "--grid", "seed=1..2", "--pool", "GTX 1080 Ti", "-o", "json").record["machines"]
    assert machine["hypothetical"]
    assert {part["name"] for part in machine["cost_parts"]} == {"electricity", "amortisation"}


def test_a_machine_too_small_for_the_first_experiment_runs_the_others(run: Run) -> None:
    flags = ("--grid", "img_size=224", "--grid", "batch_size=1024,32", "--grid", "grad_accum_steps=1")
    result = run(*SWEEP, *flags, "--pool", "aws:g6.xlarge:on_demand", "--pool", "cluster", "-o", "json").record
    by_name = {machine["name"]: machine["experiments"] for machine in result["machines"]}
    assert 0 not in by_name["g6.xlarge"]


def test_a_file_plans_the_sweep_and_flags_win_over_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text('model = "resnet18"\nepochs = 3\npool = "workstation"\n[grid]\nlr = [1, 2]\n', encoding="utf-8")
    by_file = run("sweep", "-f", str(path), "--offline", "-o", "json").record
    assert (by_file["experiment"]["model"], by_file["experiment"]["epochs"]) == ("resnet18", 3)
    by_flag = run("sweep", "-f", str(path), "-e", "4", "--offline", "-o", "json").record
    assert (by_flag["experiment"]["model"], by_flag["experiment"]["epochs"]) == ("resnet18", 4)
    assert any("lr changes neither time nor memory" in text for text in by_file["assumptions"])


def test_without_arguments_there_is_a_sweep_of_eight(run: Run) -> None:
    result = run("sweep", "--offline", "-o", "json")
    assert result.code == 0
    assert len(result.record["experiments"]) == 8


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((*SWEEP, "--grid", "epochs"), "cannot read"),
        ((*SWEEP, "--pool", "H9000"), "H9000"),
        ((*SWEEP, "--pool", "workstation", "--repeat", "0"), "--repeat"),
        ((*SWEEP, "--max-rentals", "-1"), "--max-rentals"),
        ((*SWEEP, "--pool", "aws:g6e.2xlarge", "--max-rentals", "0"), "leaves out"),
        ((*SWEEP, "-f", "/nonexistent.toml"), "cannot read the sweep"),
        ((*SWEEP, "--pool", "aws:inf1.xlarge"), "cannot be in the pool"),
        ((*SWEEP, "--pool", "kaggle:T4x2"), "session by session"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, argv: tuple[str, ...], words: str) -> None:
    result = run(*argv)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_what_nobody_knows_of_a_cost_counts_as_estimate_counts_it(run: Run) -> None:
    """Vast has no egress rate: sweep and estimate take the dearest of anybody, and say that the cost is at most so."""
    pool = ("--pool", "RTX 4090=2", "--where", "vast")
    swept = run(*SWEEP, "--grid", "epochs=0.01,0.02", *pool, "-o", "json").record
    assert {machine["provider"] for machine in swept["machines"]} == {"vast"}
    assert swept["cost_complete"] is True
    parts = {part["name"]: part for machine in swept["machines"] for part in machine["cost_parts"]}
    assert parts["egress"]["at_most"] is True
    assert parts["egress"]["usd"] > 0
    assert "≤$" in run(*SWEEP, "--grid", "epochs=0.01,0.02", *pool).out


@pytest.mark.parametrize("credit_usd", [60, 300, 1000])
def test_a_credit_pays_for_as_much_as_it_can_of_every_end(run: Run, home: Path, credit_usd: float) -> None:
    """Of a P90 of about 100 USD a credit of 60 leaves about 40, one of 300 nothing; P50 is paid by both."""
    asked = ("sweep", "-m", "resnet50", "-e", "90", "--repeat", "3", "--pool", "aws:p5.48xlarge@eu-north-1:spot")
    before = run(*asked, "-o", "json").record["cost_usd"]
    config_path().parent.mkdir(parents=True)
    config_path().write_text(f"[credits]\naws = {credit_usd}\n", encoding="utf-8")
    record = run(*asked, "-o", "json").record
    assert record["cost_usd"] == {end: pytest.approx(max(0.0, usd - credit_usd)) for end, usd in before.items()}
    assert sum(part["usd"] for part in record["cost_parts"]) == pytest.approx(record["cost_usd"]["p50"])


def test_an_experiment_that_fits_on_no_machine_of_the_pool_is_exit_3(run: Run) -> None:
    """As ``estimate`` ends where nothing fits: what was asked is sound."""
    result = run("sweep", "-m", "llama-3-8b", "--tokens", "1M", "--pool", "RTX 3060", "--offline")
    assert (result.code, result.out) == (3, "")
    assert "llama-3-8b #1 fits on no machine of the pool: " in result.err
    assert result.err.count("\n") == 1


def test_a_sweep_that_ends_in_another_year_says_which(run: Run) -> None:
    said = " ".join(run(*SWEEP, "-e", "90", "--repeat", "300", "--pool", "workstation").out.split())
    done = datetime.now().astimezone() + timedelta(days=300)
    assert re.search(rf", done \w+ \d\d \w+ (?:{done.year}|{done.year + 1}) \d\d:\d\d", said)
    assert "One day sooner" not in said


def test_the_title_says_that_experiments_differ(run: Run) -> None:
    unlike = run(*SWEEP, "--grid", "epochs=1,2", "--pool", "RTX 3090").out
    assert unlike.startswith("2 experiments of which the first is resnet50 · imagenet · 1 epoch")
    alike = run(*SWEEP, "-e", "2", "--grid", "lr=1,2", "--pool", "RTX 3090").out
    assert alike.startswith("2 experiments of resnet50 · imagenet · 2 epochs")
