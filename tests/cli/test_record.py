"""gpuplanner record and ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli.record import _against_forecast
from planner.plan.ledger import ForecastRow, Outcome
from planner.units import Interval, format_duration
from tests.cli.conftest import Run

ASK = ("estimate", "-m", "resnet50", "-e", "1", "--gpus", "A100", "-n", "3", "--offline")


@pytest.fixture
def forecast(run: Run) -> str:
    return run(*ASK, "--record").err


def test_a_forecast_is_recorded_only_when_asked(run: Run) -> None:
    assert run(*ASK).err == ""
    assert "no forecast was recorded yet" in run("ledger").out
    assert "recorded as forecast 1;" in run(*ASK, "--record").err
    assert "recorded as forecast 2;" in run(*ASK, "--record").err
    assert run("ledger").out == "2 forecasts, 0 outcomes (gpuplanner record)\n"


def test_what_happened_is_held_against_the_forecast(run: Run, forecast: str) -> None:
    entry = next(row for row in run("ledger", "-o", "json").record["entries"] if not row["is_this_machine"])
    rate = entry["samples_per_s"]["p50"]
    told = run("record", "--on", str(entry["rank"]), "--samples-per-s", f"{rate / 1.1}", "--cost", "3.5")
    assert told.code == 0
    assert told.out.startswith(f"forecast 1, {entry['words']}: ")
    shown = run("ledger").out
    assert "+10% yes" in shown
    assert "samples/s: median error 10%, bias +10%, 100% of 1 inside P10–P90 (80% expected)" in shown
    (score, _) = run("ledger", "-o", "json").record["scores"]
    assert score["quantity"] == "samples_per_s"
    assert score["median_error"] == pytest.approx(0.1)


def test_time_and_cost_are_shown_beside_what_was_forecast(run: Run, forecast: str) -> None:
    entry = next(row for row in run("ledger", "-o", "json").record["entries"] if not row["is_this_machine"])
    time_s, cost = entry["time_s"], entry["cost_usd"]
    told = run("record", "--on", str(entry["rank"]), "--time", "31h", "--cost", "12.4").out
    of_time = f"31h00, forecast {format_duration(time_s['p50'])} ("
    of_cost = f"$12.40, forecast ${cost['p50']:.2f} (${cost['p10']:.2f} to ${cost['p90']:.2f})"
    assert told.startswith(f"forecast 1, {entry['words']}: {of_time}")
    assert told.endswith(f"; {of_cost}\n")


def test_what_had_no_forecast_says_so() -> None:
    row = ForecastRow(1, False, "lab", "T4", 1, 1, 8, 1, Interval(1, 2, 3), Interval(60, 120, 180), None, None)
    outcome = Outcome(2.0, None, 3.5, "", "said")
    told = list(_against_forecast(outcome, row))
    assert told == ["2.0 samples/s, forecast 2.0 (1.0 to 3.0)", "$3.50, of which there was no forecast"]


def test_a_rate_far_outside_the_forecast_is_kept_and_warned_of(run: Run, forecast: str) -> None:
    (entry, *_) = run("ledger", "-o", "json").record["entries"]
    interval = entry["samples_per_s"]
    told = run("record", "--on", str(entry["rank"]), "--samples-per-s", str(interval["p90"]))
    assert (told.code, told.err) == (0, "")
    told = run("record", "--on", str(entry["rank"]), "--samples-per-s", str(interval["p50"] / 4))
    assert told.code == 0
    assert "far outside the forecast" in told.err
    assert "--on" in told.err


def test_rates_from_a_step_a_log_and_a_report(run: Run, forecast: str, tmp_path: Path) -> None:
    row = run("record", "--step-time", "0.5", "-o", "json").record
    entry = next(one for one in run("ledger", "-o", "json").record["entries"] if one["rank"] == row["rank"])
    batch = entry["batch_size_per_gpu"] * entry["grad_accum_steps"] * max(1, int(entry["num_gpus"]))
    assert row["samples_per_s"] == pytest.approx(batch / 0.5)
    bars = tmp_path / "train.log"
    bars.write_bytes(b"\r 5%|x | 5/100 [00:01<00:22,  4.00it/s]\r 9%|x | 9/100 [00:02<00:22,  4.00it/s]\n")
    assert run("record", "--log", str(bars), "-o", "json").record["samples_per_s"] == pytest.approx(4 * batch)
    bars.write_text("{'train_samples_per_second': 812.5}")
    assert run("record", "--log", str(bars), "-o", "json").record["samples_per_s"] == 812.5
    report = tmp_path / "report.json"
    report.write_text('epoch 1\n{"schema_version": 1, "samples_per_s": null, "step_time_s": 0.25}\n')
    assert run("record", "--report", str(report), "-o", "json").record["samples_per_s"] == pytest.approx(batch / 0.25)
    report.write_text('{"schema_version": 1, "samples_per_s": 77, "step_time_s": 0.25}\n')
    assert run("record", "--report", str(report), "-o", "json").record["samples_per_s"] == 77


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what happened: --samples-per-s, --step-time"),
        (("9", "--cost", "1"), "there is no forecast 9; the last one is 1"),
        (("--on", "H100", "--cost", "1"), "forecast 1 has no row 'H100'"),
        (("--samples-per-s", "1", "--step-time", "2"), "tell the same thing: give one of them"),
        (("--log", "no-such.log"), "the log no-such.log cannot be read"),
        (("--report", "no-such.json"), "the report no-such.json cannot be read"),
        (("--time", "soon"), "soon"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, forecast: str, arguments: tuple[str, ...], words: str) -> None:
    result = run("record", *arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("flag", "text"), [("--log", "nothing"), ("--report", "{}"), ("--report", '{"schema_version": 1}')]
)
def test_files_that_tell_no_rate(run: Run, forecast: str, tmp_path: Path, flag: str, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert run("record", flag, str(path)).code == 2


def test_nothing_recorded_is_said(run: Run) -> None:
    result = run("record", "--cost", "3")
    assert result.code == 2
    assert "no forecast was recorded yet" in result.err
