"""One session of measuring: what is measured goes into the profile at once, and the file is whole at every moment."""

import json
import statistics
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, PlannerError
from planner.hardware.profile import TrainingRun
from planner.profiler.detect import LocalMachine
from planner.profiler.energy import EnergyMeter
from planner.profiler.microbench import PLAIN_BENCH, TORCH_BENCH, TRAIN_BENCH, has_torch, lines_of
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
TRAINING_S = 60.0
_CASE_S = {"quick": 0.1, "full": 0.5}
_PLAIN_S = 6.0
# Importing torch and taking the steps that are not counted.
_TRAINING_START_S = 10.0


class Wanted(NamedTuple):
    """The model to train and how; None is the model's or the machine's own."""

    model: str
    batch_size: int | None
    precision: str
    optimizer: str
    steps: int
    image_size: int | None = None
    seq_length: int | None = None
    device: str | None = None


class Session:
    """Measures this machine into the profile at ``path``, adding to what is there when it is of the same machine."""

    def __init__(self, local: LocalMachine, path: Path, now: Callable[[], datetime]) -> None:
        self.path = path
        self._clock = now
        self.document = _continued(path, machine_words(local)) or {
            "schema_version": SCHEMA_VERSION,
            "made_at": "",
            "machine": machine_words(local),
            "devices": {},
            "rates": None,
            "runs": [],
            "host": {},
        }

    def now(self) -> str:
        """The moment, as it is stored."""
        return self._clock().isoformat(timespec="seconds")

    def save(self) -> None:
        """Write what is known so far. Raises InputError where it cannot be written."""
        self.document["made_at"] = self.now()
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
                device = {**line, "measured_at": self.now(), "measurements": []}
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

    def train(self, wanted: Wanted, python: str, seconds: float, progress: Progress) -> TrainingRun:
        """Real training steps of a model, remembered. Raises InputError where the interpreter cannot run it."""
        if not has_torch(python):
            raise InputError(f"{python} has no torch to train {wanted.model} with; --python names another interpreter")
        request = json.dumps({**wanted._asdict(), "seconds": seconds - _TRAINING_START_S})
        model: dict[str, Any] = {}
        step_times: list[float] = []
        meter = EnergyMeter()
        for line in lines_of([python, str(TRAIN_BENCH), request], seconds):
            if line["kind"] == "model":
                model = line
            elif line["kind"] == "step":
                step_times.append(line["seconds"])
                if len(step_times) == 1:
                    meter.start()  # from the end of the first step on
                progress(f"{model['device']}: {wanted.model}", len(step_times), wanted.steps)
                self.add_run(self._run(wanted, model, step_times, meter.joules()))
        if not step_times:
            raise PlannerError(f"no step of {wanted.model} ended within {seconds:g} s (--max-seconds)")
        return TrainingRun(**self.document["runs"][-1])

    def _run(self, wanted: Wanted, model: dict[str, Any], step_times: list[float], joules: float | None) -> TrainingRun:
        low, middle, high = quartiles(step_times)
        steps = len(step_times)
        return TrainingRun(
            model=wanted.model,
            device=model["device"],
            precision=model["precision"],
            optimizer=wanted.optimizer,
            batch_size=model["batch_size"],
            step_time_s=middle,
            low_s=low,
            high_s=high,
            steps=steps,
            measured_at=self.now(),
            seq_length=model["seq_length"],
            image_size=model["image_size"],
            energy_j_per_step=None if joules is None or steps < 2 else joules / (steps - 1),
        )

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


def quartiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median and third quartile; a single value is all three."""
    if len(seconds) == 1:
        return seconds[0], seconds[0], seconds[0]
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return low, middle, high


def _continued(path: Path, machine: dict[str, Any]) -> dict[str, Any] | None:
    """The profile that is there, if it is one of this machine."""
    try:
        document = read_document(path)
    except InputError:
        return None
    return document if document.get("machine") == machine else None
