"""``gpuplanner trace``: run the user's own model without data or GPU and write down what a training step does."""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

from planner.cli.listing import write_json_record
from planner.errors import InputError
from planner.units import format_bytes, format_count
from planner.values import positive
from planner.workloads.own_trace import TraceRequest, checked_target, interpreter, parse_inputs, trace
from planner.workloads.reading import parse_json_object
from planner.workloads.workload import Workload
from planner.workloads.workload_file import is_workload, workload_text

_EPILOG = """\
examples:
  gpuplanner trace model.py:build_model --input 3x224x224
  gpuplanner trace mypackage.nets:Classifier --inputs 'ids:int64:128' --arg classes=5 --python .venv/bin/python
  gpuplanner trace timm/resnet18 -f resnet18.json
  gpuplanner estimate -m build_model.json -e 10 --samples 50k

It runs the code you name, in the Python you name. Nothing else in gpuplanner runs code of yours.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "target", metavar="TARGET", help="FILE.py:ATTRIBUTE or MODULE:ATTRIBUTE (a model, or what makes one); timm/NAME"
    )
    parser.add_argument(
        "--input", "--inputs", metavar="SHAPES", help="without the batch: 3x224x224, or 'ids:int64:128,mask:bool:128'"
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument for what makes the model"
    )
    parser.add_argument("--loss", metavar="ATTRIBUTE", help="a criterion, or a function of (model, *inputs)")
    parser.add_argument("--python", metavar="PROGRAM", help="the Python you train with (.venv/bin/python)")
    parser.add_argument("--timeout", type=positive, default=600.0, metavar="SECONDS", help="stop it after (600)")
    parser.add_argument("-f", "--file", type=Path, metavar="FILE", help="the file to write (ATTRIBUTE.json)")
    parser.add_argument("--force", action="store_true", help="write over a file that trace did not write")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="what to print (table)")


def run(arguments: argparse.Namespace) -> int:
    target = checked_target(arguments.target)
    path = arguments.file or Path(f"{target.rpartition(':')[2].rpartition('/')[2]}.json")
    if not arguments.force:
        _check_may_write(path)
    inputs = parse_inputs(arguments.input) if arguments.input is not None else ()
    python = interpreter(arguments.python)
    sys.stderr.write(f"gpuplanner: running {target} with {python} to trace it: this executes its code\n")
    workload = trace(TraceRequest(target, inputs, _options(arguments.arg), arguments.loss, python, arguments.timeout))
    try:
        path.write_text(workload_text(workload), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    if arguments.output == "json":
        write_json_record({"file": str(path), **summary(workload)})
    else:
        sys.stdout.write("\n".join(_lines(workload, path)) + "\n")
    return 0


def _options(texts: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value is a Python literal, or text where it is none. Raises InputError."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--arg is NAME=VALUE such as classes=10, not {text!r}")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            options[name] = value
    return options


def _check_may_write(path: Path) -> None:
    """Raise InputError rather than write over what is no workload file."""
    try:
        if not path.exists():
            return
        with path.open(encoding="utf-8") as file:
            ours = is_workload(parse_json_object(file.read(1 << 24), str(path)))
    except (OSError, ValueError, InputError):
        ours = False
    if not ours:
        raise InputError(f"{str(path)!r} is there and is no workload file: name another one with -f, or say --force")


def summary(workload: Workload) -> dict[str, Any]:
    """What a listing of models shows of a workload."""
    return {
        "name": workload.name,
        "parameters": workload.parameters,
        "trainable_parameters": workload.trainable_parameters or workload.parameters,
        "forward_flops_per_sample": workload.forward_flops_per_sample,
        "training_flops_per_sample": workload.training_flops_per_sample,
        "activation_bytes_per_sample": workload.memory_amp.saved_bytes.per_sample,
        "image_size": workload.image_size,
        "seq_length": workload.seq_length,
        "notes": list(workload.notes),
        "source": workload.source,
    }


def _lines(workload: Workload, path: Path) -> list[str]:
    record = summary(workload)
    rows = [
        ("parameters", f"{workload.parameters:,}"),
        ("forward", f"{format_count(record['forward_flops_per_sample'])} FLOPs per {workload.sample_unit}"),
        ("training", f"{format_count(record['training_flops_per_sample'])} FLOPs per {workload.sample_unit}"),
        ("activations", f"{format_bytes(record['activation_bytes_per_sample'])} per {workload.sample_unit} (amp)"),
        *(("", note) for note in workload.notes),
    ]
    lines = [workload.name, *(f"  {label:12} {text}" for label, text in rows)]
    return [*lines, f"Written to {path}; next: gpuplanner estimate -m {path} -e 10 --samples 50k"]
