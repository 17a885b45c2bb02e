"""How MLPerf's logs count: where an epoch number is not the epochs trained, an epoch not the data set's samples, or a
batch not samples. mlperf_counts.csv, by hand: a row for each group of results, with the log that shows it."""

from __future__ import annotations

import csv
import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).parent / "mlperf_counts.csv"


class Counts(NamedTuple):
    """``epochs_added`` to the number of the last evaluation make the epochs trained, each of ``samples_per_epoch``
    (None: all of the data set's); a row of the global batch holds ``samples_per_row`` samples (packed sentences)."""

    epochs_added: float = 0.0
    samples_per_epoch: float | None = None
    samples_per_row: float = 1.0


def counts_of(path_or_url: str) -> Counts | None:
    """The counts of the first row of the table that matches a result's path; None where its log needs no mending."""
    path = path_or_url.removeprefix("github:")
    return next((counts for rows, counts in _table() if fnmatch.fnmatchcase(path, rows)), None)


@cache
def _table() -> tuple[tuple[str, Counts], ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple((row["rows"], _counts(row)) for row in csv.DictReader(file))


def _counts(row: dict[str, str]) -> Counts:
    samples = row["samples_per_epoch"]
    return Counts(float(row["epochs_added"]), float(samples) if samples else None, float(row["samples_per_row"]))
