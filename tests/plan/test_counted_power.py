"""Energy that the hardware counted while training, in place of the parts' assumed power."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.cpus import cpu
from planner.hardware.local import FoundMachine
from planner.hardware.machine import Machine, cpu_machine
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import Profile, TrainingRun
from planner.plan.electricity import PSU_EFFICIENCY
from planner.plan.ownership import HOST_POWER_W, CountedPower, counted_power, wall_power_w
from planner.plan.planning import answer, written
from planner.plan.question import Question
from planner.plan.world import open_world
from planner.profiler.this_machine import find_this_machine

GPU = machine_from_spec("this machine", "RTX3090", 1)
CPU = cpu_machine(cpu("Zen3-Milan"), 16, 6.4e10, name="this machine")
NOW = datetime.now().astimezone()


def run(device: str = "cuda", **joules: Any) -> TrainingRun:
    return TrainingRun("resnet50", device, "amp", "sgd", 64, 0.5, 0.5, 0.5, 9, "", **joules)


def test_power_is_the_joules_of_a_step_over_its_seconds() -> None:
    runs = [run(processor_j_per_step=30.0, gpus_j_per_step=150.0), run(gpus_j_per_step=160.0), run("cpu")]
    assert counted_power(runs, GPU) == (60.0, 310.0)
    assert counted_power([run("cpu", processor_j_per_step=40.0), run(gpus_j_per_step=150.0)], CPU) == (80.0, None)


@pytest.mark.parametrize("runs", [[], [run()], [run("cpu", processor_j_per_step=40.0)]])
def test_nothing_counted_on_the_device_is_nothing_known(runs: list[TrainingRun]) -> None:
    assert counted_power(runs, GPU) is None


def test_counters_of_several_gpus_of_which_one_worked_say_nothing() -> None:
    assert counted_power([run(gpus_j_per_step=150.0)], GPU._replace(num_gpus=2)) is None


@pytest.mark.parametrize(
    ("machine", "counted", "by_hand"),
    [
        (GPU, CountedPower(None, 310.0), 310 + HOST_POWER_W["workstation"]),
        (GPU, CountedPower(60.0, 310.0), 310 + 60 + HOST_POWER_W["workstation"] / 2),
        (GPU, CountedPower(60.0, None), 350 + 60 + HOST_POWER_W["workstation"] / 2),
        (CPU, CountedPower(80.0, None), 80 + HOST_POWER_W["workstation"] / 2),
    ],
)
def test_what_was_counted_takes_the_place_of_what_was_assumed(
    machine: Machine, counted: CountedPower, by_hand: float
) -> None:
    assert GPU.accelerator.power_w == 350
    assert wall_power_w(machine, "workstation", counted=counted) == pytest.approx(by_hand / PSU_EFFICIENCY)


def test_the_estimates_energy_is_the_counted_one_and_says_so() -> None:
    asked = resolve_experiment(ExperimentRequest(model="resnet50", epochs=1.0))
    profile = Profile("profile.json", "2026-11-30", runs=(run(gpus_j_per_step=100.0),))
    world = open_world(find_this_machine())._replace(local=FoundMachine(GPU, "workstation", (), profile))
    plan = written(asked, answer(asked, Question(where=("workstation",)), world, NOW), NOW)
    row = next(row for row in plan.estimates if row.is_this_machine)
    hours = row.time_s.p50 / 3600 if row.time_s is not None else 0.0
    assert row.energy_kwh == pytest.approx(hours * (200 + 120) / PSU_EFFICIENCY / 1000)
    electricity = next(part for part in row.cost_parts if part.name == "electricity")
    assert "power counted by the GPU, the host assumed" in electricity.source
