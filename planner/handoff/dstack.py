"""A dstack task: YAML for ``dstack apply -f``."""

from __future__ import annotations

from planner.errors import InputError
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
from planner.handoff.names import DSTACK_BACKENDS, REGIONS_ALIKE, dstack_accelerator, known_cloud
from planner.handoff.yaml_text import quoted
from planner.units import GIB

_DAY_S = 86400


def dstack_task(row: Launch) -> str:
    """The task. Raises InputError for a provider that dstack has no backend for, and for a share of a GPU."""
    estimate = row.estimate
    if 0 < estimate.num_gpus < 1:
        raise InputError(f"dstack rents whole GPUs, and {estimate.instance_type} has a share of one: use --to bash")
    lines = [
        *heading(row),
        "# Start it: dstack apply -f THIS_FILE",
        "type: task",
        f"name: {row.name}",
        f"nodes: {estimate.num_nodes}",
        'python: "3.12"',
        f"repos: [.]  {EDIT}: the folder with your code",
        "env:",
        f"  - TRAIN_SCRIPT={script_name()}  {EDIT}",
        f"  - {quoted(f'TRAIN_ARGS={script_arguments(row)}')}  {EDIT}: as your script spells them",
        "commands:",
        f"  - pip install torch torchvision  {EDIT}: what your code needs, with versions",
        f"  - {torchrun(row, '$DSTACK_NODES_NUM', '$DSTACK_NODE_RANK', '$DSTACK_MASTER_NODE_IP')}",
        *_where(row),
        *_how_long(row),
        "resources:",
        *(f"  {line}" for line in _resources(row)),
    ]
    return "\n".join(lines) + "\n"


def _where(row: Launch) -> list[str]:
    estimate = row.estimate
    if estimate.provider is None:
        return [f"fleets: [my-fleet]  {EDIT}: the SSH fleet that has {row.candidate.name}"]
    lines = [f"backends: [{known_cloud(estimate.provider, DSTACK_BACKENDS, 'dstack')}]"]
    if estimate.provider in REGIONS_ALIKE and row.region is not None:
        lines.append(f"regions: [{row.region}]")
    if _has_a_plain_type(row):
        lines.append(f"instance_types: [{estimate.instance_type}]")
    return [*lines, f"spot_policy: {'spot' if row.is_spot else 'on-demand'}"]


def _has_a_plain_type(row: Launch) -> bool:
    """Whether the cloud has the machine under our name: a TPU slice or a composed N1 machine it has not."""
    name = row.estimate.instance_type or ""
    return row.estimate.provider in REGIONS_ALIKE and not name.startswith("tpu-") and "+" not in name


def _how_long(row: Launch) -> list[str]:
    """The P90 ends the run; a spot machine that is taken away is replaced, with checkpoints the user must keep."""
    lines = [f"max_duration: {row.limit_minutes}m  # P90"]
    if row.estimate.provider is not None:
        lines.append(f"idle_duration: {IDLE_MINUTES}m")
    if row.is_spot:
        days = max(1, -(-row.limit_s // _DAY_S))
        lines += ["retry:", "  on_events: [no-capacity, interruption]", f"  duration: {days}d"]
        lines.append(f"# volumes: [my-checkpoints:/checkpoints]  {EDIT}: a spot machine's disk goes with it")
    return lines


def _resources(row: Launch) -> list[str]:
    machine = row.candidate.machine
    lines = [f"gpu: {_gpu(row)}", f"disk: {row.disk_gb}GB.."]
    if row.estimate.provider is None or _has_a_plain_type(row):
        return lines
    if machine.vcpus is not None:
        lines.append(f"cpu: {int(machine.vcpus)}..")
    if machine.ram_bytes is not None:
        lines.append(f"memory: {int(machine.ram_bytes / GIB * MEMORY_MARGIN)}GB..")
    return lines


def _gpu(row: Launch) -> str:
    """'A100:80GB:8'; a TPU slice by its name, a GPU that dstack has no name for by its count only."""
    estimate = row.estimate
    if estimate.num_gpus == 0:
        return "0"
    name = dstack_accelerator(estimate.accelerator, estimate.instance_type)
    if row.has_several_hosts:
        raise InputError(f"dstack rents TPUs of one host; {estimate.instance_type} has several: try --to skypilot")
    if (estimate.instance_type or "").startswith("tpu-"):
        return name
    return ":".join([*([name] if name else []), f"{estimate.num_gpus:g}"])
