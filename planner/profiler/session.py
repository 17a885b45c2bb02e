"""One session of measuring: what is measured goes into the profile at once, and the file is whole at every moment."""

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, PlannerError
from planner.hardware.profile import TrainingRun
from planner.profiler.detect import LocalMachine, quick_look
from planner.profiler.disk import read_rate
from planner.profiler.energy import Energy, EnergyMeter
from planner.profiler.full_look import full_look
from planner.profiler.gpu_rates import gpu_rates
from planner.profiler.microbench import DECODE_BENCH, PLAIN_BENCH, TORCH_BENCH, TRAIN_BENCH, has_torch, lines_of
from planner.profiler.profile_file import (
    SCHEMA_VERSION,
    gpu_document,
    machine_words,
    rates_document,
    read_document,
    write_document,
)
from planner.profiler.rates import rates_of
from planner.profiler.this_machine import cache_directory

Progress = Callable[[str, int, int | None], None]
"""Told what is measured, how many of the measurements are done, and how many there will be."""

QUICK_S = 29.0
FULL_S = 120.0
TRAINING_S = 60.0
SUSTAINED_S = 60.0
_CASE_S = {"quick": 0.04, "full": 0.5}
_PLAIN_S = 6.0
# Rates and the file take tens of milliseconds, as long as a case of the quick profile does: after each line, they would
# take a core from the next case.
_CONCLUDE_EVERY_S = 5.0
_DECODE_S = 0.6
_IDENTITY = ("name", "op_class", "phase")
HOST_S = 2.0
"""What the disk and decoding take, about."""
# Importing torch and taking the steps that are not counted.
_TRAINING_START_S = 10.0


class Wanted(NamedTuple):
    """The model to train and how; None is the model's or the machine's own.

    ``inputs`` (name, dtype, shape without the batch) are those of a model of the user's own, 'file.py:function'.
    """

    model: str
    batch_size: int | None
    precision: str
    optimizer: str
    steps: int
    image_size: int | None = None
    seq_length: int | None = None
    device: str | None = None
    inputs: tuple[tuple[str | None, str, tuple[int, ...]], ...] = ()


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
            "notes": [],
        }

    @property
    def python(self) -> str:
        """The interpreter that was measured with last, this one at first."""
        return str(self.document.get("python") or sys.executable)

    def now(self) -> str:
        """The moment, as it is stored."""
        return self._clock().isoformat(timespec="seconds")

    def save(self) -> None:
        """Write what is known so far. Raises InputError where it cannot be written."""
        self.document["made_at"] = self.now()
        write_document(self.document, self.path)

    def measure(self, python: str, *, quick: bool, seconds: float, progress: Progress) -> str | None:
        """The micro-benchmarks: with torch where the interpreter has it, with numpy or nothing elsewhere.

        What torch measured here before says more than either: it then stands, and the sentence returned says so.
        """
        end = time.monotonic() + seconds
        found = has_torch(python)
        if found:
            self.document["python"] = python
        self.save()
        before = self.document["devices"].get("cpu", {}).get("torch")
        if before is not None and not found:
            return f"{python} has no torch: what torch {before} measured here is kept (gpuplanner profile clear)"
        if found:
            command = [python, str(TORCH_BENCH), str(seconds), str(_CASE_S["quick" if quick else "full"])]
        else:
            command = [python, str(PLAIN_BENCH), str(min(seconds, _PLAIN_S))]
        try:
            with closing(lines_of(command, max(0.0, end - time.monotonic()))) as lines:
                self._take_all(lines, progress)
        finally:
            self._conclude()
        return None

    def _take_all(self, lines: Iterable[dict[str, Any]], progress: Progress) -> None:
        """Every measurement as it comes. What is made of them waits: the next one is being taken on these cores."""
        device: dict[str, Any] = {}
        done, total, concluded = 0, None, -math.inf
        for line in lines:
            if line["kind"] == "device":
                device = self._device(line)
                done, total = 0, line.get("cases")
            elif line["kind"] == "rate":
                del line["kind"]
                done += not line.pop("again", False)
                self._take(device, line)
                if time.monotonic() - concluded > _CONCLUDE_EVERY_S:
                    self._conclude()
                    concluded = time.monotonic()
                progress(f"{device['device']}: {line['name']}", done, total)

    def look(self, local: LocalMachine) -> None:
        """Remember what the full look has to say of the moment of measuring."""
        self.document["notes"] = list(full_look(local).sentences)

    def sustain(self, python: str, seconds: float, progress: Progress, limit_s: float = math.inf) -> None:
        """A minute of the same work, within ``limit_s`` in all: how much of the rate is left on a warm machine."""
        limit_s = min(limit_s, seconds + _TRAINING_START_S)
        windows: list[dict[str, float]] = []
        command = [python, str(TORCH_BENCH), "0", "0", str(seconds)]
        with closing(lines_of(command, max(0.0, limit_s))) as lines:
            for line in lines:
                if line["kind"] == "window":
                    windows.append({"at_s": line["at_s"], "flops_per_s": line["flops_per_s"]})
                    self.document["sustained"] = {"windows": windows, "left": share_left(windows)}
                    progress("sustained", len(windows), round(seconds))
                    self._conclude()

    def measure_host(self, python: str, seconds: float, progress: Progress) -> None:
        """The disk under the working directory, and decoding of images; nothing where there is no time left."""
        end = time.monotonic() + seconds
        if seconds < _DECODE_S:
            return
        progress("host: disk", 0, 2)
        self.document["host"]["disk_bytes_per_s"] = read_rate(Path.cwd(), limit_s=seconds / 2)
        progress("host: images decoded", 1, 2)
        with closing(lines_of([python, str(DECODE_BENCH), str(_DECODE_S)], max(0.0, end - time.monotonic()))) as lines:
            for line in lines:
                if line["kind"] == "decode":
                    self.document["host"]["decode_images_per_s_per_core"] = line["images_per_s_per_core"]
        progress("host: images decoded", 2, 2)
        self.save()

    def _device(self, line: dict[str, Any]) -> dict[str, Any]:
        """The device as described; what the same software measured on it before stands until it is measured again."""
        device = {key: value for key, value in line.items() if key != "kind"}
        before = self.document["devices"].get(device["device"], {})
        same = all(before.get(key) == device.get(key) for key in ("name", "torch", "threads", "measured_with"))
        return {
            **device,
            "measured_at": self.now(),
            "measurements": list(before["measurements"]) if same and before else [],
        }

    def _take(self, device: dict[str, Any], measurement: dict[str, Any]) -> None:
        name = [measurement[key] for key in _IDENTITY]
        kept = [row for row in device["measurements"] if [row[key] for key in _IDENTITY] != name]
        device["measurements"] = [*kept, measurement]
        self.document["devices"][device["device"]] = device
        if device["device"] != "cpu" and measurement["op_class"] == "launch":
            self.document["host"]["launch_s"] = measurement["seconds"] / measurement["kernels"]

    def _conclude(self) -> None:
        self._derive()
        self.save()

    def train(self, wanted: Wanted, python: str, seconds: float, progress: Progress) -> TrainingRun:
        """Real training steps of a model, remembered. Raises InputError where the interpreter cannot run it."""
        if not has_torch(python):
            raise InputError(f"{python} has no torch to train {wanted.model} with; --python names another interpreter")
        request = json.dumps({**wanted._asdict(), "seconds": seconds - _TRAINING_START_S})
        model: dict[str, Any] = {}
        step_times: list[float] = []
        meter = EnergyMeter()
        with closing(lines_of([python, str(TRAIN_BENCH), request], seconds)) as lines:
            for line in lines:
                if line["kind"] == "model":
                    model = line
                elif line["kind"] == "step":
                    step_times.append(line["seconds"])
                    if len(step_times) == 1:
                        meter.start()  # from the end of the first step on
                    progress(f"{model['device']}: {wanted.model}", len(step_times), wanted.steps)
                    self.add_run(self._run(wanted, model, step_times, meter.energy()))
        if not step_times:
            raise PlannerError(f"no step of {wanted.model} ended within {seconds:g} s (--max-seconds)")
        return TrainingRun(**self.document["runs"][-1])

    def _run(self, wanted: Wanted, model: dict[str, Any], step_times: list[float], energy: Energy) -> TrainingRun:
        low, middle, high = quartiles(step_times)
        steps = len(step_times)
        total_j, processor_j, gpus_j = (
            None if joules is None or steps < 2 else joules / (steps - 1) for joules in (energy.total_j, *energy)
        )
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
            energy_j_per_step=total_j,
            processor_j_per_step=processor_j,
            gpus_j_per_step=gpus_j,
        )

    def _derive(self) -> None:
        """Rates from the measurements, as far as a warm machine keeps them on the device where that was measured."""
        devices, left = self.document["devices"], self.document.get("sustained", {}).get("left") or 1.0
        accelerator = next((device for name, device in devices.items() if name != "cpu"), None)
        if accelerator is not None:
            self.document["gpu"] = gpu_document(gpu_rates(accelerator["measurements"], left))
        if "cpu" in devices:
            cpu_left = left if accelerator is None else 1.0
            self.document["rates"] = rates_document(rates_of(devices["cpu"]["measurements"], cpu_left))

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


def open_session(path: Path) -> Session:
    """A session of measuring on this machine, whose full look waits for the driver."""
    local = quick_look(cache_directory(), wait_s=None)
    session = Session(local, path, lambda: datetime.now().astimezone())
    session.look(local)
    return session


def share_left(windows: Sequence[Mapping[str, float]]) -> float | None:
    """Rate of the last quarter over that of the first, at most 1; None of too short a time."""
    quarter = len(windows) // 4
    if quarter < 2:
        return None
    rates = [window["flops_per_s"] for window in windows]
    return min(1.0, statistics.median(rates[-quarter:]) / statistics.median(rates[:quarter]))


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
