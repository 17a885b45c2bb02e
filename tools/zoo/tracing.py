"""From a spec to a record, with a cache outside the repository so that an interrupted build goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from planner.workloads.catalog import to_record
from planner.workloads.torch_trace import LinearRow, WorkloadTrace, trace_workload
from planner.workloads.workload import Linear, Memory, Operation, Workload
from tools.zoo.spec import Spec

TRACER_VERSION = 1  # raise when torch_trace counts differently: cached traces of older versions are made again
SIGNIFICANT_DIGITS = 4


def workload_of(spec: Spec, cache_dir: Path) -> Workload:
    """The traced workload of a spec, from the cache where the tracer and the spec are unchanged."""
    return _assemble(spec, _cached_trace(spec, cache_dir))


def _cached_trace(spec: Spec, cache_dir: Path) -> WorkloadTrace:
    path = cache_dir / f"{spec.name.replace('/', '--')}.json"
    stamp = [TRACER_VERSION, spec.source, list(spec.batches), spec.pure_half]
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["stamp"] == stamp:
            return _trace_from_json(stored["trace"])
    trace = _trace(spec)
    cache_dir.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"stamp": stamp, "trace": trace._asdict()}), encoding="utf-8")
    temporary.replace(path)
    return trace


def _trace(spec: Spec) -> WorkloadTrace:
    step = spec.build()
    return trace_workload(step.model, step.make_inputs, step.loss, spec.batches, pure_half=spec.pure_half)


def _trace_from_json(stored: dict[str, Any]) -> WorkloadTrace:
    rows = [LinearRow(*row[:6], tuple(row[6]), tuple(row[7]), row[8]) for row in stored["rows"]]
    lines = {key: tuple(value) for key, value in stored.items() if isinstance(value, list) and key != "rows"}
    return WorkloadTrace(**{**stored, **lines, "rows": rows})


def _assemble(spec: Spec, trace: WorkloadTrace) -> Workload:
    recipe = spec.recipe
    frozen = trace.trainable_parameters != trace.parameters
    return Workload(
        name=spec.name,
        task=spec.task,
        family=spec.family,
        parameters=trace.parameters,
        parameter_tensors=trace.parameter_tensors,
        operations=tuple(_operation(row) for row in trace.rows),
        memory_amp=Memory(_line(trace.amp_live), _line(trace.amp_saved)),
        memory_fp32=Memory(_line(trace.fp32_live), _line(trace.fp32_saved)),
        default_dataset=recipe.dataset,
        recipe_batch_size_per_gpu=recipe.batch_size_per_gpu,
        max_global_batch_size=recipe.max_global_batch_size,
        recipe_source=recipe.source,
        source=spec.source,
        optimizer=recipe.optimizer,
        trainable_parameters=trace.trainable_parameters if frozen else None,
        embedding_parameters=trace.embedding_parameters,
        notes=spec.notes,
        **spec.extras,
    )


def _operation(row: LinearRow) -> Operation:
    phase = "forward" if row.phase == "forward" else "backward"
    width = _rounded(row.width)
    return Operation(
        row.op_class, phase, row.element_bytes, width, row.groups, row.kernel_size,
        _line(row.flops), _line(row.bytes), row.kernels,
    )  # fmt: skip


def _line(pair: tuple[float, float]) -> Linear:
    return Linear(*map(_rounded, pair))


def _rounded(value: float) -> float:
    """Four significant digits, an integer where it is one."""
    rounded = float(f"{value:.{SIGNIFICANT_DIGITS - 1}e}")
    return int(rounded) if rounded.is_integer() else rounded


def record_line(workload: Workload) -> str:
    """One compact JSON line; round counts in the step's rows as '4446e4', the shortest form JSON allows."""
    record = to_record(workload)
    memory, operations = record.pop("memory"), record.pop("operations")
    head = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    memory_text = ",".join(f'"{kind}":{_dump(values)}' for kind, values in memory.items())
    return f'{head[:-1]},"memory":{{{memory_text}}},"operations":{_dump(operations)}}}\n'


def _dump(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_dump, value)) + "]"
    if isinstance(value, int) and value:
        stripped = str(value).rstrip("0")
        zeros = len(str(value)) - len(stripped)
        return f"{stripped}e{zeros}" if zeros > 2 else str(value)
    return json.dumps(value)


def use_one_thread() -> None:
    torch.set_num_threads(1)
