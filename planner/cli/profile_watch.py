"""``gpuplanner profile -- COMMAND``: run the user's command, then say on standard error what it did."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.profile import TrainingRun
from planner.profiler.session import open_session
from planner.profiler.watch import Bounds, Watched, watch
from planner.units import UNKNOWN, format_bytes, format_rate

_STOPPED = {
    "time": "stopped at --max-seconds",
    "steps": "stopped at --max-steps",
    "signal": "stopped by a signal",
}


def run_watched(arguments: argparse.Namespace, path: Path) -> int:
    """Runs the command; returns its exit status, 0 where it was stopped at a bound."""
    if arguments.max_steps is not None and arguments.max_steps < 1:
        raise InputError(f"--max-steps must be 1 or more, not {arguments.max_steps}")
    if arguments.model is not None and arguments.batch_size is None:
        raise InputError("say with -b how many samples a step of the command takes, or leave -m out")
    watched = watch(arguments.words, Bounds(arguments.max_seconds, arguments.max_steps))
    if arguments.model is not None:
        _remember(arguments, watched, path)
    if arguments.output == "json":
        json.dump(_document(arguments.words, watched), sys.stderr)
        sys.stderr.write("\n")
    else:
        sys.stderr.write("".join(f"gpuplanner: {line}\n" for line in _lines(watched)))
    return watched.exit_status


def _remember(arguments: argparse.Namespace, watched: Watched, path: Path) -> None:
    """The command's steps as a training run of the model it is said to train."""
    summary = watched.summary
    if summary.step_time_s is None or summary.low_s is None or summary.high_s is None:
        raise InputError("the steps of the command could not be told: see the marker in docs/profile.md")
    experiment = resolve_experiment(ExperimentRequest(model=arguments.model, optimizer=arguments.optimizer))
    session = open_session(path)
    session.add_run(
        TrainingRun(
            model=experiment.workload.name,
            device="cpu" if not session.document["machine"]["gpus"] else "cuda",
            precision=arguments.precision,
            optimizer=experiment.optimizer,
            batch_size=arguments.batch_size,
            step_time_s=summary.step_time_s,
            low_s=summary.low_s,
            high_s=summary.high_s,
            steps=summary.steps,
            measured_at=session.now(),
            seq_length=experiment.workload.seq_length,
            image_size=experiment.workload.image_size,
        )
    )


def _lines(watched: Watched) -> Iterator[str]:
    summary = watched.summary
    ended = _STOPPED.get(watched.stopped, f"exit status {watched.exit_status}")
    yield f"ran {watched.seconds:.1f} s, {ended}"
    if summary.step_time_s is None or summary.low_s is None or summary.high_s is None:
        yield f"{summary.steps} steps seen: too few to tell a step's time (docs/profile.md has the marker to print)"
    else:
        quartiles = f"{summary.low_s * 1e3:,.1f} to {summary.high_s * 1e3:,.1f} ms"
        yield f"a step took {summary.step_time_s * 1e3:,.1f} ms ({quartiles}, {summary.steps} steps)"
    if summary.samples_per_s is not None:
        yield f"{format_rate(summary.samples_per_s)} samples/s"
    if summary.wait_share is not None:
        yield f"{summary.wait_share:.0%} of the time waiting for data"
    if watched.cpu_s is not None:
        yield f"{watched.cpu_s / watched.seconds:.2f} CPUs busy"
    if watched.gpu_share is not None:
        yield f"GPU busy {watched.gpu_share:.0%} of the time"
    gpu = "" if watched.gpu_peak_bytes is None else f", {format_bytes(watched.gpu_peak_bytes)} of GPU memory"
    if watched.peak_memory_bytes is not None:
        yield f"at most {format_bytes(watched.peak_memory_bytes)} of memory{gpu}"
    power = UNKNOWN if watched.energy_j is None else f"{watched.energy_j / watched.seconds:.0f} W"
    yield f"mean power {power}" + ("" if watched.energy_j is not None else " (no energy counter can be read here)")


def _document(command: list[str], watched: Watched) -> dict[str, object]:
    summary = watched.summary
    return {
        "schema_version": 1,
        "command": command,
        "exit_status": watched.exit_status,
        "stopped": watched.stopped or None,
        "seconds": watched.seconds,
        "steps": summary.steps,
        "step_time_s": summary.step_time_s,
        "step_time_quartiles_s": [summary.low_s, summary.high_s],
        "samples_per_s": summary.samples_per_s,
        "wait_share": summary.wait_share,
        "cpu_s": watched.cpu_s,
        "peak_memory_bytes": watched.peak_memory_bytes,
        "gpu_share": watched.gpu_share,
        "gpu_peak_bytes": watched.gpu_peak_bytes,
        "energy_j": watched.energy_j,
    }
