"""The launchers by name."""

from __future__ import annotations

from collections.abc import Callable

from planner.handoff.dstack import dstack_task
from planner.handoff.launch import Launch
from planner.handoff.scripts import bash_script, slurm_script
from planner.handoff.skypilot import skypilot_task

FORMATS: dict[str, Callable[[Launch], str]] = {
    "skypilot": skypilot_task,
    "dstack": dstack_task,
    "slurm": slurm_script,
    "bash": bash_script,
}
FILE_NAMES = {"skypilot": "task.sky.yaml", "dstack": "task.dstack.yml", "slurm": "train.sbatch", "bash": "train.sh"}
