"""From a request to a result, both JSON files: make the model, run its step on tensors without data, write rows.

The user's code runs with an argv of its own file only and without a GPU; what it prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..torch_trace import ModelTrace, StepTrace, trace_model
from .depth import equal_layers, trace_by_depth
from .devices import STAGES, Stage, move
from .errors import CannotTraceError, is_data_dependent, sentence
from .libraries import data_questions_answered
from .models import Made, found, library_input, made
from .step import InputRow, Loss, UserStep

IMAGE_BATCHES = (32, 64)  # the peak of memory is convex in the batch: traced where such models are trained
SEQUENCE_BATCHES = (16, 32)


def main(request_path: str, result_path: str) -> None:
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    try:
        result = traced(request)
    except CannotTraceError as error:
        result = {"error": {"stage": error.stage, "message": str(error)}}
    Path(result_path).write_text(json.dumps(result), encoding="utf-8")


def traced(request: dict[str, Any]) -> dict[str, Any]:
    """The result of a request: ``target``, ``inputs`` ([name, dtype, shape] each), ``options``, ``loss``."""
    target: str = request["target"]
    value = found(target)
    loss = found(f"{target.rpartition(':')[0]}:{request['loss']}") if request.get("loss") else None
    model = made(value, request["options"])
    model = model._replace(loss=loss if loss is not None else model.loss)
    rows = _input_rows(request["inputs"], target, model.model)
    batches = SEQUENCE_BATCHES if any(row.dtype == "int64" for row in rows) else IMAGE_BATCHES
    trace, notes = _first_that_runs(model, rows, batches)
    parameters = list(model.model.parameters())
    return {
        "torch": torch.__version__.partition("+")[0],
        "inputs": [list(row) for row in rows],
        "batches": batches,
        "parameters": sum(weight.numel() for weight in parameters),
        "trainable_parameters": sum(weight.numel() for weight in parameters if weight.requires_grad),
        "embedding_parameters": trace.embedding_parameters,
        "parameter_tensors": sum(weight.requires_grad for weight in parameters),
        "amp": [_as_json(step) for step in trace.amp],
        "fp32": [_as_json(step) for step in trace.fp32],
        "notes": [*model.notes, *notes],
    }


def _input_rows(given: list[list[Any]], target: str, model: nn.Module) -> list[InputRow]:
    """What the user said; else what the library trains on, or the example that a LightningModule carries."""
    if given:
        return [InputRow(name, dtype, tuple(shape)) for name, dtype, shape in given]
    shape = library_input(target)
    if shape is None and target.startswith("torchvision/"):
        shape = (3, 224, 224)
    if shape is not None:
        return [InputRow(None, "float32", shape)]
    example = getattr(model, "example_input_array", None)
    if isinstance(example, torch.Tensor):
        return [InputRow(None, str(example.dtype).removeprefix("torch."), tuple(example.shape[1:]))]
    raise CannotTraceError(
        "input", "say what it takes, without the batch: --input 3x224x224, or --inputs 'ids:int64:128'"
    )


def _first_that_runs(made_model: Made, rows: list[InputRow], batches: tuple[int, int]) -> tuple[ModelTrace, list[str]]:
    """The trace by the first stage and loss that work, and what to say of them. Raises CannotTraceError.

    The error told is the first stage's for the loss that came furthest: the last one tried.
    """
    failures: list[BaseException] = []
    for stage in STAGES:
        with stage.open(), optimizers_at_rest(), data_questions_answered():
            move(made_model.model, stage.device)
            step = UserStep(made_model.model, made_model.loss, rows, stage.device)
            for name, loss in step.losses():
                try:
                    trace = _trace(made_model.model, step, loss, batches)
                except CannotTraceError:
                    raise
                except (Exception, SystemExit) as error:
                    failures.append(error)
                else:
                    return trace, _notes(stage, name or step.said)
    raise CannotTraceError("step", _why_not(failures))


def _notes(stage: Stage, loss: str) -> list[str]:
    notes = [f"loss: {loss}"]
    return notes if stage is STAGES[0] else [*notes, f"traced on {stage.name}"]


def _why_not(failures: list[BaseException]) -> str:
    dependent = next((error for error in failures if is_data_dependent(error)), None)
    if dependent is not None:
        return f"its work depends on the values of its tensors, which a trace does not have: {sentence(dependent)}"
    return f"its training step fails: {sentence(failures[0])}"


def _trace(model: nn.Module, step: UserStep, loss: Loss, batches: tuple[int, int]) -> ModelTrace:
    def trace() -> ModelTrace:
        return trace_model(model, step.inputs, loss, batches)

    stack = equal_layers(model)
    continued = None
    if stack is not None:
        with contextlib.suppress(Exception):  # a model that counts its layers elsewhere: trace them all
            continued = trace_by_depth(stack, trace)
    if continued is None:
        return trace()
    tables = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    return continued._replace(embedding_parameters=sum(table.numel() for table in tables))


@contextlib.contextmanager
def optimizers_at_rest() -> Iterator[None]:
    """An optimizer's work is computed from the parameters, not traced: ``step`` does nothing meanwhile."""
    kinds = list(_subclasses(torch.optim.Optimizer))
    originals = [(kind, kind.__dict__["step"]) for kind in kinds if "step" in kind.__dict__]
    for kind, _ in originals:
        kind.step = lambda *_, **__: None  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        for kind, original in originals:
            kind.step = original  # type: ignore[method-assign]


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _as_json(step: StepTrace) -> dict[str, Any]:
    return {"rows": step.rows, "peak_live_bytes": step.peak_live_bytes, "saved_bytes": step.saved_bytes}
