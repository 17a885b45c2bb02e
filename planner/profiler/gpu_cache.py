"""What NVIDIA's library said, remembered until the next boot or driver. A cache that fails is no cache, no error."""

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from planner.profiler.local_facts import GpuFacts

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "nvidia-gpus.json"


class Remembered(NamedTuple):
    """What the library said of the GPUs, and of its driver."""

    gpus: tuple[GpuFacts, ...]
    driver_version: str


def recall(cache_dir: "Path | None", key: str) -> Remembered | None:
    """What is remembered under ``key``; None where nothing usable is."""
    if cache_dir is None or not key:
        return None
    try:
        stored = json.loads((cache_dir / _FILE).read_text(encoding="utf-8"))
        if stored["key"] != key:
            return None
        return Remembered(tuple(_checked(GpuFacts(**entry)) for entry in stored["gpus"]), str(stored["driver"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remember(cache_dir: "Path | None", key: str, gpus: tuple[GpuFacts, ...], driver_version: str) -> None:
    """Write the GPUs for :func:`recall`; a directory that cannot be written is left alone."""
    if cache_dir is None or not key:
        return
    text = json.dumps({"key": key, "driver": driver_version, "gpus": [entry._asdict() for entry in gpus]})
    unfinished = cache_dir / f"{_FILE}.{os.getpid()}"
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, cache_dir / _FILE)
    except OSError:
        _remove(unfinished)


def _remove(path: "Path") -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def _checked(gpu: GpuFacts) -> GpuFacts:
    """The facts with the types they must have; TypeError where a damaged file has others."""
    numbers = (gpu.memory_bytes, gpu.power_limit_w, gpu.cores)
    if not isinstance(gpu.name, str) or not all(
        number is None or isinstance(number, int | float) for number in numbers
    ):
        raise TypeError("not the facts of a GPU")
    return gpu
