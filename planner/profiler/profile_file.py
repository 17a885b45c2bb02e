"""The profile on disk: one JSON file, replaced whole at every step, so that it is valid and usable at any moment.

    {"schema_version": 1, "made_at": "2026-11-30T22:40:00+00:00",
     "machine": {"cpu": "AMD EPYC", "vcpus": 2, "gpus": []},
     "devices": {"cpu": {"torch": "2.14.1", "threads": 2, "measured_at": ..., "measurements": [...]}},
     "rates": {...}, "gpu": {...}, "runs": [...], "host": {...}, "notes": [...]}

Rates are derived from the measurements whenever the file is written, so that reading it costs an estimate nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.hardware.profile import (
    ClassRate,
    GpuRates,
    Kernel,
    Measured,
    MeasuredRates,
    Profile,
    TrainingRun,
)
from planner.profiler.detect import LocalMachine

SCHEMA_VERSION = 2


def machine_words(local: LocalMachine) -> dict[str, Any]:
    """What makes it the same machine: a profile of another one is not used."""
    return {"cpu": local.host.cpu_name, "vcpus": local.host.vcpus, "gpus": [gpu.name for gpu in local.gpus]}


def read_document(path: Path) -> dict[str, Any]:
    """The file as it is. Raises InputError where it is no profile that this version reads."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the profile {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} is not a profile: it is not JSON ({error})") from error
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(f"{path} is not a profile of version {SCHEMA_VERSION}: run gpuplanner profile again")
    return document


def read_profile(path: Path) -> Profile:
    """The measurements of the file. Raises InputError where it is no profile that this version reads."""
    document = read_document(path)
    try:
        rates = document.get("rates")
        host = document.get("host", {})
        return Profile(
            path=str(path),
            made_at=str(document["made_at"]),
            rates=None if rates is None else _rates(rates),
            runs=tuple(TrainingRun(**run) for run in document.get("runs", ())),
            host_launch_s=host.get("launch_s"),
            decode_images_per_s_per_core=host.get("decode_images_per_s_per_core"),
            disk_bytes_per_s=host.get("disk_bytes_per_s"),
            gpu=_gpu(document),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the profile {path} is damaged ({error}): run gpuplanner profile again") from error


def _rates(stored: Mapping[str, Any]) -> MeasuredRates:
    return MeasuredRates(
        {name: ClassRate(*pair) for name, pair in stored["classes"].items()},
        {name: float(parameter_s) for name, parameter_s in stored["updates"].items()},
        stored["launch_s"],
        stored["held_s_per_byte"],
        stored.get("surroundings", {}),
    )


def _gpu(document: Mapping[str, Any]) -> GpuRates | None:
    """The GPU's rates; None where there are GPUs of several kinds, of which nobody knows which one was measured."""
    stored = document.get("gpu")
    if stored is None or len(set(document["machine"]["gpus"])) > 1:
        return None
    moved = stored["moved"]
    return GpuRates(
        **{
            **stored,
            "products": {engine: Measured(*pair) for engine, pair in stored["products"].items()},
            "moved": None if moved is None else Measured(*moved),
            "kernels": tuple(Kernel(*row) for row in stored["kernels"]),
        }
    )


def gpu_document(rates: GpuRates | None) -> dict[str, Any] | None:
    """The GPU's rates as :func:`read_profile` reads them."""
    if rates is None:
        return None
    return {
        **rates._asdict(),
        "products": {engine: list(rate) for engine, rate in rates.products.items()},
        "moved": None if rates.moved is None else list(rates.moved),
        "kernels": [list(kernel) for kernel in rates.kernels],
    }


def rates_document(rates: MeasuredRates) -> dict[str, Any]:
    """The rates as :func:`read_profile` reads them."""
    return {
        "classes": {name: list(rate) for name, rate in rates.classes.items()},
        "updates": dict(rates.updates),
        "launch_s": rates.launch_s,
        "held_s_per_byte": rates.held_s_per_byte,
        "surroundings": dict(rates.surroundings),
    }


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """Replace the file in one step: a reader sees the old one or the new one. Raises InputError where it cannot be."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"the profile cannot be written to {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def clear_profile(path: Path) -> bool:
    """Forget what was measured; whether there was anything."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"the profile {path} cannot be removed: {error.strerror or error}") from error
    return True
