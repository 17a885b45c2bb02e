"""Forecasts recorded, their outcomes, how good they were, and what they teach."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.cpus import cpu
from planner.hardware.local import FoundMachine
from planner.hardware.machine import cpu_machine
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import GpuRates, Measured, Profile
from planner.plan.ledger import (
    Entry,
    ForecastRow,
    Outcome,
    add_outcome,
    find_entry,
    outcome_now,
    read_ledger,
    record_plan,
)
from planner.plan.ledger_score import checks, references_of, runs_here, scores
from planner.plan.planning import make_plan
from planner.plan.question import Question
from planner.plan.world import World, open_world
from planner.throughput.evidence import shipped_knowledge
from planner.throughput.measured_gpu import rates_alone
from planner.throughput.step import StepModel
from planner.units import Interval

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
RESNET50 = resolve_experiment(ExperimentRequest(model="resnet50", epochs=1.0))
LOCAL = FoundMachine(cpu_machine(cpu("Zen3-Milan"), 4, 3.2e10, name="this machine"), "workstation", ())
EXPERIMENT = {
    "model": "resnet50",
    "image_size": 224,
    "seq_length": None,
    "precision": "amp",
    "optimizer": "sgd",
    "channels_last": False,
    "compiled": False,
    "tuned": False,
    "zero_stage": 0,
    "lora_rank": None,
}


def entry(forecast: float, happened: float | None, number: int = 1, **row: Any) -> Entry:
    interval = Interval(0.8 * forecast, forecast, 1.25 * forecast)
    fields = {
        "rank": 1,
        "is_this_machine": False,
        "words": "desk",
        "accelerator": "RTX3090",
        "num_gpus": 1.0,
        "num_nodes": 1,
        "batch_size_per_gpu": 64,
        "grad_accum_steps": 1,
        "samples_per_s": interval,
        "time_s": None,
        "cost_usd": None,
        "evidence": "specs_only",
        **row,
    }
    outcome = None if happened is None else Outcome(happened, None, None, "2026-11-30", "said")
    return Entry(number, "2026-11-30", EXPERIMENT, ForecastRow(**fields), True, outcome)


@pytest.fixture
def world() -> World:
    return open_world(LOCAL)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "ledger.jsonl"


def test_a_forecast_is_kept_with_its_recommendation_and_this_machine(world: World, path: Path) -> None:
    plan = make_plan(RESNET50, Question(), world, NOW, by_machine=True)
    assert record_plan(plan, path) == 1
    assert record_plan(plan, path) == 2
    entries = read_ledger(path)
    assert {one.forecast_id for one in entries} == {1, 2}
    assert plan.recommendation is not None
    assert find_entry(entries, None, None).row.rank == plan.recommendation.rank
    here = find_entry(entries, 1, "this machine")
    assert here.row.is_this_machine
    assert here.experiment["model"] == "resnet50"
    assert here.row.samples_per_s == next(row for row in plan.estimates if row.is_this_machine).samples_per_s


def test_the_last_outcome_of_a_row_counts(world: World, path: Path) -> None:
    record_plan(make_plan(RESNET50, Question(), world, NOW, by_machine=True), path)
    for rate in (10.0, 20.0):
        add_outcome(
            path, find_entry(read_ledger(path), None, "this machine"), outcome_now(NOW, "said", rate, None, None)
        )
    outcome = find_entry(read_ledger(path), None, "this machine").outcome
    assert outcome == Outcome(20.0, None, None, "2026-11-30T12:00:00+00:00", "said")


@pytest.mark.parametrize(
    "changes", [{"lora_rank": 8}, {"lora_rank": 8, "four_bit_weights": True}, {"grad_checkpointing": True}]
)
def test_an_outcome_is_held_against_the_step_that_ran(changes: dict[str, Any]) -> None:
    """Adapters, packed weights and checkpointing are kept with the forecast."""
    asked = resolve_experiment(ExperimentRequest("gpt2", tokens=1e9, batch_size_per_gpu=8))._replace(**changes)
    said = StepModel(asked).estimate(machine_from_spec("desk", "RTX3090", 1)).samples_per_s
    assert said is not None
    fields = {**EXPERIMENT, "model": "gpt2", "image_size": None, "seq_length": 1024, "optimizer": "adamw", **changes}
    happened = entry(100.0, said.p50, batch_size_per_gpu=8)._replace(experiment=fields)
    (reference,) = references_of([happened])
    assert reference.log_residual == pytest.approx(0.0, abs=1e-9)


def test_the_forecast_keeps_how_the_step_is_run(world: World, path: Path) -> None:
    asked = resolve_experiment(ExperimentRequest("gpt2", tokens=1e8, lora_rank=8, grad_checkpointing=True))
    record_plan(make_plan(asked, Question(), world, NOW, by_machine=True), path)
    kept = read_ledger(path)[0].experiment
    assert (kept["lora_rank"], kept["grad_checkpointing"], kept["four_bit_weights"]) == (8, True, False)


def test_what_is_said_later_adds_to_what_was_said_before(world: World, path: Path) -> None:
    record_plan(make_plan(RESNET50, Question(), world, NOW, by_machine=True), path)
    for said in (
        outcome_now(NOW, "train.log", 800.0, None, None),
        outcome_now(NOW, "said", None, 10800.0, 9.0),
        outcome_now(NOW, "said", None, None, 12.4),
    ):
        add_outcome(path, find_entry(read_ledger(path), None, "this machine"), said)
    outcome = find_entry(read_ledger(path), None, "this machine").outcome
    assert outcome == Outcome(800.0, 10800.0, 12.4, "2026-11-30T12:00:00+00:00", "train.log")


def test_a_line_cut_off_by_a_crash_loses_nothing_else(world: World, path: Path) -> None:
    record_plan(make_plan(RESNET50, Question(), world, NOW, by_machine=True), path)
    whole = read_ledger(path)
    with path.open("a") as file:
        file.write('{"kind": "outcome", "id": 1, "ra\n[]\n{"kind": "outcome", "id": 99, "rank": 1}\n')
    assert read_ledger(path) == whole


def test_what_cannot_be_found_is_said() -> None:
    with pytest.raises(InputError, match="no forecast was recorded yet"):
        find_entry([], None, None)
    with pytest.raises(InputError, match="there is no forecast 4; the last one is 1"):
        find_entry([entry(800, None)], 4, None)
    with pytest.raises(InputError, match=r"forecast 1 has no row 'H100'; it has 1 \(desk\)"):
        find_entry([entry(800, None)], None, "H100")
    with pytest.raises(InputError, match="say what happened"):
        outcome_now(NOW, "said", None, None, None)


@pytest.mark.parametrize("words", ["1", "desk", "rtx3090", "RTX3090:1"])
def test_a_row_goes_by_rank_machine_or_accelerator(words: str) -> None:
    assert find_entry([entry(800, None)], None, words).row.words == "desk"


def test_an_accelerator_that_stands_in_several_rows_is_asked_back() -> None:
    four = entry(3200, None, rank=1, words="4x desk", num_gpus=4.0)
    one = entry(800, None, rank=2, words="desk")
    with pytest.raises(InputError, match=r"--on 1 or 'RTX3090:1' says which of 1 \(4x desk\), 2 \(desk\)"):
        find_entry([four, one], None, "RTX3090")
    assert find_entry([four, one], None, "RTX3090:1") == one


def test_an_unreadable_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        read_ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        add_outcome(tmp_path, entry(1, None), outcome_now(NOW, "said", 1.0, None, None))


def test_errors_and_coverage() -> None:
    """800 forecast: 1,000 happened (-20 %, at the end of the interval), 400 (+100 %, outside), none."""
    found = checks([entry(800, 1000), entry(800, 400, 2), entry(800, None, 3)])
    assert [row.inside for row in found] == [True, False]
    (score,) = scores(found)
    assert score.outcomes == 2
    assert score.median_error == pytest.approx((0.2 + 1.0) / 2)
    assert score.bias == pytest.approx((math.log(0.8) + math.log(2)) / 2)
    assert score.coverage == 0.5


def test_outcomes_move_the_next_forecast_towards_them() -> None:
    machine = machine_from_spec("desk", "RTX3090", 1)
    model = StepModel(RESNET50._replace(batch_size_per_gpu=64))
    before = model.estimate(machine).samples_per_s
    assert before is not None
    taught = shipped_knowledge().with_references(references_of([entry(before.p50, 0.6 * before.p50)]))
    after = StepModel(RESNET50._replace(batch_size_per_gpu=64), taught).estimate(machine).samples_per_s
    assert after is not None
    assert 0.6 * before.p50 < after.p50 < 0.95 * before.p50


def test_outcomes_of_this_machine_are_held_against_its_measured_rates() -> None:
    """A card whose memory is half as fast, and a run that took what follows: nothing is left to learn."""
    machine = machine_from_spec("desk", "RTX3090", 1)
    assert machine.accelerator.bandwidth_bytes_per_s is not None
    copies = Measured(0.5 * 0.8 * machine.accelerator.bandwidth_bytes_per_s, 0.0)
    expected = rates_alone(Profile("profile.json", "2026-11-30", gpu=GpuRates({}, copies)), machine)
    asked = RESNET50._replace(batch_size_per_gpu=64)
    rate = StepModel(asked, expected(asked)).estimate(machine).samples_per_s
    assert rate is not None
    happened = [entry(rate.p50, rate.p50, is_this_machine=True)]
    (held,), (alone,) = references_of(happened, expected), references_of(happened)
    assert held.log_residual == pytest.approx(0.0, abs=1e-9)
    assert alone.log_residual < -0.1


@pytest.mark.parametrize(
    "row", [{"num_gpus": 0.0, "is_this_machine": True}, {"num_nodes": 4}, {"accelerator": "no such thing"}]
)
def test_what_says_nothing_of_other_machines_teaches_nothing(row: dict[str, Any]) -> None:
    assert references_of([entry(800, 400, **row)]) == []


def test_a_plan_says_that_outcomes_moved_it(world: World, path: Path) -> None:
    question = Question(gpus="A100:1")
    assert not any("recorded forecasts" in line for line in make_plan(RESNET50, question, world, NOW).assumptions)
    record_plan(make_plan(RESNET50, question, world, NOW), path)
    happened = outcome_now(NOW, "said", 900.0, None, None)
    add_outcome(path, find_entry(read_ledger(path), None, "1"), happened)
    taught = make_plan(RESNET50, question, world._replace(ledger=path), NOW)
    assert "1 outcome of recorded forecasts moved what is estimated (gpuplanner ledger)" in taught.assumptions


def test_a_plan_says_that_measurements_moved_it(world: World) -> None:
    question = Question(gpus="A100:1", measured=("RTX 3090=812", "A100=1500,fp16", "RTX 3090=812"))
    said = "your own measurement of RTX 3090=812 and A100=1500,fp16 samples/s moved what is estimated (--measured)"
    assert said in make_plan(RESNET50, question, world, NOW).assumptions


def test_outcomes_of_this_machines_cpu_are_runs_of_its_profile() -> None:
    (run,) = runs_here([entry(3, 2, num_gpus=0.0, is_this_machine=True), entry(800, 400)])
    assert (run.model, run.device, run.batch_size, run.step_time_s) == ("resnet50", "cpu", 64, 32.0)


def test_a_world_with_a_ledger_learns_from_it(world: World, path: Path) -> None:
    ask = Question(gpus="RTX3090", where=("workstation",))
    plan = make_plan(RESNET50, ask, world, NOW, by_machine=True)
    record_plan(plan, path)
    entries = read_ledger(path)
    row = find_entry(entries, None, "RTX3090")
    add_outcome(path, row, outcome_now(NOW, "said", 0.5 * row.row.samples_per_s.p50, None, None))
    again = make_plan(RESNET50, ask, open_world(LOCAL, ledger=path), NOW, by_machine=True)
    before, after = (
        next(one.samples_per_s for one in made.estimates if one.accelerator == "RTX3090") for made in (plan, again)
    )
    assert before is not None
    assert after is not None
    assert after.p50 < before.p50
