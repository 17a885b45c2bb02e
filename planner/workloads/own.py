"""A model of the user's own wherever a model's name may stand: a workload file, a config.json or its folder, ONNX."""

from __future__ import annotations

import os
from pathlib import Path

from planner.errors import InputError
from planner.workloads.catalog import MODEL_CONFIG
from planner.workloads.workload import Workload


def load_own(name: str, seq_length: int | None = None) -> Workload:
    """The workload of a file or folder; formulas are evaluated at ``seq_length`` tokens. Raises InputError."""
    path = Path(os.path.expanduser(name))
    suffix = path.suffix.lower()
    if suffix == ".py":
        raise InputError(f"{name!r} is code; `gpuplanner trace {name}:build_model` runs it and writes what -m takes")
    if suffix == ".onnx":
        from planner.workloads.onnx_graph import workload_of_onnx

        return workload_of_onnx(path, seq_length)
    if suffix != ".json":
        path = path / MODEL_CONFIG
    from planner.workloads.reading import read_json_object
    from planner.workloads.workload_file import is_workload, workload_from

    content = read_json_object(path, "model file")
    if is_workload(content):
        return workload_from(content, path)
    from planner.workloads.hf_config import workload_of_config

    return workload_of_config(content, path, seq_length)
