"""Trace a model of the user's own: run ``user_trace`` in their interpreter, read what it saw, make a workload of it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, PlannerError
from planner.workloads.compaction import StepPair, compacted, memory_of, operations_of
from planner.workloads.own_recipe import assumed_recipe
from planner.workloads.reading import read_json_object
from planner.workloads.workload import Workload

CHILD = Path(__file__).parent / "user_trace" / "__main__.py"
LIBRARIES = ("timm", "torchvision")
DTYPES = ("float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
WAYS_ON = (
    "; ways on: --params, --flops-per-sample and --activation-bytes instead of a model, or a rate you measured "
    "(--measured) for a model of the zoo that is like it"
)
_MAX_RESULT_BYTES = 1 << 28
_MAX_ELEMENTS = 1 << 40


class TracedInput(NamedTuple):
    """One input of the model: the user's name for it or None, its dtype and its shape without the batch."""

    name: str | None
    dtype: str
    shape: tuple[int, ...]


class TraceRequest(NamedTuple):
    """What to trace: ``target`` as the user wrote it, arguments for its maker, which attribute is its loss."""

    target: str
    inputs: tuple[TracedInput, ...] = ()
    options: Mapping[str, Any] = {}
    loss: str | None = None
    python: str | None = None
    timeout_s: float = 600.0


class _Step(NamedTuple):
    """One traced step as the child wrote it (``compaction.TracedStep``)."""

    rows: list[list[Any]]
    peak_live_bytes: float
    saved_bytes: float


def parse_inputs(text: str) -> tuple[TracedInput, ...]:
    """'3x224x224' or 'ids:int64:128,mask:bool:128' ('label:int64' for one number a sample). Raises InputError."""
    inputs = tuple(_parse_input(part.strip()) for part in text.split(","))
    names = [given.name for given in inputs if given.name]
    if len(set(names)) != len(names):
        raise InputError(f"two inputs of {text!r} have the same name")
    return inputs


def _parse_input(text: str) -> TracedInput:
    parts = text.split(":")
    if len(parts) == 1:
        return TracedInput(None, "float32", _shape(text, text))
    if parts[0] in DTYPES and len(parts) == 2:
        return TracedInput(None, parts[0], _shape(parts[1], text))
    name, dtype, *shape = parts
    if not name.isidentifier() or dtype not in DTYPES or len(shape) > 1:
        raise InputError(
            f"cannot read the input {text!r}; write 3x224x224 or NAME:DTYPE:SHAPE, DTYPE one of {', '.join(DTYPES)}"
        )
    return TracedInput(name, dtype, _shape(shape[0], text) if shape and shape[0] else ())


def _shape(text: str, whole: str) -> tuple[int, ...]:
    sizes = text.lower().split("x")
    if not all(size.isascii() and size.isdigit() and 0 < len(size) < 10 for size in sizes):
        raise InputError(f"cannot read the shape in {whole!r}; write sizes without the batch, such as 3x224x224 or 128")
    shape = tuple(map(int, sizes))
    elements = 1
    for size in shape:
        elements *= size
    if not 0 < elements <= _MAX_ELEMENTS:
        raise InputError(f"the input {whole!r} has {elements:,} elements a sample; it may have 1 to {_MAX_ELEMENTS:,}")
    return shape


def checked_target(target: str) -> str:
    """The target as the child takes it. Raises InputError for what can name no model."""
    source, colon, attribute = target.rpartition(":")
    if not colon:
        return _library_target(target)
    if not source or not all(part.isidentifier() for part in attribute.split(".")):
        raise InputError(f"cannot read {target!r}; write path/to/model.py:build_model or package.module:build_model")
    if source.endswith(".py"):
        if not Path(source).is_file():
            raise InputError(f"there is no file {source!r}")
    elif Path(source).is_file() or not all(part.isidentifier() for part in source.split(".")):
        raise InputError(f"{source!r} is neither a .py file nor a module's name")
    elif Path(source).is_dir() and next(Path(source).glob("*.py"), None) is None:
        raise InputError(f"the folder {source!r} has no .py file, so no {attribute!r}")
    return target


def _library_target(target: str) -> str:
    library, _, name = target.partition("/")
    if library in LIBRARIES and name:
        return target
    if target.endswith(".py"):
        raise InputError(f"say what in {target!r} makes the model: {target}:build_model")
    if "/" in target or not target or Path(target).exists() or target.lower().endswith((".json", ".onnx")):
        raise InputError(f"cannot read {target!r}; write path/to/model.py:build_model, timm/NAME or torchvision/NAME")
    return f"timm/{target}"


def interpreter(python: str | None) -> str:
    """The Python to run: the given one, else this one where it has torch, else the first ``python`` on the path."""
    if python is not None:
        found = shutil.which(os.path.expanduser(python))
        if found is None:
            raise InputError(f"--python: there is no program {python!r}")
        return found
    from importlib.util import find_spec

    if find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


def trace(request: TraceRequest) -> Workload:
    """Run the user's code and trace one training step of its model.

    Raises InputError where the model cannot be found, made or traced, PlannerError where the interpreter fails.
    """
    target = checked_target(request.target)
    asked = {
        "target": target,
        "inputs": [[*given] for given in request.inputs],
        "options": dict(request.options),
        "loss": request.loss,
    }
    with tempfile.TemporaryDirectory(prefix="gpuplanner-trace-") as folder:
        question, answer = Path(folder) / "request.json", Path(folder) / "result.json"
        question.write_text(json.dumps(asked), encoding="utf-8")
        python = interpreter(request.python)
        said = _run([python, str(CHILD), str(question), str(answer)], request.timeout_s)
        if not answer.exists():
            raise _failure(python, said)
        result = read_json_object(answer, "trace's result", _MAX_RESULT_BYTES)
    if "error" in result:
        ways_on = WAYS_ON if result["error"]["stage"] == "step" else ""
        raise InputError(f"cannot trace {request.target}: {result['error']['message']}{ways_on}")
    try:
        return workload_of(request, result)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise PlannerError(f"the trace's result cannot be used: {type(error).__name__}: {error}") from error


def _run(command: list[str], timeout_s: float) -> str:
    """Run the child without a GPU; what it and the user's code printed is returned."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PlannerError(f"the trace took longer than {timeout_s:g} s and was stopped (--timeout)") from error
    except OSError as error:
        raise InputError(f"cannot run {command[0]}: {error.strerror or error}") from error
    return done.stdout.decode("utf-8", "replace")


def _failure(python: str, said: str) -> PlannerError:
    """The interpreter ended without a result: most often it has no torch."""
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
    if "No module named 'torch'" in last:
        return InputError(f"{python} has no torch: name the Python that you train with, --python venv/bin/python")
    return PlannerError(f"the trace ended without a result: {last[:300]}")


def workload_of(request: TraceRequest, result: Mapping[str, Any]) -> Workload:
    """The workload in a child's result. Raises InputError where the step is not linear in the batch."""
    amp, fp32 = _steps(result, "amp"), _steps(result, "fp32")
    try:
        operations = compacted(operations_of(amp))
    except ValueError as error:
        raise InputError(f"cannot trace {request.target}: {error}{WAYS_ON}") from error
    inputs = [TracedInput(name, dtype, tuple(shape)) for name, dtype, shape in result["inputs"]]
    image_size, seq_length = sizes_of(inputs)
    recipe = assumed_recipe(image_size, seq_length)
    frozen = result["trainable_parameters"] != result["parameters"]
    return Workload(
        name=name_of(request.target),
        task="own model",
        family="own",
        parameters=result["parameters"],
        parameter_tensors=result["parameter_tensors"],
        operations=tuple(operations),
        memory_amp=memory_of(amp),
        memory_fp32=memory_of(fp32),
        default_dataset=None,
        recipe_batch_size_per_gpu=recipe.batch_size_per_gpu,
        max_global_batch_size=recipe.max_global_batch_size,
        recipe_source=recipe.source,
        source=f"{request.target}, traced with torch {result['torch']}",
        optimizer=recipe.optimizer,
        sample_unit=recipe.sample_unit,
        image_size=image_size,
        seq_length=seq_length,
        trainable_parameters=result["trainable_parameters"] if frozen else None,
        embedding_parameters=result["embedding_parameters"],
        notes=(f"input {shown_inputs(inputs)}", *map(str, result["notes"])),
    )


def _steps(result: Mapping[str, Any], kind: str) -> StepPair:
    first, second = (_Step(step["rows"], step["peak_live_bytes"], step["saved_bytes"]) for step in result[kind])
    small, large = result["batches"]
    return StepPair((small, large), first, second)


def name_of(target: str) -> str:
    """'model.py:Net' of a path; the colon keeps it apart from the zoo's names, which use '@' for variants."""
    source, colon, attribute = target.rpartition(":")
    return f"{Path(source).name}:{attribute}".replace("@", "-") if colon else f"own:{target}"


def sizes_of(inputs: list[TracedInput]) -> tuple[int | None, int | None]:
    """Pixels a side and tokens a sequence, where the first input is a square image or a row of tokens."""
    dtype, shape = inputs[0].dtype, inputs[0].shape
    if len(shape) == 3 and dtype != "int64" and shape[1] == shape[2]:
        return shape[1], None
    if len(shape) == 1 and dtype in ("int64", "int32"):
        return None, shape[0]
    return None, None


def shown_inputs(inputs: list[TracedInput]) -> str:
    return ", ".join(
        f"{given.name + ' ' if given.name else ''}{given.dtype} {'x'.join(map(str, given.shape)) or 'scalar'}"
        for given in inputs
    )
