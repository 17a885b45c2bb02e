"""The hand-written table beside the reports: how each becomes an experiment, or why it cannot (cases.toml)."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).parent / "cases.toml"
REPLAYED_KINDS = "ABC"


class Report(NamedTuple):
    """One public report; ``outcome`` is its main figure where that is a number."""

    id: str
    kind: str
    source: str
    url: str
    model: str
    gpu: str
    outcome: float | None
    outcome_unit: str


class Replay(NamedTuple):
    """One experiment on one machine whose prediction is held against a report.

    ``measure`` is a key of ``replay.FIGURES``, "times_as_fast" as the machine ``beside``, "fits", or
    "tight" (a run at the limit, of which the warning is right as well); ``outcome`` is in
    that measure's unit (None: the report's main figure), a bool for "fits". ``software`` has StepModel's arguments for
    software of another lineage or time, and ``stored_scores`` for attention that is not fused, both as the backtest
    reads them. A report is right when all its replays are that do not say ``extra``.
    """

    id: str
    measure: str
    outcome: float | bool | None
    experiment: dict[str, Any]
    machine: dict[str, Any]
    label: str
    extra: bool
    beside: dict[str, Any]
    software: dict[str, Any]


class Case(NamedTuple):
    """All that is known of a report: its replays (none: ``cause`` says why not), how it was read, why it is missed."""

    id: str
    replays: tuple[Replay, ...]
    reading: str
    cause: str
    explanation: str


def read_reports(path: Path) -> list[Report]:
    """The reports to replay: kinds A, B and C with all fields, in the table's order."""
    with path.open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    return [_report(row) for row in rows if row["kind"] in REPLAYED_KINDS and row["replay"] == "full"]


def _report(row: dict[str, str]) -> Report:
    return Report(
        id=row["id"],
        kind=row["kind"],
        source=row["source"],
        url=row["url"],
        model=row["model"],
        gpu=row["gpu"],
        outcome=_number(row["outcome_value"]),
        outcome_unit=row["outcome_unit"],
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_cases(path: Path = TABLE) -> dict[str, Case]:
    """Every case by the report's id."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {id_: _case(id_, entry) for id_, entry in entries.items()}


def _case(id_: str, entry: dict[str, Any]) -> Case:
    return Case(
        id=id_,
        replays=tuple(_replays(id_, entry)),
        reading=entry.get("reading", ""),
        cause=entry.get("cause", ""),
        explanation=entry.get("explanation", ""),
    )


def _replays(id_: str, entry: dict[str, Any]) -> Iterable[Replay]:
    """A case's own experiment and machine are what its replays share."""
    shared, machine = entry.get("experiment", {}), entry.get("machine", {})
    for replay in entry.get("replay", []):
        yield Replay(
            id=id_,
            measure=replay["measure"],
            outcome=replay.get("outcome"),
            experiment={**shared, **replay.get("experiment", {})},
            machine={**machine, **replay.get("machine", {})},
            label=replay.get("label", ""),
            extra=replay.get("extra", False),
            beside={**machine, **replay.get("beside", {})},
            software=entry.get("software", {}),
        )
