"""``gpuplanner ledger``: how far off recorded forecasts were, and how often what happened was inside P10-P90."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator

from planner.cli.record import stored_ledger
from planner.cli.table import Column, render, terminal_width, use_color, wrapped
from planner.plan.ledger import Entry, read_ledger
from planner.plan.ledger_score import Checked, Score, checks, scores
from planner.units import counted, format_duration, format_money, format_rate

_COLUMNS = [
    Column("#", "right"),
    Column("made", drop=1),
    Column("model", width=24, least=12),
    Column("machine", width=28, least=14),
    Column("what"),
    Column("forecast P10–P90", width=34),
    Column("happened", "right"),
    Column("error", "right"),
    Column("inside"),
]
_WORDS = {"samples_per_s": "samples/s", "time_s": "time", "cost_usd": "cost"}
_FORMATS = {"samples_per_s": format_rate, "time_s": format_duration, "cost_usd": format_money}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (table)")


def run(arguments: argparse.Namespace) -> int:
    entries = read_ledger(stored_ledger())
    found = checks(entries)
    if arguments.output == "json":
        json.dump(_document(entries, found, scores(found)), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        sys.stdout.write("\n".join(_lines(entries, found)) + "\n")
    return 0


def _lines(entries: list[Entry], found: list[Checked]) -> Iterator[str]:
    forecasts = len({entry.forecast_id for entry in entries})
    if not forecasts:
        yield from wrapped("no forecast was recorded yet: gpuplanner estimate ... --record", terminal_width())
        return
    if found:
        yield from render(_COLUMNS, [_cells(row) for row in found], color=use_color())
        yield ""
    yield f"{counted(forecasts, 'forecast')}, {counted(len(found), 'outcome')} (gpuplanner record)"
    for score in scores(found):
        text = (
            f"{_WORDS[score.quantity]}: median error {score.median_error:.0%}, bias {math.expm1(score.bias):+.0%}, "
            f"{score.coverage:.0%} of {score.outcomes} inside P10–P90 (80% expected)"
        )
        yield from wrapped(text, terminal_width(), hanging="  ")


def _cells(row: Checked) -> list[str]:
    shown = _FORMATS[row.quantity]
    low, middle, high = (shown(value) for value in row.forecast)
    return [
        f"{row.entry.forecast_id}",
        row.entry.made_at[:10],
        str(row.entry.experiment["model"]),
        row.entry.row.words,
        _WORDS[row.quantity],
        f"{middle} ({low}–{high})",
        shown(row.outcome),
        f"{math.expm1(row.log_error):+.0%}",
        "yes" if row.inside else "no",
    ]


def _document(entries: list[Entry], found: list[Checked], totals: list[Score]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "scores": [score._asdict() for score in totals],
        "entries": [
            {
                "forecast": entry.forecast_id,
                "made_at": entry.made_at,
                "experiment": dict(entry.experiment),
                **_row(entry),
                "outcome": None if entry.outcome is None else entry.outcome._asdict(),
                "errors": {row.quantity: math.expm1(row.log_error) for row in found if row.entry is entry},
            }
            for entry in entries
        ],
    }


def _row(entry: Entry) -> dict[str, object]:
    intervals = {
        name: None if value is None else value._asdict()
        for name, value in entry.row._asdict().items()
        if name in _WORDS
    }
    return {**entry.row._asdict(), **intervals}
