"""A model of the user's own wherever a model's name may stand: a workload file, a config.json or its folder, ONNX."""

from __future__ import annotations

import os
from pathlib import Path

from planner.errors import InputError
from planner.workloads.record import MODEL_CONFIG
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
        path = _config_in(path)
    from planner.workloads.reading import read_json_object
    from planner.workloads.workload_file import is_workload, workload_from

    content = read_json_object(path, "model file")
    if is_workload(content):
        return workload_from(content, path)
    from planner.workloads.hf_config import workload_of_config

    return workload_of_config(content, path, seq_length)


def _config_in(path: Path) -> Path:
    """The configuration in a model's folder. Raises InputError where it is none."""
    if not path.exists():
        raise InputError(f"there is no file or folder {str(path)!r}")
    if not path.is_dir():
        raise InputError(
            f"{str(path)!r} is not a model file: -m takes a name (gpuplanner models), a .json of gpuplanner trace, "
            "a config.json or its folder, or a .onnx"
        )
    if not (path / MODEL_CONFIG).is_file():
        raise InputError(f"{str(path)!r} is a folder without a {MODEL_CONFIG}, and no model of that name is known")
    return path / MODEL_CONFIG
