"""Constants of TCP between nodes, from the gradient-sync times of the Sia profiles (g4dn.12xlarge, 4 T4 a node).

The profiles give a step's time and, apart, the time its gradients took after backward ended: what computing did not
hide. One network is left out at a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from planner.experiment.experiment import Experiment
from planner.hardware.catalog import resolve
from planner.hardware.interconnect import default_link, network
from planner.hardware.machine import Machine
from planner.throughput.backtest import experiment_of
from planner.throughput.calibration import Calibration
from planner.throughput.collectives import communicate
from planner.throughput.measurement import Measurement, find_workload
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.throughput.row_software import Software
from planner.workloads.workload import Workload

SOURCE = "Sia/Pollux profiles (SOSP23)"
_NETWORKS = {
    "bert": "bert-base",
    "imagenet": "resnet50",
    "cifar10": "resnet18",
    "deepspeech2": "deepspeech2",
    "yolov3": "yolov3",
    "ncf": "ncf",
}
# NeuMF on MovieLens-1M (6,040 users, 3,706 films) with 32 factors and three layers, the AdaptDL example's defaults; the
# zoo's record is of MovieLens-20M.
_NCF_PARAMETERS = (6040 + 3706) * (32 + 128)
# A shorter sync is the clock's own cost: one GPU has 1 to 14 ms.
SHORTEST_SYNC_S = 0.005

# Of what the provider lets through one connection; above 1 a ring would have several.
FLOW_SHARES = (0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 2.0, 3.0, 6.0)
# Backward is two thirds of a step: no more can be hidden behind it.
OVERLAPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True)
class Sync:
    """One profiled step: what computed, and how long its gradients took after it."""

    application: str
    experiment: Experiment
    precision: DevicePrecision
    machine: Machine
    computing_s: float
    sync_s: float


def read_syncs(rows: Iterable[Mapping[str, str]]) -> list[Sync]:
    """All profiled steps on several GPUs whose sync time is longer than the clock's own cost."""
    syncs = (_sync(row) for row in rows if row["source"] == SOURCE and int(row["n_gpus"]) > 1)
    return [sync for sync in syncs if sync is not None]


def _sync(row: Mapping[str, str]) -> Sync | None:
    application, sync_s = _found(r'app "(\w+)"', row["model"]), float(_found(r"sync_time=([\d.e-]+)", row["notes"]))
    if sync_s < SHORTEST_SYNC_S:
        return None
    accelerator = resolve("T4" if row["accelerator"].startswith("T4") else "Quadro RTX 6000").accelerator
    precision = resolve_precision("fp32", accelerator)
    if precision is None:
        raise ValueError(f"the fp32 rate of {accelerator.name} is unknown")
    workload = _workload(application)
    count, nodes = int(row["n_gpus"]), int(row["n_nodes"] or 1)
    per_node = max(round(count / nodes), 1)
    machine = Machine(
        accelerator.name,
        accelerator,
        per_node,
        nodes,
        link=default_link(accelerator, per_node),
        network=network("g4dn.12xlarge") if nodes > 1 else None,
    )
    batch = int(row["batch_per_gpu"])
    measured = Measurement(workload, machine, "fp32", batch, 1.0, "step", Software(), workload.optimizer)
    computing_s = float(row["throughput"]) - sync_s
    return Sync(application, experiment_of(measured), precision, machine, computing_s, sync_s)


def _workload(application: str) -> Workload:
    workload = find_workload(_NETWORKS[application])
    return workload._replace(parameters=_NCF_PARAMETERS) if application == "ncf" else workload


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise ValueError(f"no {pattern} in {text!r}")
    return match.group(1)


def log_errors(syncs: Iterable[Sync], calibration: Calibration, constants: Mapping[str, Any]) -> list[float]:
    """ln(predicted / measured sync time) with these constants of the collectives."""
    changed = calibration._replace(collectives=constants)
    errors = []
    for sync in syncs:
        link = communicate(sync.experiment, sync.precision, sync.machine, sync.computing_s, 1, changed)
        errors.append(math.log(link.exposed_s / sync.sync_s))
    return errors


def fit_network(syncs: Sequence[Sync], calibration: Calibration, constants: Mapping[str, Any]) -> dict[str, Any]:
    """``constants`` with the flow share and overlap of the least median |ln error|, every network weighing alike."""
    between = [sync for sync in syncs if sync.machine.num_nodes > 1]
    applications = sorted({sync.application for sync in between})
    best: tuple[float, dict[str, Any]] | None = None
    for share in FLOW_SHARES:
        for overlap in OVERLAPS:
            tried = {**constants, "tcp_flow_share": share, "overlap_share_tcp": overlap}
            miss = 0.0
            for application in applications:
                own = [sync for sync in between if sync.application == application]
                miss += median(abs(error) for error in log_errors(own, calibration, tried))
            if best is None or miss < best[0]:
                best = miss, tried
    return dict(constants) if best is None else best[1]


def left_out_log_errors(
    syncs: Sequence[Sync], calibration: Calibration, constants: Mapping[str, Any]
) -> dict[str, list[float]]:
    """Application -> ln(predicted / measured sync time), with the constants of the other applications."""
    errors = {}
    for application in sorted({sync.application for sync in syncs}):
        others = [sync for sync in syncs if sync.application != application]
        own = [sync for sync in syncs if sync.application == application]
        errors[application] = log_errors(own, calibration, fit_network(others, calibration, constants))
    return errors
