"""How a workload is written down: the JSON record of the zoo and of the user's own files, an operation a row."""

from collections.abc import Mapping
from typing import Any

from planner.workloads.workload import Linear, Memory, Operation, Phase, Workload

MODEL_CONFIG = "config.json"
"""What a publisher's folder calls the description of a model."""

_PHASES: tuple[Phase, Phase] = ("forward", "backward")
_OPTIONAL_FIELDS = (
    "optimizer", "sample_unit", "image_size", "seq_length", "trainable_parameters", "embedding_parameters"
)  # fmt: skip


def parse_record(record: Mapping[str, Any]) -> Workload:
    """A workload from its JSON record (``to_record`` is the inverse)."""
    memory = record["memory"]
    return Workload(
        name=record["name"],
        task=record["task"],
        family=record["family"],
        parameters=record["parameters"],
        parameter_tensors=record["parameter_tensors"],
        operations=tuple(map(_operation, record["operations"])),
        memory_amp=_memory(memory["amp"]),
        memory_fp32=_memory(memory["fp32"]),
        default_dataset=record["default_dataset"],
        recipe_batch_size_per_gpu=record["recipe_batch_size_per_gpu"],
        max_global_batch_size=record["max_global_batch_size"],
        recipe_source=record["recipe_source"],
        source=record["source"],
        notes=tuple(record.get("notes", ())),
        **{field: record[field] for field in _OPTIONAL_FIELDS if field in record},
    )


def to_record(workload: Workload) -> dict[str, Any]:
    """The JSON record of a workload; fields at their defaults are left out."""
    record: dict[str, Any] = {
        "name": workload.name,
        "task": workload.task,
        "family": workload.family,
        "parameters": workload.parameters,
        "parameter_tensors": workload.parameter_tensors,
        "default_dataset": workload.default_dataset,
        "recipe_batch_size_per_gpu": workload.recipe_batch_size_per_gpu,
        "max_global_batch_size": workload.max_global_batch_size,
        "recipe_source": workload.recipe_source,
        "source": workload.source,
    }
    defaults = Workload._field_defaults
    for field in _OPTIONAL_FIELDS:
        value = getattr(workload, field)
        if value != defaults[field]:
            record[field] = value
    if workload.notes:
        record["notes"] = list(workload.notes)
    record["memory"] = {
        kind: [*memory.live_bytes, *memory.saved_bytes]
        for kind, memory in (("amp", workload.memory_amp), ("fp32", workload.memory_fp32))
    }
    record["operations"] = list(map(_row, workload.operations))
    return record


def _row(op: Operation) -> list[Any]:
    """Eleven values, and the stride where it is not 1."""
    row = [op.op_class, _PHASES.index(op.phase), *op[2:6], *op.flops, *op.bytes, op.kernels]
    return row if op.stride == 1 else [*row, op.stride]


def _operation(row: list[Any]) -> Operation:
    op_class, phase, element_bytes, width, groups, kernel_size, flops, flops_each, moved, moved_each, *rest = row
    return Operation(
        op_class,
        _PHASES[phase],
        element_bytes,
        width,
        groups,
        kernel_size,
        Linear(flops, flops_each),
        Linear(moved, moved_each),
        *rest,
    )


def _memory(values: list[float]) -> Memory:
    return Memory(Linear(values[0], values[1]), Linear(values[2], values[3]))
