"""A SkyPilot task: YAML for ``sky launch``, or for ``sky jobs launch`` where a spot machine must be recovered."""

from __future__ import annotations

from planner.handoff.launch import (
    EDIT,
    IDLE_MINUTES,
    MEMORY_MARGIN,
    Launch,
    heading,
    script_arguments,
    script_name,
    torchrun,
)
from planner.handoff.names import REGIONS_ALIKE, SKYPILOT_CLOUDS, known_cloud, skypilot_accelerator
from planner.handoff.yaml_text import quoted
from planner.plan.words import place_of_offer
from planner.units import GIB


def skypilot_task(row: Launch) -> str:
    """The task. Raises InputError for a provider that SkyPilot has no cloud for."""
    command = "sky jobs launch" if row.is_spot else "sky launch"
    lines = [
        *heading(row),
        f"# Start it: {command} -n {row.name} THIS_FILE",
        f"name: {row.name}",
        "resources:",
        *(f"  {line}" for line in _resources(row)),
        f"num_nodes: {row.estimate.num_nodes}",
        f"workdir: .  {EDIT}: the folder with your code",
        "envs:",
        f"  TRAIN_SCRIPT: {script_name()}  {EDIT}",
        f"  TRAIN_ARGS: {quoted(script_arguments(row))}  {EDIT}: as your script spells them",
        *_checkpoints(row),
        "setup: |",
        f"  pip install torch torchvision  {EDIT}: what your code needs, with versions",
        "run: |",
        *_master(row),
        f"  {torchrun(row, '$SKYPILOT_NUM_NODES', '$SKYPILOT_NODE_RANK', '$MASTER')}",
    ]
    return "\n".join(lines) + "\n"


def _master(row: Launch) -> list[str]:
    return [] if row.estimate.num_nodes == 1 else ['  MASTER=$(echo "$SKYPILOT_NODE_IPS" | head -n 1)']


def _resources(row: Launch) -> list[str]:
    estimate = row.estimate
    lines = [_infra(row), *_accelerators(row), *_host(row), f"disk_size: {row.disk_gb}  # GB a node"]
    if row.is_spot:
        lines += ["use_spot: true", "job_recovery:", "  strategy: FAILOVER", "  max_restarts_on_errors: 0"]
    elif estimate.provider is not None:
        lines.append("use_spot: false")
    if estimate.provider is not None:
        lines += [
            f"autostop:  # the run itself ends after {row.limit_minutes} minutes at the latest (P90)",
            f"  idle_minutes: {IDLE_MINUTES}",
            "  down: true",
        ]
    return lines


def _infra(row: Launch) -> str:
    """Where: cloud, region and zone, or a pool of own machines reached by SSH."""
    estimate = row.estimate
    if estimate.provider is None:
        return f"infra: ssh  {EDIT}: ssh/POOL, your node pool (~/.sky/ssh_node_pools.yaml)"
    cloud = known_cloud(estimate.provider, SKYPILOT_CLOUDS, "SkyPilot")
    parts = [cloud]
    if row.region is not None and estimate.provider in REGIONS_ALIKE:
        parts.append(row.region)
        zone = place_of_offer(estimate.region, estimate.zone)
        if zone is not None and zone != row.region:
            parts.append(zone)
    return f"infra: {'/'.join(parts)}"


def _accelerators(row: Launch) -> list[str]:
    estimate = row.estimate
    if estimate.num_gpus == 0:
        return []
    name = skypilot_accelerator(estimate.accelerator, estimate.instance_type)
    if name.startswith("tpu-"):
        runtime = f"  runtime_version: tpu-ubuntu2204-base  {EDIT}: the runtime of this TPU generation"
        return [f"accelerators: {name}:1", "accelerator_args:", runtime]
    return [f"accelerators: {name}:{estimate.num_gpus:g}"]


def _host(row: Launch) -> list[str]:
    """The host's size, which tells instance types with the same accelerators apart."""
    machine = row.candidate.machine
    if row.estimate.provider is None or machine.accelerator.stack == "xla":
        return []
    lines = [f"# instance_type: {row.estimate.instance_type}  (to allow no other)"]
    if machine.vcpus is not None:
        lines.append(f"cpus: {machine.vcpus:g}+")
    if machine.ram_bytes is not None:
        lines.append(f"memory: {int(machine.ram_bytes / GIB * MEMORY_MARGIN)}+")
    return lines


def _checkpoints(row: Launch) -> list[str]:
    """Where checkpoints survive the machine: a bucket that only the user can name."""
    if row.estimate.provider is None:
        return []
    why = "a spot machine's disk goes with it" if row.is_spot else "the machine's disk goes with it"
    return [
        f"# {why}: mount a bucket of yours and write checkpoints there",
        "# file_mounts:",
        "#   /checkpoints:",
        f"#     name: my-checkpoints  {EDIT}",
        "#     mode: MOUNT",
    ]
