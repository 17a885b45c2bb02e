"""A stored profile as records to show: what was measured on each device, and what of it is left on a warm machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.hardware.profile import TrainingRun
from planner.plan.operation_kinds import operation_kind
from planner.profiler.profile_file import read_document

Document = Mapping[str, Any]
"""A profile's file; :mod:`planner.profiler.profile_file` says what is in it."""

_KINDS = {
    "launch": "launching an operation",
    "held": "memory of a step",
    "rewritten": "memory of a step",
    "probe": "steps of small networks",
    "host copy": "copies from the host",
    "moved": "memory moved",
    "all-reduce": "sums over GPUs",
}
_UPDATE, _PRODUCT = "update ", "product "


class Probe(NamedTuple):
    """One measurement. ``rate`` is of its arithmetic where it has any, else of its bytes, a second; None of neither."""

    name: str
    phase: str
    seconds: float
    low_s: float
    high_s: float
    rate: float | None
    of_bytes: bool


class Group(NamedTuple):
    """Measurements of one kind of operation, and the rates that they came to (None where they give none)."""

    kind: str
    flops_per_s: float | None
    bytes_per_s: float | None
    probes: Sequence[Probe]


class Device(NamedTuple):
    """``made_with`` says with what it was measured, ``planned`` how many measurements there were to be."""

    name: str
    made_with: str
    done: int
    planned: int | None
    groups: Sequence[Group]


class Warming(NamedTuple):
    """FLOP/s second by second of the same work; ``left`` is the last quarter's over the first's, None if too short."""

    windows: Sequence[float]
    seconds: float
    left: float | None


class Stored(NamedTuple):
    """A profile; ``runs`` and ``host`` are as the file has them, ``notes`` what there was to say when it was made."""

    warming: Warming | None
    notes: Sequence[str]
    host: Document
    runs: Sequence[TrainingRun]
    devices: Sequence[Device]


def read_stored(path: Path) -> Stored:
    """The profile in the file. Raises InputError where it is none, or is damaged."""
    document = read_document(path)
    try:
        return Stored(
            warming_of(document),
            document.get("notes", ()),
            document.get("host", {}),
            [TrainingRun(**run) for run in document.get("runs", ())],
            devices_of(document),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        raise InputError(f"the profile {path} is damaged ({error}): run gpuplanner profile again") from error


def devices_of(document: Document) -> list[Device]:
    """The devices that were measured, each with its measurements by kind, in the order in which they were made."""
    found = []
    for device in document.get("devices", {}).values():
        rows = device["measurements"]
        rates = (document.get("rates") or {}).get("classes", {}) if device["device"] == "cpu" else {}
        with_what = f"PyTorch {device['torch']}" if "torch" in device else device.get("measured_with", "")
        threads = f", {device['threads']} threads" if "threads" in device else ""
        groups = [_group(kind, of_kind, rates) for kind, of_kind in _by_kind(rows).items()]
        found.append(Device(device["device"], f"{with_what}{threads}", len(rows), device.get("cases"), groups))
    return found


def warming_of(document: Document) -> Warming | None:
    """What a minute of the same work did to the rate; None where that was not measured."""
    sustained = document.get("sustained")
    if not sustained or not sustained.get("windows"):
        return None
    windows = sustained["windows"]
    return Warming([one["flops_per_s"] for one in windows], windows[-1]["at_s"] - windows[0]["at_s"], sustained["left"])


def _by_kind(rows: Sequence[Document]) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for row in rows:
        found.setdefault(kind_of(row["op_class"]), []).append(row)
    return found


def kind_of(op_class: str) -> str:
    """'convolution', 'optimizer sgd', 'matrix products in float16': the class in words."""
    if op_class.startswith(_UPDATE):
        return f"optimizer {op_class.removeprefix(_UPDATE)}"
    if op_class.startswith(_PRODUCT):
        return f"matrix products in {op_class.removeprefix(_PRODUCT)}"
    return _KINDS.get(op_class) or operation_kind(op_class)


def _group(kind: str, rows: Sequence[Document], rates: Mapping[str, Sequence[float | None]]) -> Group:
    """The rates are those of the kind's forward pass: gradients have their own, in the file."""
    flops, moved = rates.get(rows[0]["op_class"]) or (None, None)
    return Group(kind, flops, moved, [_probe(row) for row in rows])


def _probe(row: Document) -> Probe:
    seconds, flops, moved = row["seconds"], row.get("flops") or 0.0, row.get("bytes") or 0.0
    amount = flops or moved
    rate = amount / seconds if amount and seconds else None
    return Probe(row["name"], row["phase"], seconds, row["low_s"], row["high_s"], rate, of_bytes=not flops)
