"""The forecast ledger: what was forecast, what really happened, how far off and how often inside the interval.

One file of JSON lines that only grows, so that neither two processes nor a crash lose a forecast:

    {"kind": "forecast", "id": 7, "made_at": ..., "experiment": {...}, "rows": [{"rank": 1, "accelerator": ...}, ...]}
    {"kind": "outcome", "id": 7, "rank": 1, "samples_per_s": 804.0, "time_s": null, "cost_usd": null, ...}

A line that is not whole is passed over; of several outcomes of one row the last of each quantity counts.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.plan.plan import Estimate, Plan
from planner.units import Interval

ROWS_KEPT = 20
"""Rows of a plan that a forecast keeps: somebody trains on one of the first, or on this machine."""

_EXPERIMENT_FIELDS = (
    "precision",
    "optimizer",
    "channels_last",
    "compiled",
    "tuned",
    "zero_stage",
    "lora_rank",
    "four_bit_weights",
    "grad_checkpointing",
    "tensor_parallel",
    "pipeline_parallel",
    "offload",
)


class ForecastRow(NamedTuple):
    """One machine of a forecast, as far as an outcome can be held against it."""

    rank: int | None
    is_this_machine: bool
    words: str
    accelerator: str
    num_gpus: float
    num_nodes: int
    batch_size_per_gpu: int
    grad_accum_steps: int
    samples_per_s: Interval
    time_s: Interval | None
    cost_usd: Interval | None
    evidence: str | None


class Outcome(NamedTuple):
    """What really happened; None is not said. ``source`` is where it is from: 'said', a log's or a report's name."""

    samples_per_s: float | None
    time_s: float | None
    cost_usd: float | None
    added_at: str
    source: str


class Entry(NamedTuple):
    """A row of a forecast with the outcome it got, if any."""

    forecast_id: int
    made_at: str
    experiment: Mapping[str, Any]
    row: ForecastRow
    recommended: bool = False
    outcome: Outcome | None = None


def record_plan(plan: Plan, path: Path) -> int:
    """Append the plan's first rows, the recommended and this machine's; returns the forecast's number.

    Raises InputError where there is nothing to keep or the file cannot be written.
    """
    chosen = plan.recommendation.rank if plan.recommendation is not None else None
    kept = [
        row
        for place, row in enumerate(plan.estimates)
        if row.samples_per_s is not None and (place < ROWS_KEPT or row.is_this_machine or row.rank == chosen)
    ]
    if chosen is not None and plan.recommendation is not None and all(row.rank != chosen for row in kept):
        kept.append(plan.recommendation.estimate)
    if not kept:
        raise InputError("nothing was forecast that could be recorded")
    number = 1 + max((line["id"] for line in _lines(path) if line.get("kind") == "forecast"), default=0)
    experiment = plan.experiment
    line = {
        "kind": "forecast",
        "id": number,
        "made_at": plan.generated_at.isoformat(timespec="seconds"),
        "experiment": {
            "model": experiment.workload.name,
            "image_size": experiment.workload.image_size,
            "seq_length": experiment.workload.seq_length,
            **{name: getattr(experiment, name) for name in _EXPERIMENT_FIELDS},
        },
        "recommended": chosen,
        "rows": [_row_document(row) for row in kept],
    }
    _append(path, line)
    return number


def _row_document(row: Estimate) -> dict[str, Any]:
    where = "this machine" if row.is_this_machine else row.instance_type or row.name
    return {
        "rank": row.rank,
        "is_this_machine": row.is_this_machine,
        "words": where if row.provider is None else f"{row.provider}:{where}",
        "accelerator": row.accelerator,
        "num_gpus": row.num_gpus,
        "num_nodes": row.num_nodes,
        "batch_size_per_gpu": row.batch_size_per_gpu,
        "grad_accum_steps": row.grad_accum_steps,
        "samples_per_s": row.samples_per_s,
        "time_s": row.time_s,
        "cost_usd": row.cost_usd,
        "evidence": row.evidence,
    }


def add_outcome(path: Path, entry: Entry, outcome: Outcome) -> None:
    """Append what happened. Raises InputError where the file cannot be written."""
    line = {"kind": "outcome", "id": entry.forecast_id, "rank": entry.row.rank, **outcome._asdict()}
    _append(path, line)


def read_ledger(path: Path) -> list[Entry]:
    """Every row of every forecast, oldest first, with what was last said of each quantity.

    Raises InputError for an unreadable file.
    """
    entries: dict[tuple[int, int | None], Entry] = {}
    for line in _lines(path):
        try:
            for entry in _entries(line):
                entries[entry.forecast_id, entry.row.rank] = entry
            if line.get("kind") == "outcome":
                key = (line["id"], line["rank"])
                fields = {name: line[name] for name in Outcome._fields}
                entries[key] = entries[key]._replace(outcome=_merged(entries[key].outcome, Outcome(**fields)))
        except (KeyError, TypeError):
            continue
    return list(entries.values())


def _entries(line: dict[str, Any]) -> Iterator[Entry]:
    if line.get("kind") != "forecast":
        return
    for stored in line["rows"]:
        intervals = {
            name: None if stored[name] is None else Interval(*stored[name])
            for name in ("samples_per_s", "time_s", "cost_usd")
        }
        row = ForecastRow(**{**stored, **intervals})
        yield Entry(line["id"], line["made_at"], line["experiment"], row, row.rank == line["recommended"])


def _merged(older: Outcome | None, newer: Outcome) -> Outcome:
    """The newest of each quantity; ``source`` stays the one of the rate, if there is a rate."""
    if older is None:
        return newer
    if newer.samples_per_s is None and older.samples_per_s is not None:
        newer = newer._replace(samples_per_s=older.samples_per_s, source=older.source)
    return newer._replace(
        time_s=older.time_s if newer.time_s is None else newer.time_s,
        cost_usd=older.cost_usd if newer.cost_usd is None else newer.cost_usd,
    )


def find_entry(entries: Iterable[Entry], forecast_id: int | None, words: str | None) -> Entry:
    """The row of a forecast (the last one) by its rank, machine or accelerator; without, the recommended one.

    Raises InputError where there is none.
    """
    known = list(entries)
    if not known:
        raise InputError("no forecast was recorded yet: gpuplanner estimate ... --record")
    number = known[-1].forecast_id if forecast_id is None else forecast_id
    rows = [entry for entry in known if entry.forecast_id == number]
    if not rows:
        raise InputError(f"there is no forecast {number}; the last one is {known[-1].forecast_id}")
    if words is None:
        return next((entry for entry in rows if entry.recommended), rows[0])
    named = [entry for entry in rows if words.casefold() in _names(entry.row)]
    if len({(entry.row.num_gpus, entry.row.num_nodes) for entry in named}) > 1:
        choices = ", ".join(f"{entry.row.rank} ({entry.row.words})" for entry in named[:4])
        raise InputError(
            f"{words!r} is {len(named)} rows of forecast {number} with different numbers of GPUs: "
            f"--on {named[0].row.rank} or {words + ':1'!r} says which of {choices}"
        )
    if named:
        return named[0]
    choices = ", ".join(f"{entry.row.rank} ({entry.row.words})" for entry in rows[:4])
    more = f" and {len(rows) - 4} more" if len(rows) > 4 else ""
    raise InputError(
        f"forecast {number} has no row {words!r}; it has {choices}{more} "
        f"(of the rows that estimate shows at most {ROWS_KEPT} are recorded: narrow them with --gpus)"
    )


def _names(row: ForecastRow) -> tuple[str, ...]:
    """What people call a row: its rank, its words, the accelerator with or without how many."""
    accelerator = row.accelerator.casefold()
    return str(row.rank), row.words.casefold(), accelerator, f"{accelerator}:{row.num_gpus:g}"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the ledger {path} cannot be read: {error}") from error
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _append(path: Path, line: dict[str, Any]) -> None:
    """One write of one line, at the end wherever that then is."""
    data = (json.dumps(line) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"the ledger cannot be written to {path}: {error.strerror or error}") from error


def outcome_now(
    now: datetime, source: str, samples_per_s: float | None, time_s: float | None, cost_usd: float | None
) -> Outcome:
    """An outcome added now. Raises InputError where nothing is said."""
    if samples_per_s is None and time_s is None and cost_usd is None:
        raise InputError("say what happened: --samples-per-s, --step-time, --time, --cost, --log or --report")
    return Outcome(samples_per_s, time_s, cost_usd, now.isoformat(timespec="seconds"), source)
