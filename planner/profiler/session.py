"""One session of measuring: what is measured goes into the profile at once, and the file is whole at every moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.hardware.profile import TrainingRun
from planner.profiler.detect import LocalMachine
from planner.profiler.microbench import PLAIN_BENCH, TORCH_BENCH, has_torch, lines_of
from planner.profiler.profile_file import (
    SCHEMA_VERSION,
    machine_words,
    rates_document,
    read_document,
    write_document,
)
from planner.profiler.rates import rates_of

Progress = Callable[[str, int, int | None], None]
"""Told what is measured, how many of the measurements are done, and how many there will be."""

QUICK_S = 27.0
FULL_S = 120.0
_CASE_S = {"quick": 0.1, "full": 0.5}
_PLAIN_S = 6.0


class Session:
    """Measures this machine into the profile at ``path``, adding to what is there when it is of the same machine."""

    def __init__(self, local: LocalMachine, path: Path, now: Callable[[], datetime]) -> None:
        self.path = path
        self._now = now
        self.document = _continued(path, machine_words(local)) or {
            "schema_version": SCHEMA_VERSION,
            "made_at": "",
            "machine": machine_words(local),
            "devices": {},
            "rates": None,
            "runs": [],
            "host": {},
        }

    def save(self) -> None:
        """Write what is known so far. Raises InputError where it cannot be written."""
        self.document["made_at"] = self._now().isoformat(timespec="seconds")
        write_document(self.document, self.path)

    def measure(self, python: str, *, quick: bool, seconds: float, progress: Progress) -> None:
        """The micro-benchmarks: with torch where the interpreter has it, with numpy or nothing elsewhere."""
        self.save()
        if has_torch(python):
            command = [python, str(TORCH_BENCH), str(seconds), str(_CASE_S["quick" if quick else "full"])]
        else:
            command = [python, str(PLAIN_BENCH), str(min(seconds, _PLAIN_S))]
        device: dict[str, Any] = {}
        done, total = 0, None
        for line in lines_of(command, seconds):
            if line["kind"] == "device":
                device = {**line, "measured_at": self._now().isoformat(timespec="seconds"), "measurements": []}
                del device["kind"]
                done, total = 0, line.get("cases")
            elif line["kind"] == "rate":
                del line["kind"]
                self._take(device, line)
                done += 1
                progress(f"{device['device']}: {line['name']}", done, total)

    def _take(self, device: dict[str, Any], measurement: dict[str, Any]) -> None:
        """A device's first measurement replaces what an earlier session knew of it."""
        device["measurements"].append(measurement)
        self.document["devices"][device["device"]] = device
        if device["device"] == "cpu":
            self.document["rates"] = rates_document(rates_of(device["measurements"]))
        elif measurement["op_class"] == "launch":
            self.document["host"]["launch_s"] = measurement["seconds"] / measurement["kernels"]
        self.save()

    def add_run(self, run: TrainingRun) -> None:
        """Remember a training run in place of an earlier one of the same model, device, precision and batch."""
        same = [run.model, run.device, run.precision, run.batch_size]
        kept = [
            known
            for known in self.document["runs"]
            if [known[key] for key in ("model", "device", "precision", "batch_size")] != same
        ]
        self.document["runs"] = [*kept, run._asdict()]
        self.save()


def _continued(path: Path, machine: dict[str, Any]) -> dict[str, Any] | None:
    """The profile that is there, if it is one of this machine."""
    try:
        document = read_document(path)
    except InputError:
        return None
    return document if document.get("machine") == machine else None
