"""What is said when most machines are too small."""

from __future__ import annotations

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.presets import machine_from_spec
from planner.plan.candidates import Candidate, Tariff
from planner.plan.hint import fit_hint, flags_of
from planner.plan.search import Refusal
from planner.throughput.step import StepModel

LLAMA = resolve_experiment(ExperimentRequest("llama-3-8b", tokens=1e9))


def _refusal(gpu: str, count: int) -> Refusal:
    machine = machine_from_spec(f"{count}x {gpu}", gpu, count)
    candidate = Candidate(machine.name, "workstation", machine, Tariff(()), (None,))
    return Refusal(candidate, None, StepModel(LLAMA).estimate(machine), "too small")


def test_the_roomiest_machine_is_tried_with_every_lever() -> None:
    hint = fit_hint(LLAMA, [_refusal("T4", 1), _refusal("H100-SXM", 8)], ranked_count=1)
    assert hint is not None
    assert "8x H100-SXM would do with" in hint
    assert "--zero " in hint


def test_nothing_is_said_where_most_fit_or_nothing_helps() -> None:
    assert fit_hint(LLAMA, [_refusal("H100-SXM", 8)], ranked_count=2) is None
    assert fit_hint(LLAMA, [], ranked_count=0) is None
    assert fit_hint(LLAMA, [_refusal("GTX970", 1)], ranked_count=0) is None


def test_flags_turn_one_experiment_into_the_other() -> None:
    changed = LLAMA._replace(zero_stage=2, grad_checkpointing=True, optimizer="adamw8bit")
    assert flags_of(LLAMA, changed) == "--optimizer adamw8bit --grad-ckpt --zero 2"
    assert flags_of(LLAMA, LLAMA) == ""
