"""The profile as people read it: what was measured, when, with what, and the rates it amounts to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner.cli.table import Column, render
from planner.errors import InputError
from planner.units import UNKNOWN, format_rate
from planner.workloads.catalog import load_workload
from planner.workloads.datasets import dataset

_RATES = [
    Column("operations"),
    Column("GFLOP/s", "right"),
    Column("GB/s", "right"),
]
_RUNS = [
    Column("model", least=14),
    Column("device", drop=2),
    Column("precision"),
    Column("batch", "right"),
    Column("step", "right"),
    Column("samples/s", "right"),
    Column("quartiles", "right", drop=4),
    Column("J/step", "right", drop=3),
    Column("kWh/epoch", "right"),
]
_ENGINES = {"half": "in 2 bytes", "tf32": "in TF32", "fp32": "in fp32"}
# Parts of the rates table in the order in which a reader looks for them.
_NAMES = {
    "mm": "matrix products",
    "bmm": "batched products",
    "conv": "convolutions",
    "conv1": "1x1 convolutions",
    "dw": "depthwise convolutions",
    "gconv": "grouped convolutions",
    "sdpa": "attention",
    "rnn": "LSTM",
    "ew": "elementwise",
    "copy": "copies",
    "bn": "batch normalisation",
    "ln": "layer normalisation",
    "softmax": "softmax",
}


def profile_lines(document: dict[str, Any], path: Path) -> Iterator[str]:
    """Lines for the terminal."""
    machine = document["machine"]
    gpus = ", ".join(machine["gpus"]) or "no GPU"
    yield f"{machine['cpu']}, {machine['vcpus']:g} vCPUs, {gpus}"
    yield f"measured {document['made_at'][:16].replace('T', ' ')}, kept in {path}"
    for device in document["devices"].values():
        tool = f"torch {device['torch']}" if "torch" in device else device.get("measured_with", "")
        threads = f", {device['threads']} threads" if "threads" in device else ""
        done, planned = len(device["measurements"]), device.get("cases")
        part = "" if done == planned else f" of {planned}, the others were not reached"
        yield f"{device['device']}: {tool}{threads}, {done} measurements{part}"
    yield from _host(document["host"])
    left = document.get("sustained", {}).get("left")
    if left is not None:
        yield f"warm: {left:.0%} of the first seconds' rate is left after {len(document['sustained']['windows'])} s"
    yield from document.get("notes", ())
    if document.get("gpu") is not None:
        yield from _gpu(document["gpu"])
    if document["rates"] is not None:
        yield ""
        yield from _rates(document["rates"])
    if document["runs"]:
        yield ""
        yield from render(_RUNS, [_run(run) for run in document["runs"]])


def _host(host: dict[str, Any]) -> Iterator[str]:
    disk, decode = host.get("disk_bytes_per_s"), host.get("decode_images_per_s_per_core")
    if disk is not None:
        yield f"disk: reads {disk / 1e6:,.0f} MB/s"
    if decode is not None:
        yield f"CPU: decodes {decode:,.0f} images/s a core"


def _gpu(gpu: dict[str, Any]) -> Iterator[str]:
    """What takes the place of the GPU's specifications."""
    if gpu["products"]:
        products = ", ".join(
            f"{rate / 1e12:,.1f} TFLOP/s {_ENGINES[name]}" for name, (rate, _) in gpu["products"].items()
        )
        yield f"GPU: matrix products at {products}"
    if gpu["moved"] is not None:
        yield f"GPU: moves {gpu['moved'][0] / 1e9:,.0f} GB/s of its memory"
    if gpu["from_host_bytes_per_s"] is not None:
        yield f"GPU: is sent {gpu['from_host_bytes_per_s'] / 1e9:,.1f} GB/s by its host"
    if gpu["all_reduce_bytes_per_s"] is not None:
        yield f"{gpu['num_reduced']} GPUs: sums cross a link at {gpu['all_reduce_bytes_per_s'] / 1e9:,.1f} GB/s"


def _rates(rates: dict[str, Any]) -> list[str]:
    rows = []
    for name, words in _NAMES.items():
        if name in rates["classes"]:
            flops, moved = rates["classes"][name]
            rows.append([words, _number(flops), _number(moved)])
    lines = render(_RATES, rows)
    if rates["launch_s"] is not None:
        lines.append(f"an operation costs {rates['launch_s'] * 1e6:.1f} us at least")
    return lines


def _number(rate: float | None) -> str:
    return UNKNOWN if rate is None else f"{rate / 1e9:.1f}"


def _kwh_per_epoch(model: str, joules_per_sample: float) -> str:
    """By the counters of the hardware, for the model's usual data set; unknown where it has none."""
    try:
        name = load_workload(model).default_dataset
        samples = dataset(name).samples if name is not None else None
    except InputError:
        samples = None
    return UNKNOWN if samples is None else f"{joules_per_sample * samples / 3.6e6:.3g}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"


def _run(run: dict[str, Any]) -> list[str]:
    energy = run["energy_j_per_step"]
    return [
        run["model"],
        run["device"],
        run["precision"],
        f"{run['batch_size']}",
        _milliseconds(run["step_time_s"]),
        format_rate(run["batch_size"] / run["step_time_s"]),
        f"{_milliseconds(run['low_s'])} to {_milliseconds(run['high_s'])}",
        UNKNOWN if energy is None else f"{energy:.0f}",
        UNKNOWN if energy is None else _kwh_per_epoch(run["model"], energy / run["batch_size"]),
    ]
