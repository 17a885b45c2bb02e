"""From a spec to a record, with a cache outside the repository: an interrupted build goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from planner.workloads.compaction import StepPair, compacted, memory_of, operations_of
from planner.workloads.record import to_record
from planner.workloads.torch_trace import trace_model
from planner.workloads.workload import Linear, Memory, Operation, Workload
from tools.zoo.spec import Spec

TRACER_VERSION = 5  # raise when torch_trace counts differently: cached traces of older versions are made again
SIGNIFICANT_DIGITS = 4


class Traced(NamedTuple):
    """What a trace tells of a model, compacted; recipe, data set and names come from the spec."""

    parameters: int
    trainable_parameters: int
    embedding_parameters: int
    parameter_tensors: int
    operations: list[Operation]
    memory_amp: Memory
    memory_fp32: Memory


def workload_of(spec: Spec, cache_dir: Path) -> Workload:
    """The traced workload of a spec, from the cache where the tracer and the spec are unchanged."""
    path = cache_dir / f"{spec.name.replace('/', '--')}.json"
    stamp = [TRACER_VERSION, spec.source, list(spec.batches), spec.pure_half]
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["stamp"] == stamp:
            return _assemble(spec, _from_json(stored["traced"]))
    traced = trace(spec)
    cache_dir.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"stamp": stamp, "traced": traced}), encoding="utf-8")
    temporary.replace(path)
    return _assemble(spec, traced)


def trace(spec: Spec) -> Traced:
    """Build the model on the meta device and trace its step at the spec's two batch sizes."""
    step = spec.build()
    raw = trace_model(step.model, step.make_inputs, step.loss, spec.batches, pure_half=spec.pure_half)
    amp, fp32 = StepPair(spec.batches, *raw.amp), StepPair(spec.batches, *raw.fp32)
    return Traced(*raw[:4], compacted(operations_of(amp)), memory_of(amp), memory_of(fp32))


def _from_json(stored: list[Any]) -> Traced:
    operations = [Operation(*row[:6], Linear(*row[6]), Linear(*row[7]), *row[8:]) for row in stored[4]]
    memory = [Memory(*(Linear(*line) for line in lines)) for lines in stored[5:]]
    return Traced(*stored[:4], operations, *memory)


def _assemble(spec: Spec, traced: Traced) -> Workload:
    recipe = spec.recipe
    frozen = traced.trainable_parameters != traced.parameters
    return Workload(
        name=spec.name,
        task=spec.task,
        family=spec.family,
        parameters=traced.parameters,
        parameter_tensors=traced.parameter_tensors,
        operations=tuple(map(_rounded_operation, traced.operations)),
        memory_amp=_rounded_memory(traced.memory_amp),
        memory_fp32=_rounded_memory(traced.memory_fp32),
        default_dataset=recipe.dataset,
        recipe_batch_size_per_gpu=recipe.batch_size_per_gpu,
        max_global_batch_size=recipe.max_global_batch_size,
        recipe_source=recipe.source,
        source=spec.source,
        optimizer=recipe.optimizer,
        trainable_parameters=traced.trainable_parameters if frozen else None,
        embedding_parameters=traced.embedding_parameters,
        notes=spec.notes,
        **spec.extras,
    )


def _rounded_operation(op: Operation) -> Operation:
    return op._replace(width=_rounded(op.width), flops=_rounded_line(op.flops), bytes=_rounded_line(op.bytes))


def _rounded_memory(memory: Memory) -> Memory:
    return Memory(*map(_rounded_line, memory))


def _rounded_line(line: Linear) -> Linear:
    return Linear(*map(_rounded, line))


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
