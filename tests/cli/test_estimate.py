"""The main job from the command line: the answer's keys, sums, places and formats."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from tests.cli.conftest import Run

MAIN_JOB = ("estimate", "--epochs", "90", "--model", "resnet50", "--offline")

TOP_KEYS = {
    "schema_version", "generated_at", "prices_as_of", "experiment", "assumptions", "warnings", "recommendation",
    "estimates", "unranked",
}  # fmt: skip
ROW_KEYS = {
    "rank", "place", "is_this_machine", "hypothetical", "provider", "instance_type", "region", "zone", "purchase",
    "accelerator", "num_gpus", "num_nodes", "stack", "precision", "fits", "memory_gib", "batch_size_per_gpu",
    "grad_accum_steps", "global_batch_size", "step_time_s", "samples_per_s", "time_s", "finish_at", "cost_usd",
    "usd_per_hour", "cost_parts", "time_parts", "p_meets", "on_front", "mfu", "bound_by", "evidence", "flags",
    "price_as_of", "price_source", "energy_kwh", "co2_kg",
}  # fmt: skip


@pytest.fixture(scope="module")
def answer() -> Any:
    """The whole plan as JSON; run once for all the tests that only read it."""
    import contextlib
    import json

    from planner.cli.main import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main((*MAIN_JOB, "-o", "json", "-n", "0")) == 0
    return json.loads(out.getvalue())


def test_all_keys_are_there(answer: Any) -> None:
    assert set(answer) >= TOP_KEYS
    assert answer["schema_version"] == 1
    for row in answer["estimates"]:
        assert set(row) >= ROW_KEYS
    for row in answer["unranked"]:
        assert set(row) >= ROW_KEYS | {"reason"}
        assert row["reason"]
        assert row["rank"] is None


def test_all_four_places_and_this_machine_compete(answer: Any) -> None:
    rows = answer["estimates"] + answer["unranked"]
    assert {row["place"] for row in rows} == {"laptop", "workstation", "cluster", "cloud"}
    assert sum(row["is_this_machine"] for row in rows) == 1
    assert {row["purchase"] for row in rows if row["place"] == "cloud" and row["provider"]} >= {"on_demand", "spot"}


def test_every_offer_is_ranked_or_refused_with_a_reason(answer: Any) -> None:
    rows = answer["estimates"] + answer["unranked"]
    offers = {(row["instance_type"], row["region"], row["zone"], row["purchase"]) for row in rows if row["provider"]}
    assert len(offers) >= 3000
    assert [row["rank"] for row in answer["estimates"]] == list(range(1, len(answer["estimates"]) + 1))


def test_intervals_are_in_order(answer: Any) -> None:
    for row in answer["estimates"]:
        for key in ("step_time_s", "samples_per_s", "time_s"):
            assert row[key]["p10"] < row[key]["p50"] < row[key]["p90"], (key, row["instance_type"])
        if row["purchase"] != "free_tier":
            assert row["cost_usd"]["p10"] < row["cost_usd"]["p50"] < row["cost_usd"]["p90"]


def test_every_total_is_the_sum_of_its_lines(answer: Any) -> None:
    for row in answer["estimates"]:
        known = sum(round((part["usd"] or 0) * 100) for part in row["cost_parts"])
        assert round(row["cost_usd"]["p50"] * 100) == known
        assert all(part["source"] for part in row["cost_parts"])
        assert ("cost_incomplete" in row["flags"]) == any(part["usd"] is None for part in row["cost_parts"])
        bounded = any(part["at_most"] and part["usd"] for part in row["cost_parts"])
        assert bounded == ("cost_bounded" in row["flags"])
        assert row["time_s"]["p50"] == pytest.approx(sum(part["seconds"] for part in row["time_parts"]))


def test_the_recommendation_is_the_first_row_that_may_be_recommended(answer: Any) -> None:
    allowed = [
        row["rank"]
        for row in answer["estimates"]
        if row["stack"] in ("cuda", "rocm", "mps", "cpu")
        and not row["hypothetical"]
        and not {"cost_incomplete", "far_below_median", "spot_tail", "government_region"} & set(row["flags"])
    ]
    assert answer["recommendation"]["rank"] == allowed[0]
    assert answer["recommendation"]["sentence"].startswith("Run it on ")


def test_rows_are_ordered_by_cost_and_the_value_of_waiting(answer: Any) -> None:
    values = [row["cost_usd"]["p50"] + row["time_s"]["p50"] / 3600 * 2 for row in answer["estimates"]]
    assert values == sorted(values)


def test_the_front_has_no_row_that_is_beaten(answer: Any) -> None:
    front = sorted((row["time_s"]["p50"], row["cost_usd"]["p50"]) for row in answer["estimates"] if row["on_front"])
    assert len(front) >= 3
    assert all(later[1] < earlier[1] for earlier, later in pairwise(front))
    for row in answer["estimates"][:200]:
        beaten = any(t <= row["time_s"]["p50"] and c < row["cost_usd"]["p50"] for t, c in front)
        assert row["on_front"] or beaten or (row["time_s"]["p50"], row["cost_usd"]["p50"]) in front


def test_prices_are_dated(answer: Any) -> None:
    clouds = [row for row in answer["estimates"] if row["provider"]]
    assert answer["prices_as_of"] == min(row["price_as_of"] for row in clouds)
    assert all(row["price_source"] for row in clouds)
    datetime.fromisoformat(answer["generated_at"])


def test_every_default_taken_is_an_assumption(answer: Any) -> None:
    text = "\n".join(answer["assumptions"])
    for word in ("imagenet", "amp", "sgd", "batch 256", "electricity", "hour of waiting", "eager"):
        assert word in text


def test_all_samples_are_the_same_in_all_rows(answer: Any) -> None:
    assert answer["experiment"]["total_samples"] == 90 * 1_281_167
    training = [next(p["seconds"] for p in row["time_parts"] if p["name"] == "training") for row in answer["estimates"]]
    rates = [row["samples_per_s"]["p50"] for row in answer["estimates"]]
    for seconds, rate in list(zip(training, rates, strict=True))[:100]:
        assert seconds * rate == pytest.approx(90 * 1_281_167)


@pytest.mark.parametrize("columns", [60, 80, 100, 130, 200])
def test_the_table_fits_the_screen(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = run(*MAIN_JOB)
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= columns
    assert "\x1b" not in result.out
    for word in ("this machine", "*DGX", "*RTX"):
        assert word in result.out
    in_order = [result.out.index(word) for word in ("Answer (#", "  # machine", "Assumed: ", "Not ranked")]
    assert in_order == sorted(in_order)


def test_a_flag_is_not_broken_at_its_hyphens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in range(90, 110):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert "(--hour-value)" in run(*MAIN_JOB, "-n", "1").out


def test_the_table_shows_this_machine_and_every_place_however_few_rows_are_asked_for(run: Run) -> None:
    out = run(*MAIN_JOB, "-n", "3").out
    assert "this machine" in out
    assert "*RTX 4090 laptop" in out


def test_where_narrows_the_places(run: Run) -> None:
    rows = run(*MAIN_JOB, "--where", "laptop,workstation", "-o", "json", "-n", "0").record["estimates"]
    assert {row["place"] for row in rows} <= {"laptop", "workstation"}
    rows = run(*MAIN_JOB, "--where", "gcp", "-o", "json", "-n", "50").record["estimates"]
    assert {row["provider"] for row in rows} == {"gcp"}


def test_a_hypothetical_machine_is_recommended_only_where_its_place_is_named(run: Run) -> None:
    answer = run(*MAIN_JOB, "--where", "cluster", "-o", "json").record
    chosen = next(row for row in answer["estimates"] if row["rank"] == answer["recommendation"]["rank"])
    assert chosen["hypothetical"]


def test_filters(run: Run) -> None:
    def rows(*arguments: str) -> list[Any]:
        return list(run(*MAIN_JOB, "--where", "cloud", "-o", "json", "-n", "0", *arguments).record["estimates"])

    assert {row["purchase"] for row in rows("--spot") if row["provider"]} == {"spot"}
    assert {row["purchase"] for row in rows("--on-demand") if row["provider"]} == {"on_demand"}
    assert max(row["usd_per_hour"] for row in rows("--max-price", "2")) <= 2
    assert all(
        row["region"].startswith("us-") or (row["zone"] or "").startswith("us-")
        for row in rows("--region", "us-*")
        if row["provider"]
    )
    assert {row["accelerator"] for row in rows("--gpus", "H100-SXM:8") if row["provider"]} == {"H100-SXM"}
    two = rows("--gpus", "A100-40GB-SXM:8", "--num-nodes", "2")
    assert {row["num_nodes"] for row in two if row["provider"]} == {2}


def test_a_budget_and_a_deadline_order_by_what_meets_them(run: Run) -> None:
    answer = run(*MAIN_JOB, "--budget", "100", "--deadline", "24h", "-o", "json", "-n", "0").record
    rows = answer["estimates"]
    meets = [row["p_meets"] >= 0.9 for row in rows]
    assert meets == sorted(meets, reverse=True)
    chosen = rows[answer["recommendation"]["rank"] - 1]
    assert chosen["p_meets"] >= 0.9
    assert chosen["cost_usd"]["p50"] <= 100


def test_sort_by_time_and_by_cost(run: Run) -> None:
    for key, field in (("time", "time_s"), ("cost", "cost_usd")):
        rows = run(*MAIN_JOB, "--sort", key, "-o", "json", "-n", "300").record["estimates"]
        values = [row[field]["p50"] for row in rows]
        assert values == sorted(values)
    assert run(*MAIN_JOB, "--sort", "time").code == 0


def test_csv_and_markdown(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run(*MAIN_JOB, "-o", "csv").out)))
    assert len(rows) == 20
    assert float(rows[0]["time_s_p50"]) > 0
    assert "compute=" in rows[0]["cost_parts"]
    text = run(*MAIN_JOB, "-o", "markdown").out
    assert text.startswith("# resnet50 · imagenet · 90 epochs · amp")
    assert "| ---: |" in text


def test_another_currency(run: Run) -> None:
    """What a table or a sentence says is all in it: no $ is left."""
    limits = ("--budget", "0.5", "--deadline", "1h")
    for extra in ((), limits, ("-o", "markdown")):
        said = run(*MAIN_JOB, "--currency", "EUR=0.5", "-n", "1", *extra).out
        assert "EUR/h" in said
        assert "$" not in said
        assert "amounts in EUR at 0.5 EUR a USD, your rate of" in " ".join(said.split())
    plain, converted = (run(*MAIN_JOB, "-n", "1", *flags).out for flags in ((), ("--currency", "EUR=0.5")))
    assert "cost plus $2.00" in " ".join(plain.split())
    assert "cost plus 1.00 EUR" in " ".join(converted.split())


@pytest.mark.parametrize("output", ["csv", "json"])
def test_what_programs_read_stays_in_usd_and_says_so(run: Run, output: str) -> None:
    plain = run(*MAIN_JOB, "-n", "1", "-o", output)
    asked = run(*MAIN_JOB, "-n", "1", "-o", output, "--currency", "EUR=0.5")
    assert plain.err == ""
    assert asked.err == f"gpuplanner: --currency is for what people read: -o {output} stays in USD\n"
    assert "EUR" not in asked.out.replace("Eurostat", "").replace("EUR 0.2872", "").replace("USD per EUR", "")


def test_own_machines_take_the_place_of_hypothetical_ones(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        "electricity_usd_per_kwh = 0.5\n[[machine]]\nname = 'desk'\nplace = 'workstation'\n"
        "gpu = 'RTX 3090'\ncount = 2\npower_w = 800\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(path))
    answer = run(*MAIN_JOB, "--where", "workstation", "-o", "json").record
    own = [row for row in answer["estimates"] if not row["is_this_machine"]]
    assert [row["name"] for row in own] == ["desk"]
    desk = own[0]
    assert not desk["hypothetical"]
    assert desk["purchase"] == "owned"
    assert desk["usd_per_hour"] == pytest.approx(0.4)
    assert desk["energy_kwh"] == pytest.approx(0.8 * desk["time_s"]["p50"] / 3600)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "bert-base", "-d", "squad", "-e", "2"),
        ("-m", "gpt2", "--tokens", "1B", "--seq-len", "512"),
        ("-m", "llama-3-8b", "--tokens", "100M", "--gpus", "H100:8", "--zero", "3", "--precision", "bf16"),
        ("-m", "resnet18", "--steps", "1000", "-b", "64"),
        ("-m", "resnet50", "-e", "90", "--img-size", "224", "--channels-last", "--compile"),
        ("-m", "resnet50", "--samples", "50k", "-e", "10", "--global-batch-size", "512"),
        ("-m", "resnet50", "-e", "90", "--resume-epoch", "80", "--tuned", "--grad-ckpt"),
        ("-m", "resnet50", "-e", "90", "--precision", "fp32", "--opt", "adamw", "-j", "8"),
    ],
)
def test_other_experiments_are_answered(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("estimate", *arguments, "-o", "json")
    assert result.code == 0, result.err
    assert result.record["estimates"]


def test_one_row_is_one_row_and_one_day_one_day(run: Run) -> None:
    said = run("estimate", "-m", "resnet50", "-n", "1", "--where", "aws", "--gpus", "A100:8", "--spot", "--offline").out
    said = " ".join(said.split())
    assert " 1 row of " in said
    assert re.search(r"prices seen [0-9-]{10}, [0-9,]+ days? ago ", said)


def test_a_precision_is_no_substitute_of_its_own(run: Run) -> None:
    record = run("estimate", "-m", "resnet50", "-n", "0", "--precision", "fp8", "--offline", "-o", "json").record
    (warning,) = (text for text in record["warnings"] if "those without it run" in text)
    assert set(warning.split(" run ")[1].split(" or ")) == {"bf16", "fp16", "fp32"}


def test_the_answer_stands_in_the_table_however_few_rows_are_asked_for(run: Run) -> None:
    for flags in ((), ("--group", "offer")):
        lines = run(*MAIN_JOB, "-n", "1", *flags).out.splitlines()
        number = next(line for line in lines if line.startswith("Answer (#"))[9:].partition(")")[0]
        assert int(number) > 1
        assert sum(line.split()[:1] == [number] for line in lines) == 1
    few = run(*MAIN_JOB, "-n", "1", "-o", "json").record
    assert len(few["estimates"]) == 1
    assert few["prices_as_of"] <= few["recommendation"]["estimate"]["price_as_of"]


@pytest.mark.parametrize("command", [("estimate",), ("export", "--to", "bash")])
def test_where_nothing_may_be_recommended_the_exit_code_is_three(run: Run, command: tuple[str, ...]) -> None:
    assert run(*command, "-m", "resnet50", "-e", "90", "--where", "kaggle").code == 3


@pytest.mark.parametrize("flags", [("--max-price", "0.0001"), ("--max-price-age", "0")])
def test_a_run_that_would_take_this_machine_most_of_a_year_is_no_answer(
    run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    monkeypatch.setattr("planner.plan.recommend.LONGEST_WAIT_S", 3600.0)  # which no CPU trains ImageNet in
    result = run(*MAIN_JOB, *flags, "--no-profile", "-n", "1")
    assert result.code == 3
    assert "Of what is left, this machine takes " in " ".join(result.out.split())


def test_the_longest_wait_is_said_and_this_machine_is_recommended_where_it_is_named() -> None:
    from datetime import timedelta

    from planner.plan.planning import make_plan
    from planner.plan.question import Question
    from planner.plan.world import open_world
    from planner.profiler.this_machine import find_this_machine

    world, now = open_world(find_this_machine()), datetime.now().astimezone()
    forever = resolve_experiment(ExperimentRequest("resnet50", epochs=9000))
    asked = Question(max_price_usd_per_hour=1e-5)
    plan = make_plan(forever, asked, world, now)
    here = next(row for row in plan.estimates if row.is_this_machine)
    assert here.time_s is not None
    assert timedelta(seconds=here.time_s.p50) > timedelta(days=91)
    assert plan.recommendation is None
    assert plan.no_recommendation.startswith("Of what is left, this machine takes ")
    named = make_plan(forever, asked._replace(where=(here.place,)), world, now)
    assert named.recommendation is not None
    assert named.recommendation.estimate.is_this_machine


def test_offers_above_the_dearest_hour_are_counted(run: Run) -> None:
    """Those left out and those ranked, or refused, are all that there are without the limit."""
    everything = run(*MAIN_JOB, "--where", "aws", "-n", "1", "-o", "json").record
    cheap = run(*MAIN_JOB, "--where", "aws", "--max-price", "2", "-n", "1", "-o", "json").record
    (said,) = (text for text in cheap["assumptions"] if "--max-price" in text)
    left_out = int(said.split()[0].replace(",", ""))
    refused = everything["unranked_count"] - cheap["unranked_count"]
    assert 0 < left_out <= everything["ranked_count"] - cheap["ranked_count"] + refused
    assert left_out >= everything["ranked_count"] - cheap["ranked_count"]
    assert "this machine stays" in run("estimate", "--help").out


def test_a_country_may_be_called_by_its_name(run: Run) -> None:
    said = run("estimate", "-m", "resnet50", "-e", "1", "--country", "Germany", "-o", "json").record
    assert any("0.419 USD/kWh, DE household" in text for text in said["assumptions"])


@pytest.mark.parametrize(("price", "doubted"), [("30", True), ("0.30", False)])
def test_electricity_in_cents_is_doubted(run: Run, price: str, doubted: bool) -> None:
    said = run("estimate", "-m", "resnet50", "-e", "1", "--electricity-price", price, "-o", "json").record
    assert any("in cents it would be 0.3 " in text for text in said["warnings"]) is doubted
