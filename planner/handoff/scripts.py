"""Shell scripts: a Slurm batch job, and a plain script to start on each machine by hand."""

from __future__ import annotations

import shlex

from planner.handoff.launch import EDIT, Launch, heading, script_arguments, script_name, torchrun

_REQUEUE_SIGNAL_S = 120
"""Slurm sends the signal that long before the time limit, for a last checkpoint."""


def slurm_script(row: Launch) -> str:
    """For ``sbatch``: nodes, GPUs, CPUs and the time limit from the P90, requeued where a node is taken away."""
    estimate, machine = row.estimate, row.candidate.machine
    options = [
        f"--job-name={row.name}",
        f"--nodes={estimate.num_nodes}",
        "--ntasks-per-node=1",
        *([] if estimate.num_gpus == 0 else [f"--gpus-per-node={max(1, int(estimate.num_gpus))}"]),
        *([] if machine.vcpus is None else [f"--cpus-per-task={max(1, int(machine.vcpus))}"]),
        f"--time={_slurm_time(row.limit_s)}",
        "--requeue",
        f"--signal=TERM@{_REQUEUE_SIGNAL_S}",
        f"--output={row.name}-%j.log",
        "--open-mode=append",
    ]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        f"##SBATCH --partition=PARTITION  {EDIT}: remove a # and name the partition that has {estimate.accelerator}",
        f"##SBATCH --account=ACCOUNT  {EDIT}: the same, where your cluster asks for one",
        *heading(row),
        "# Start it: sbatch THIS_FILE",
        "set -euo pipefail",
        *_settings(row),
        *_master(row),
        f"srun {torchrun(row, '$SLURM_JOB_NUM_NODES', None, '$MASTER')}",
    ]
    return "\n".join(lines) + "\n"


def bash_script(row: Launch) -> str:
    """For one shell on each machine; it stops at the P90 and, on a rented machine, offers to shut it down."""
    estimate = row.estimate
    lines = ["#!/usr/bin/env bash", *heading(row), "set -euo pipefail", *_settings(row)]
    if estimate.num_nodes > 1:
        lines += [
            f"# On each of the {estimate.num_nodes} machines: NODE_RANK=0 MASTER=ADDRESS_OF_THE_FIRST bash THIS_FILE",
            f': "${{NODE_RANK:?0 to {estimate.num_nodes - 1}, another on each machine}}"',
            ': "${MASTER:?address of the machine with NODE_RANK 0}"',
        ]
    if row.has_several_hosts:
        lines += [
            f"# The slice has several hosts, and each must start this at once. {EDIT[2:]}: its name and zone",
            "# gcloud compute tpus tpu-vm ssh NAME --zone ZONE --worker=all --command 'bash THIS_FILE'",
        ]
    if estimate.provider is not None:
        lines += [
            f"# A rented machine costs until it is gone. {EDIT[2:]}: uncomment to shut it down however this ends.",
            "# trap 'sudo shutdown -h +1' EXIT",
        ]
    lines.append(torchrun(row, str(estimate.num_nodes), '"$NODE_RANK"', "$MASTER"))
    return "\n".join(lines) + "\n"


def _master(row: Launch) -> list[str]:
    if row.estimate.num_nodes == 1:
        return []
    return ['MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)']


def _settings(row: Launch) -> list[str]:
    return [
        f"export TRAIN_SCRIPT={script_name()}  {EDIT}",
        f"TRAIN_ARGS={shlex.quote(script_arguments(row))}  {EDIT}: as your script spells them",
    ]


def _slurm_time(seconds: int) -> str:
    """D-HH:MM:SS."""
    days, rest = divmod(seconds, 86400)
    return f"{days}-{rest // 3600:02d}:{rest % 3600 // 60:02d}:00"
