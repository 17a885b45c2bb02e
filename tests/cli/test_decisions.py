"""Commands that decide: breakeven, scale, gpus --for, and what estimate shows beside the ranking."""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from planner.cli.money import Currency
from planner.plan.config import config_path
from tests.cli.conftest import Run

SHORT = ("-m", "resnet50", "-e", "90", "--where", "cloud", "--offline")


def _words(text: str) -> str:
    """Without the breaks of lines."""
    return " ".join(text.split())


def _cents(usd: float) -> int:
    return round(usd * 100)


def test_breakeven_answers_with_figures_a_plot_and_a_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    cards = ("--buy", "RTX 4090, used RTX 3090")
    result = run("breakeven", "-m", "resnet50", "-e", "90", *cards, "--on-demand", "--where", "aws,azure,gcp")
    assert result.code == 0
    assert "Buy used RTX 3090" in result.out
    assert "● buy" in result.out
    assert "◆ break-even" in result.out
    assert "price −20 %" in result.out
    assert all(len(line) <= 120 for line in result.out.splitlines())


def test_breakeven_gives_the_same_in_json_and_csv(run: Run) -> None:
    asked = ("breakeven", "-m", "resnet50", "-e", "90", "--buy", "RTX 4090", "--runs-per-month", "4", "--months", "12")
    record = run(*asked, "-o", "json").record
    (bought,) = record["purchases"]
    assert record["runs_per_month"] == 4
    against = bought["against"][0]
    saved = against["run_usd"] - bought["run_usd"]
    assert against["runs"] == pytest.approx(bought["purchase_usd"] / saved)
    assert _cents(bought["spent_usd"]) == _cents(bought["purchase_usd"] + 12 * 4 * bought["run_usd"])
    (row,) = csv.DictReader(io.StringIO(run(*asked, "-o", "csv").out))
    for name in ("purchase_usd", "run_usd", "price_age_days", "months"):
        assert float(row[name]) == pytest.approx({**against, **bought}[name])
    assert row["price_as_of"] == bought["price_as_of"]
    for name in ("run_usd", "run_s"):
        assert float(row[f"rent_{name}"]) == pytest.approx(against[name])
    assert row["rent_price_as_of"] == against["price_as_of"]
    assert "| buy |" in run(*asked, "-o", "markdown").out


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--buy", "RTX 4O90"), "unknown accelerator"),
        (("--buy", " , "), "--buy wants one or more cards"),
        (("--hours-per-week", "200"), "at most 168"),
        (("--card-price", "RTX 4090"), "--card-price wants a card and USD"),
        (("--buy", "RTX 4090", "--card-price", "RTX 5090=100"), "of RTX 5090, which is not one of RTX 4090 (--buy)"),
        (("--buy", "RTX 3090", "--card-price", "used RTX 3090=100"), "of used RTX 3090, which is not one of RTX 3090"),
        (("--budget", "€60"), "--budget: 60 EUR is not in US dollars: say your rate with --currency EUR=RATE"),
        (("--budget", "1k"), "'1k': amounts are written out, as in 1000 for 1k"),
        (("--budget", "¥60"), "which currency '¥' is in '¥60' is not clear"),
        (("--budget", "60 CHF", "--currency", "EUR=0.92"), "60 CHF is not in US dollars"),
        (("--card-price", "RTX 4090=1700€"), "--card-price: 1,700 EUR is not in US dollars"),
        (("--hours-per-week", "10", "--runs-per-month", "5"), "both say how much work there is"),
    ],
)
def test_breakeven_refuses_in_one_sentence(run: Run, flags: tuple[str, ...], complaint: str) -> None:
    result = run("breakeven", "-m", "resnet50", *flags)
    assert result.code == 2
    assert complaint in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_breakeven_of_what_fits_on_none_of_them_ends_with_three(run: Run) -> None:
    result = run("breakeven", "-m", "llama-3-70b", "--tokens", "1B", "--buy", "RTX 4090")
    assert result.code == 3
    assert "runs on none of them" in result.err


@pytest.mark.parametrize("limit", [("--deadline", "2m"), ("--budget", "0.01")])
def test_breakeven_says_that_it_is_the_limits_that_nothing_meets(run: Run, limit: tuple[str, str]) -> None:
    result = run("breakeven", "-m", "resnet50", "-e", "90", *limit)
    assert result.code == 3
    assert "nothing that is rented out meets the limits" in result.err


def test_breakeven_rents_for_the_runs_of_a_day_in_a_row_as_sweep_does(run: Run) -> None:
    """Thirty runs of some minutes a day: set-up and idle time are paid once a day, so that renting is the cheaper."""
    asked = ("-m", "resnet18", "-d", "cifar10", "-e", "30", "--region", "us-east-1")
    work = ("--runs-per-month", str(30 * 365.25 / 12), "--buy", "RTX 4090", "--where", "aws", "--on-demand")
    record = run("breakeven", *asked, *work, "--gpus", "T4:1", "-o", "json").record
    rent = record["rents"][0]
    assert rent["in_a_row"] == pytest.approx(30)
    pool = f"aws:{rent['instance_type']}@us-east-1:on_demand"
    swept = run("sweep", *asked, "--repeat", "30", "--pool", pool, "-o", "json").record
    assert rent["run_usd"] == pytest.approx(swept["cost_usd"]["p50"] / 30, abs=0.01 / 30)
    assert rent["run_s"] == pytest.approx(swept["makespan_s"]["p50"] / 30)
    (alone,) = run("breakeven", *asked, *work, "--gpus", "T4:1", "--runs-per-month", "30", "-o", "json").record["rents"]
    assert alone["in_a_row"] == 1
    assert alone["run_usd"] > 1.2 * rent["run_usd"]


def test_breakeven_advises_no_card_that_misses_the_limits_or_cannot_keep_up(run: Run) -> None:
    asked = ("breakeven", "-m", "resnet50", "-e", "90", "--where", "aws", "--on-demand", "--buy", "used RTX 3090")
    assert "Buy used RTX 3090" in run(*asked).out
    late = run(*asked, "--deadline", "24h")
    assert re.search(r"Rent: a run on used RTX 3090 takes \S+, which meets your limits with 0% only", _words(late.out))
    assert "✗: misses your limits" in _words(late.out)
    (bought,) = run(*asked, "--deadline", "24h", "-o", "json").record["purchases"]
    assert bought["misses_limits"]
    assert bought["p_meets"] < 0.9
    (in_time,) = run(*asked, "--deadline", "5d", "-o", "json").record["purchases"]
    assert not in_time["misses_limits"]
    assert in_time["p_meets"] > 0.9
    assert re.search(
        r"Rent: used RTX 3090 would need \d+ hours a week", _words(run(*asked, "--runs-per-month", "40").out)
    )


def test_breakeven_spends_a_credit_once(run: Run, home: Path) -> None:
    asked = ("breakeven", "-m", "resnet50", "-e", "90", "--buy", "RTX 4090", "--where", "aws", "--on-demand")
    without = run(*asked, "-o", "json").record
    config_path().parent.mkdir(parents=True)
    config_path().write_text("[credits]\naws = 1000\n", encoding="utf-8")
    record = run(*asked, "-o", "json").record
    (rent,) = record["rents"]
    assert (rent["run_usd"], rent["credit_usd"]) == (without["rents"][0]["run_usd"], 1000)
    bought, before = record["purchases"][0], without["purchases"][0]
    saved = rent["run_usd"] - bought["run_usd"]
    assert bought["against"][0]["runs"] - before["against"][0]["runs"] == pytest.approx(1000 / saved)
    assert any("1,000.00 USD of credit at aws are spent once" in text for text in record["assumptions"])
    assert "less $1,000 of credit once" in " ".join(run(*asked).out.split())


def test_breakeven_marks_old_card_prices_and_the_work_that_was_asked_for(run: Run) -> None:
    asked = ("breakeven", "-m", "resnet50", "-e", "90", "--buy", "RTX 4090", "--hours-per-week", "33")
    record = run(*asked, "-o", "json").record
    (bought,) = record["purchases"]
    days = (date.today() - date.fromisoformat(bought["price_as_of"])).days
    assert bought["price_age_days"] == days > 30
    (own,) = [row for row in record["sensitivity"] if row["hours_per_week"] == 33]
    assert own["as_assumed"] == pytest.approx(bought["against"][0]["months"], rel=1e-6)
    out = run(*asked).out
    assert f"{bought['price_as_of']}!" in out
    assert "▸ 33 " in out
    yours = run(*asked, "--card-price", "RTX 4090=1900", "-o", "json").record["purchases"][0]
    assert yours["price_age_days"] is None


def test_amounts_in_another_currency_are_taken_at_the_rate_that_is_said(run: Run) -> None:
    asked = ("estimate", "-m", "resnet50", "-e", "90", "--where", "aws", "-n", "3", "-o", "json")
    euros = run(*asked, "--budget", "46€", "--hour-value", "€ 1.84", "--currency", "EUR=0.92").record
    dollars = run(*asked, "--budget", "$50", "--hour-value", "2 USD").record
    assert [row["p_meets"] for row in euros["estimates"]] == [row["p_meets"] for row in dollars["estimates"]]
    assert euros["assumptions"] == dollars["assumptions"]
    bought = ("breakeven", "-m", "resnet50", "-e", "90", "--buy", "RTX 4090", "-o", "json")
    asked_of = run(*bought, "--card-price", "RTX 4090=1748€", "--currency", "EUR=0.92").record["purchases"][0]
    assert asked_of["purchase_usd"] - asked_of["host_usd"] == pytest.approx(1900)
    refused = run("record", "--cost", "60€")
    assert (refused.code, refused.out) == (2, "")
    assert "60 EUR is not in US dollars, and no rate is at hand: write it in dollars" in refused.err


def test_scale_names_the_knee_and_the_alternative(run: Run) -> None:
    result = run("scale", "-m", "resnet50", "-e", "90", "--gpus", "A100-40GB-SXM:8")
    assert result.code == 0
    assert "All 8 GPUs are worth it" in result.out
    assert "8 separate experiments" in result.out
    more = run("scale", "-m", "resnet50", "-e", "90", "--gpus", "A100-40GB-SXM:9")
    assert "8 GPUs are the most that somebody has, and worth it" in more.out
    assert "All" not in more.out
    assert "without a cost and without setting up and copying data" in " ".join(more.out.split())
    kept = run("scale", "-m", "gnmt", "--gpus", "RTX 3090:4", "--batch", "kept")
    assert "1 is the knee" in kept.out
    assert "the global batch is kept" in " ".join(kept.out.split())


def test_scale_speaks_json_csv_and_markdown(run: Run) -> None:
    asked = ("scale", "-m", "resnet50", "-e", "1", "--gpus", "RTX 3090:2", "--num-nodes", "2", "--network", "25 GbE")
    record = run(*asked, "-o", "json").record
    assert [row["num_gpus"] * row["num_nodes"] for row in record["rows"]] == [1, 2, 4]
    assert record["separate"]["experiments"] == record["knee"]
    assert len(list(csv.DictReader(io.StringIO(run(*asked, "-o", "csv").out)))) == 3
    assert "| GPUs |" in run(*asked, "-o", "markdown").out


def test_scale_takes_the_network_of_the_node_whose_price_it_takes(run: Run) -> None:
    """AWS sells the p5.48xlarge with 3,200 Gb/s of EFA; on it a second node is worth having."""
    asked = ("scale", "-m", "llama-3-8b", "--tokens", "1B", "--gpus", "H100-SXM:8", "--zero", "3", "--num-nodes", "2")
    record = run(*asked, "--where", "aws", "-o", "json").record
    assert record["network"]["bandwidth_bytes_per_s"] == 400e9
    one, two = record["rows"][-2:]
    assert 0.9 < two["samples_per_s"]["p50"] / one["samples_per_s"]["p50"] / 2 <= 1.05
    assert (one["machine"], two["machine"]) == ("aws p5.48xlarge", "aws p5.48xlarge")
    assert any("3,200 Gb/s EFA of aws p5.48xlarge" in text for text in record["sentences"])
    said = run(*asked, "--where", "aws", "--network", "100 Gb/s Ethernet", "-o", "json").record
    assert said["network"]["bandwidth_bytes_per_s"] == 12.5e9
    assert any("100 Gb/s Ethernet, as you said" in text for text in said["sentences"])


def test_scale_agrees_with_explain(run: Run) -> None:
    asked = ("-m", "resnet50", "-e", "90", "--where", "aws", "--on-demand")
    row = run("scale", *asked, "--gpus", "A100-40GB-SXM:8", "-o", "json").record["rows"][7]
    explained = run("explain", *asked, "--on", "aws:p4d.24xlarge", "-o", "json").record
    assert (row["machine"], row["purchase"], row["bound_by"]) == ("aws p4d.24xlarge", "on_demand", "input")
    for key in ("samples_per_s", "time_s", "cost_usd"):
        assert row[key] == pytest.approx(explained[key], rel=1e-12)
    assert row["usd"] == row["cost_usd"]["p50"]


def test_scale_answers_which_is_the_fewest_that_meets_the_limits(run: Run) -> None:
    asked = ("scale", "-m", "resnet50", "-e", "90", "--gpus", "A100-40GB-SXM:8", "--where", "aws,gcp", "--on-demand")
    record = run(*asked, "--deadline", "16h", "-o", "json").record
    had = {row["num_gpus"]: row for row in record["rows"] if row["machine"] is not None}
    assert had[record["fewest"]]["p_meets"] >= 0.9
    assert all(row["p_meets"] < 0.9 for size, row in had.items() if size < record["fewest"])
    said = run(*asked, "--deadline", "16h").out
    assert f"{record['fewest']} (" in said
    assert "is the fewest that meets the limits" in said
    missed = run(*asked, "--budget", "1")
    assert missed.code == 3
    assert "None of them meets the limits: " in missed.out


def test_scale_takes_the_machine_that_estimate_recommends_of_each_size(run: Run) -> None:
    asked = ("-m", "llama-3-8b", "--tokens", "1B", "--zero", "3")
    rows = run("scale", *asked, "--gpus", "H100-SXM:8", "-o", "json").record["rows"]
    for size in (4, 8):
        best = run("estimate", *asked, "--gpus", f"H100-SXM:{size}", "-o", "json").record["recommendation"]["estimate"]
        row = rows[size - 1]
        assert row["machine"] == f"{best['provider']} {best['instance_type']}"
        assert (row["purchase"], row["cost_usd"], row["time_s"]) == (best["purchase"], best["cost_usd"], best["time_s"])


def test_scale_does_not_let_a_share_that_nobody_has_win(run: Run) -> None:
    """Of 3, 5, 6 and 7 GPUs nobody has a machine: they may meet the limits, and are not what to take."""
    asked = ("scale", "-m", "resnet50", "-e", "90", "--gpus", "A100-40GB-SXM:8", "--where", "aws,gcp", "--on-demand")
    record = run(*asked, "--deadline", "5h", "-o", "json").record
    seven, eight = record["rows"][6:]
    assert seven["machine"] is None
    assert seven["p_meets"] >= 0.9
    assert eight["machine"] is not None
    assert record["fewest"] == 8
    seven, eight = run(*asked, "--budget", "1000", "-o", "json").record["rows"][6:]
    assert (seven["p_meets"], eight["p_meets"]) == (None, 1.0)
    missed = run(*asked, "--deadline", "3h", "-o", "json")
    assert (missed.code, missed.record["fewest"]) == (3, None)
    assert missed.record["sentences"][0].startswith("None of them meets the limits: 8 comes nearest (")


def test_a_size_that_nobody_has_is_marked_and_never_the_knee(run: Run) -> None:
    """Three RTX 4090 on their share of a machine of four train fewer samples a second than two: nobody has them."""
    asked = ("scale", "-m", "resnet50", "-e", "90", "--gpus", "RTX 4090:8", "--where", "vast")
    record = run(*asked, "-o", "json").record
    rows = {row["num_gpus"]: row for row in record["rows"]}
    missing = {size for size, row in rows.items() if row["machine"] is None}
    assert missing == {3, 6, 7} == {size for size, row in rows.items() if row["hypothetical"]}
    had = [row for row in record["rows"] if row["machine"] is not None]
    for before, row in pairwise(had):
        gained = row["samples_per_s"]["p50"] - before["samples_per_s"]["p50"]
        further = row["num_gpus"] - before["num_gpus"]
        assert row["added"] == pytest.approx(gained / had[0]["samples_per_s"]["p50"] / further)
    beyond = [row["num_gpus"] for row in had[1:] if row["added"] < 0.5]
    assert record["knee"] == max(row["num_gpus"] for row in had if row["num_gpus"] < beyond[0])
    lines = run(*asked).out.splitlines()
    assert [line.split()[0] for line in lines[-8:]] == ["1", "2", "*3", "4", "5", "*6", "*7", "8"]
    assert any(line.startswith("* before a number: nobody has a machine of that size") for line in lines)


def test_a_share_is_one_of_a_host_that_runs_the_experiment_at_its_own_size(run: Run) -> None:
    """With offload the host's memory counts: five eighths of a host that does for eight GPUs do for five."""
    offload = ("--zero", "3", "--offload", "optimizer")
    asked = ("scale", "-m", "llama-3-8b", "--tokens", "100M", "--gpus", "H100-SXM:8", *offload, "-o", "json")
    rows = run(*asked).record["rows"]
    assert rows[7]["problem"] is None
    assert [row["num_gpus"] for row in rows if row["problem"]] == []


def test_scale_names_the_credit_and_the_batch_it_could_keep(run: Run, home: Path) -> None:
    asked = ("scale", "-m", "resnet50", "-e", "90", "--where", "aws", "--on-demand", "--gpus", "A100-40GB-SXM:8")
    whole = run(*asked, "-o", "json").record["rows"][7]["usd"]
    config_path().parent.mkdir(parents=True)
    config_path().write_text("[credits]\naws = 50\n", encoding="utf-8")
    row = run(*asked, "-o", "json").record["rows"][7]
    assert (row["usd"], row["credit_usd"]) == (pytest.approx(whole - 50), 50)
    said = run(*asked).out
    assert f"${whole - 50:.2f}c" in said
    assert "c: what is left to pay after your credit of $50.00 at aws." in _words(said)
    kept = run("scale", "-m", "resnet50", "-b", "64", "--batch", "kept", "--gpus", "A100-40GB-SXM:4").out
    assert "the global batch is kept, as near to it as the GPUs divide it (63 to 64)" in _words(kept)


def test_scale_counts_a_notebook_that_is_named(run: Run) -> None:
    rows = run("scale", "-m", "resnet50", "-e", "1", "--gpus", "T4:2", "--where", "kaggle", "-o", "json").record["rows"]
    assert (rows[1]["machine"], rows[1]["purchase"], rows[1]["usd"]) == ("Kaggle 2x T4", "free_tier", 0.0)


def test_scale_says_what_network_it_assumes_where_none_is_known(run: Run) -> None:
    said = run(
        "scale", "-m", "resnet50", "-e", "1", "--gpus", "RTX 3090:1", "--num-nodes", "2", "--where", "laptop"
    ).out
    assert "a slow one of 10 Gb/s is assumed (--network)" in " ".join(said.split())


def test_scale_says_which_sizes_are_too_small_and_what_would_help(run: Run) -> None:
    said = run("scale", "-m", "llama-3-8b", "--tokens", "1B", "--gpus", "H100-SXM:4", "--zero", "3").out
    assert "- 1, 2 GPUs: not even a batch of 1 per GPU fits" in said
    nothing = run("scale", "-m", "llama-3-8b", "--tokens", "1B", "--gpus", "H100-SXM:8")
    assert nothing.code == 3
    assert "8 GPUs would do with --zero " in nothing.out
    assert "- all of them: not even" in nothing.out


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ((), "say which GPUs"),
        (("--gpus", "RTX 3090:65"), "at most 64"),
        (("--gpus", "80GB+:8"), "scale counts the GPUs of one kind"),
        (("--gpus", "RTX 3090:4", "--network", "25 GbE"), "--network is between nodes"),
    ],
)
def test_scale_refuses_in_one_sentence(run: Run, flags: tuple[str, ...], complaint: str) -> None:
    result = run("scale", "-m", "resnet50", *flags)
    assert result.code == 2
    assert complaint in result.err


def test_gpus_for_a_model_ranks_cards_within_the_sum(run: Run) -> None:
    result = run("gpus", "--for", "resnet50", "--purchase-budget", "1500")
    assert result.code == 0
    assert "per $1000" in result.out
    cards = run("gpus", "--for", "resnet50", "--purchase-budget", "1500", "-n", "0", "-o", "json").record["cards"]
    assert all(card["price_usd"] <= 1500 and card["price_source"] for card in cards)
    seen = [card["samples_per_s_per_usd"] for card in cards if card["fits"] and card["price_condition"] == "shop"]
    assert seen == sorted(seen, reverse=True)
    assert [card["samples_per_s_per_usd"] for card in cards][: len(seen)] == seen
    assert "†Arc B580" in run("gpus", "--for", "resnet50", "-n", "0").out
    euros = run("gpus", "--for", "resnet50", "--purchase-budget", "1500", "--currency", "EUR=0.5").out
    assert f"{cards[0]['price_usd'] / 2:,.0f} EUR" in euros
    assert "per 1000 EUR" in euros
    assert "$" not in euros
    one = run("gpus", "--for", "resnet50", "RTX", "3090", "-o", "json").record["cards"]
    assert [card["key"] for card in one] == ["RTX3090"]
    assert one[0]["used_price_usd"] == 700


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        (("--purchase-budget", "1500"), 2, "say --for MODEL"),
        (("--for", "resnet50", "--purchase-budget", "10"), 3, "costs so little"),
        (("--currency", "EUR=0.92"), 2, "say --for MODEL"),
        (("--lora-rank", "16"), 2, "say --for MODEL"),
        (("--for", "resnet50", "H100", "SXM"), 2, "no price of a card"),
        (("--for", "llama-3-8b", "--tensor-parallel", "2"), 2, "ranks single cards"),
        (("--for", "llama-3-8b", "--pipeline-parallel", "2"), 2, "ranks single cards"),
    ],
)
def test_gpus_for_refuses_in_one_sentence(run: Run, argv: tuple[str, ...], code: int, complaint: str) -> None:
    result = run("gpus", *argv)
    assert result.code == code
    assert complaint in result.err


def test_too_large_a_model_for_any_card_ends_with_three(run: Run) -> None:
    result = run("gpus", "--for", "llama-3-70b", "-n", "2")
    assert result.code == 3
    assert "too small" in result.out


def test_cards_have_a_host_with_what_offload_needs(run: Run) -> None:
    """Adam's 18 bytes for each of 8.03 billion parameters are 134.6 GiB, four fifths of 168.3."""
    asked = ("gpus", "--for", "llama-3-8b", "--offload", "all", "-n", "0")
    result = run(*asked)
    assert result.code == 0
    assert "With --offload all a host of 168.3 GiB is needed" in _words(result.out)
    fits = {card["key"] for card in run(*asked, "-o", "json").record["cards"] if card["fits"]}
    assert "RTX5090" in fits
    assert "RTX4090" not in fits  # the weights of a step need 25.6 of its 24 GiB


def test_the_cheapest_card_is_named_that_flags_would_do_for(run: Run) -> None:
    asked = ("gpus", "--for", "llama-3-8b", "-n", "0")
    said = _words(run(*asked).out)
    (name,) = re.findall(r"--lora-rank 16 \(([^)]+)\)", said)
    cards = run(*asked, "--lora-rank", "16", "-o", "json").record["cards"]
    cheapest = min(
        (card for card in cards if card["fits"] and card["stack"] == "cuda"), key=lambda card: card["price_usd"]
    )
    assert name in cheapest["name"]


def test_the_front_and_rows_side_by_side(run: Run) -> None:
    result = run("estimate", *SHORT, "-n", "3", "--front", "--compare", "1,2")
    assert "Front of time and cost" in result.out
    assert "an hour sooner" in result.out
    assert "Side by side:" in result.out
    assert "  provisioning" in result.out
    record = run("estimate", *SHORT, "-n", "1", "--front", "--compare", "1,2", "-o", "json").record
    assert record["front"][-1]["usd_per_hour_sooner"] is None
    times = [row["time_s"]["p50"] for row in record["front"]]
    assert times == sorted(times)
    assert [row["rank"] for row in record["compared"]] == [1, 2]
    markdown = run("estimate", *SHORT, "-n", "1", "--compare", "1,2", "-o", "markdown").out
    assert "## Side by side" in markdown


@pytest.mark.parametrize(
    ("dollars", "per_usd", "cents"),
    [
        ([1.00, 1.00, 1.00], 0.335, [34, 34, 33]),  # 33.5 each, 100.5 in all
        ([0.01, 0.01, 0.01], 0.4, [1, 0, 0]),  # 0.4 each, 1.2 in all
        ([5.00, -2.00], 0.92, [460, -184]),
        ([14.96, 0.05, 0.01, 0.0], 1.0, [1496, 5, 1, 0]),
    ],
)
def test_a_bill_in_another_currency_adds_up_to_its_converted_total(
    dollars: list[float], per_usd: float, cents: list[int]
) -> None:
    assert Currency("EUR", per_usd).bill(dollars) == cents


def test_side_by_side_lines_add_up_in_another_currency_too(run: Run) -> None:
    out = run("estimate", *SHORT, "-n", "1", "--compare", "1,4", "--currency", "EUR=0.92").out
    lines = [line for line in out[out.index("Side by side:") :].splitlines() if line.endswith(" EUR")]

    def amounts(line: str) -> list[int]:
        return [round(float(word.replace(",", "")) * 100) for word in re.findall(r"([\d.,]+) EUR", line)]

    whole = [amounts(line) for line in lines if not line.startswith((" ", "total"))]
    (total,) = [amounts(line) for line in lines if line.startswith("total")]
    assert [sum(column) for column in zip(*whole, strict=True)] == total


@pytest.mark.parametrize("ranks", ["1", "1,x", "0,1", "1,2,3,4,5,6,7", "1,999999", ""])
def test_ranks_that_are_none_are_refused(run: Run, ranks: str) -> None:
    result = run("estimate", *SHORT, "--compare", ranks)
    assert result.code == 2
    assert "--compare wants 2 to 6 ranks" in result.err


def test_bills_in_json_add_up_to_the_cent_and_say_their_dates(run: Run) -> None:
    record = run("estimate", *SHORT, "-n", "40", "-o", "json", "--tries", "2", "--pilot-epochs", "1").record
    assert record["experiment"]["tries"] == 2
    for row in record["estimates"]:
        known = [part for part in row["cost_parts"] if part["usd"] is not None]
        assert sum(_cents(part["usd"]) for part in known) == _cents(row["cost_usd"]["p50"])
        for part in known:
            assert part["source"]
            if part["parts"]:
                assert sum(_cents(use["usd"]) for use in part["parts"]) == _cents(part["usd"])
        compute = next(part for part in row["cost_parts"] if part["name"] == "compute")
        assert compute["as_of"] == row["price_as_of"] or row["purchase"] == "free_tier"


def test_a_miss_says_what_would_make_it(run: Run) -> None:
    result = run("estimate", *SHORT, "-n", "2", "--deadline", "1h", "--budget", "5", "--on-demand")
    assert result.code == 3
    assert "- a deadline of " in result.out
    assert "- a budget of " in result.out
    record = run("estimate", *SHORT, "-n", "1", "--budget", "5", "--on-demand", "-o", "json").record
    assert record["nearest"]


def test_the_tier_is_said_in_numbers(run: Run) -> None:
    assert "Tier: One modest GPU within 3d00h: " in run("estimate", "-m", "resnet50", "-e", "90").out.replace("\n", " ")
    record = run("estimate", "-m", "resnet50", "-e", "90", "-n", "1", "-o", "json").record
    assert record["tier"].startswith("One modest GPU")


def test_a_pilot_without_tries_is_refused(run: Run) -> None:
    result = run("estimate", *SHORT, "--pilot-epochs", "1")
    assert result.code == 2
    assert "--tries 2" in result.err


def test_commitments_are_asked_for_by_name(run: Run) -> None:
    record = run("estimate", *SHORT, "--reserved", "-n", "5", "-o", "json").record
    assert {row["purchase"] for row in record["estimates"]} == {"reserved"}
    assert run("estimate", *SHORT, "--reserved", "--spot").code == 2


def test_the_answer_names_the_credit_and_the_discount_that_it_uses(run: Run, home: Path) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text("[credits]\naws = 100\n[discounts]\naws = 0.2\n", encoding="utf-8")
    asked = ("estimate", "-m", "resnet50", "-e", "90", "--where", "aws", "--on-demand", "--gpus", "A10G:1")
    record = run(*asked, "-o", "json").record
    used = next(
        -part["usd"] for part in record["recommendation"]["estimate"]["cost_parts"] if part["name"] == "credits"
    )
    assert 0 < used < 100
    assert f"for $0.00 ($0.00–$0.00) and ${used:.2f} of your $100.00 of credit" in record["recommendation"]["sentence"]
    said = " ".join(run(*asked).out.split())
    assert "$0.00c" in said
    assert "c: after your credit" in said
    assert "your 100.00 USD of credit at aws are spent before money" in said
    assert "aws sells to you 20% below its list" in said


def test_gpus_for_a_model_takes_how_it_is_trained(run: Run) -> None:
    asked = ("gpus", "--for", "llama-3-8b")
    full = run(*asked)
    assert full.code == 3
    assert "would do with --lora-rank 16" in full.out
    adapted = run(*asked, "--lora-rank", "16", "--load-in-4bit", "--grad-ckpt", "--seq-length", "512", "-o", "json")
    assert adapted.code == 0
    assert any(card["fits"] and card["memory_bytes"] < 25e9 for card in adapted.record["cards"])


@pytest.mark.parametrize("columns", ["80", "100", "200"])
def test_rows_side_by_side_keep_their_figures_on_any_screen(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = run("estimate", *SHORT, "-n", "1", "--compare", "1,2,3,4,5,6").out.partition("Side by side:")[2]
    assert all(len(line) <= int(columns) for line in out.splitlines())
    spans = [line for line in out.splitlines() if line.startswith("  P10–P90")]
    assert len(spans) > 1
    assert "…" not in "".join(spans)
    assert [number for line in out.splitlines() for number in re.findall(r"#(\d)", line)] == list("123456")
    rates = re.findall(r"on demand equal at stops/h +(.+)", out)
    assert rates
    assert "$" not in "".join(rates)


def test_a_credit_is_named_wherever_a_run_is_priced(run: Run, home: Path) -> None:
    """Of a run of about 80 USD a credit of 20 leaves 60, one of 1,000 nothing; both are said beside the cost."""
    asked = ("-m", "resnet50", "-e", "90", "--where", "aws", "--on", "aws:g5.xlarge@us-east-1:on_demand")
    whole = run("explain", *asked, "-o", "json").record["cost_usd"]["p50"]
    config_path().parent.mkdir(parents=True)
    for credit_usd in (20, 1000):
        config_path().write_text(f"[credits]\naws = {credit_usd}\n", encoding="utf-8")
        record = run("explain", *asked, "-o", "json").record
        used_usd = min(whole, credit_usd)
        assert record["credit_usd"] == pytest.approx(used_usd)
        assert record["cost_usd"]["p50"] == pytest.approx(whole - used_usd)
        words = f"and ${used_usd:,.2f} of your {Currency().show(credit_usd)} of credit"
        assert words in _words(run("explain", *asked).out)
        assert words in _words(run("export", *asked, "--to", "bash").out)
