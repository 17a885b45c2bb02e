"""time_to_train.csv.gz read into runs: which rows count, how much was trained, on what, in which batches.

What counts (issue 8, "Published runs"): one node, a blank node count being one up to 16 accelerators; a stated amount
of training; a model and hardware that the product's own catalogues know under the row's names.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from planner.errors import InputError
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.throughput.measurement import find_workload
from planner.throughput.row_software import read_precision
from planner.workloads.workload import Workload
from tools.published.mlperf_counts import Counts, counts_of

MOST_ON_ONE_NODE = 16

UNCOUNTED = "the amount counts evaluations, of which there may be any number an epoch"

_VENDORS = ("MLPerf", "NVIDIA DeepLearningExamples")
"""Sources whose scripts vendors tuned: they are predicted with --tuned, the others as an ordinary script."""

_PRECISIONS = {"detectron2 MODEL_ZOO": "fp32"}
"""Where the column is empty: detectron2's zoo was trained in fp32. Elsewhere mixed precision (bf16 on a TPU)."""

_NAMED_OTHERWISE = {
    "BERT-large + Wikipedia [bert]": "bert-large-pretraining@512",  # MLPerf trains the second phase only
    "Resnet18 + minor modifications + CIFAR10": "resnet18-cifar",
}

_PAIRS_TOKENS = 30.0
"""Tokens of a mean sentence pair of WMT, to turn a Transformer's batch in tokens into pairs (the zoo's length)."""

_NUMBER = r"(\d+(?:\.\d+)?)"
_AMOUNTS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (rf"{_NUMBER} epochs", "epochs"),
        (rf"epoch_num={_NUMBER}", "epoch_num"),
        (rf"epoch={_NUMBER}", "epoch"),
        (rf"train_samples={_NUMBER}", "samples"),
        (rf"{_NUMBER} iterations x (\d+) images", "iterations"),
        (rf"{_NUMBER} kimg", "kimg"),
    )
)


class Amount(NamedTuple):
    """How much was trained: one of the two is set. Epochs are of the whole data set."""

    epochs: float | None = None
    samples: float | None = None


class Run(NamedTuple):
    """One published run as the product would be asked for it. ``actual_s`` is what was published."""

    source: str
    label: str
    workload: Workload
    machine: Machine
    num_accelerators: int
    amount: Amount
    global_batch_size: int | None
    precision: str
    tuned: bool
    checkpoints: bool
    actual_s: float


class Unread(NamedTuple):
    """A row with a stated amount that is no run here, with the reason."""

    source: str
    label: str
    reason: str


def read_runs(path: Path) -> Iterator[Run | Unread]:
    """Every single-node row with a time and an amount, in the table's order; see :func:`read_run`."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            if _on_one_node(row) and row["minutes"] and row["epochs_or_tokens_or_steps"]:
                try:
                    yield read_run(row)
                except InputError as error:
                    yield Unread(row["source"], _label(row), str(error))


def read_run(row: dict[str, str]) -> Run:
    """The run of a row. Raises InputError with the reason where model, hardware or amount cannot be read."""
    workload = find_workload(_NAMED_OTHERWISE.get(row["workload"], row["workload"]))
    count = _accelerators(row)
    if count == 0:
        raise InputError("it trains on CPUs whose family or number of cores is not said or not known here")
    machine = machine_from_spec("published", _accelerator(row), count)
    return Run(
        source=row["source"],
        label=_label(row),
        workload=workload,
        machine=machine,
        num_accelerators=count,
        amount=read_amount(row),
        global_batch_size=_global_batch(row, workload),
        precision=read_precision(row["precision"]) if row["precision"] else _PRECISIONS.get(row["source"], "amp"),
        tuned=row["source"].startswith(_VENDORS),
        checkpoints=not row["source"].startswith("MLPerf"),  # its clock covers training and evaluation only
        actual_s=float(row["minutes"]) * 60,
    )


def _on_one_node(row: dict[str, str]) -> bool:
    if row["n_nodes"]:
        return row["n_nodes"] == "1"
    return bool(row["n_accelerators"]) and float(row["n_accelerators"]) <= MOST_ON_ONE_NODE


def read_amount(row: dict[str, str]) -> Amount:
    """Epochs or samples. MLPerf 0.5 counts epochs from 0; later rounds from 1; TPU logs of BERT count steps.

    What single logs count otherwise stands in mlperf_counts.csv.
    """
    text = row["epochs_or_tokens_or_steps"]
    found = ((pattern.search(text), unit) for pattern, unit in _AMOUNTS)
    match, unit = next(((match, unit) for match, unit in found if match), (None, ""))
    if match is None:
        raise InputError(f"the amount {text!r} is not understood")
    value = float(match[1])
    if unit == "samples":
        return Amount(samples=value)
    if unit == "iterations":
        return Amount(samples=value * float(match[2]))
    if unit == "kimg":
        return Amount(samples=value * 1000)
    if unit == "epoch_num" and row["workload"].startswith("BERT"):
        return Amount(samples=value * float(row["global_batch"]))
    if unit == "epoch_num" and row["workload"].startswith("DLRM"):
        if value >= 2:  # less than two: epoch 1 and the share of it that was trained
            raise InputError(UNCOUNTED)
        return Amount(epochs=value - 1)
    counts = counts_of(row["path_or_url"]) or Counts(epochs_added=float(unit == "epoch"))
    epochs = value + counts.epochs_added
    return Amount(epochs) if counts.samples_per_epoch is None else Amount(samples=epochs * counts.samples_per_epoch)


def _accelerators(row: dict[str, str]) -> int:
    """Chips: names such as tpuv3-8 count cores, two a chip."""
    count = int(float(row["n_accelerators"] or 0))
    return count // 2 if row["accelerator"].startswith("tpuv") else count


def _accelerator(row: dict[str, str]) -> str:
    """The accelerator's name; MLPerf's "TPU" is the generation its system is named after."""
    if row["accelerator"] == "TPU":
        system = re.search(r"system=tpu-(v\d)", row["notes"])
        return f"TPU {system[1]}" if system else row["accelerator"]
    return row["accelerator"]


def _global_batch(row: dict[str, str], workload: Workload) -> int | None:
    """Samples a step of the whole job: NVIDIA's Transformer states tokens, Google's packed rows."""
    if row["source"] == "StyleGAN2-ADA":
        return _auto_batch(int(row["n_accelerators"]), workload.image_size or 0)
    if not row["global_batch"]:
        return None
    batch = float(row["global_batch"])
    counts = counts_of(row["path_or_url"]) or Counts()
    if workload.name == "transformer-big" and counts.samples_per_row == 1:
        return round(batch / _PAIRS_TOKENS)
    return round(batch * counts.samples_per_row)


def _auto_batch(gpus: int, resolution: int) -> int:
    """``--cfg=auto`` of stylegan2-ada-pytorch (train.py): 4,096 / resolution a GPU, at most 32, at most 64 in all."""
    return max(min(gpus * min(4096 // resolution, 32), 64), gpus)


def _label(row: dict[str, str]) -> str:
    name = row["workload"].split(" (--")[0]
    return f"{name}, {row['n_accelerators'] or ''}x {row['accelerator']}, {row['precision'] or 'precision not said'}"
