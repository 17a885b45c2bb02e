"""The flags that make an experiment fit."""

from __future__ import annotations

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.presets import machine_from_spec
from planner.plan.hint import fitting_flags, flags_of

LLAMA = resolve_experiment(ExperimentRequest("llama-3-8b", tokens=1e9))


def test_flags_that_train_the_same_weights_come_first() -> None:
    flags = fitting_flags(LLAMA, machine_from_spec("8x H100", "H100-SXM", 8))
    assert any("--zero " in one for one in flags)
    assert not any("--lora-rank" in one or "--optimizer" in one for one in flags[:2])
    assert fitting_flags(LLAMA, machine_from_spec("GTX 970", "GTX970", 1)) == []


def test_flags_turn_one_experiment_into_the_other() -> None:
    changed = LLAMA._replace(zero_stage=2, grad_checkpointing=True, optimizer="adamw8bit")
    assert flags_of(LLAMA, changed) == "--optimizer adamw8bit --grad-ckpt --zero 2"
    assert flags_of(LLAMA, LLAMA) == ""
