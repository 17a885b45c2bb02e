"""``gpuplanner backtest FILE.csv``: how wrong are we, row by row and by GPU, family, precision, source and evidence."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from planner.cli.table import Column, markdown, render, use_color
from planner.errors import InputError
from planner.throughput.backtest import BacktestReport, BacktestRow, Score, run_backtest
from planner.units import UNKNOWN

SCHEMA_VERSION = 1
MAX_FILE_BYTES = 512 << 20
_MOST_GROUPS = 30
_MOST_REASONS = 20
_EPILOG = """\
columns: model, gpu, n_gpus, n_nodes, precision, batch_per_gpu, input, and a rate as samples_per_s, step_time_ms, or
metric_median with metric_unit; opt_step, framework_version, variant, mode and source are used when present.

errors are of samples/s: ape is |predicted / measured - 1|, bias the mean of ln(predicted / measured), coverage the
share of measurements inside P10-P90.

examples:
  gpuplanner backtest measurements.csv
  gpuplanner backtest measurements.csv.gz --anchor 'RTX 3090' -o json
"""
_COLUMNS = (
    Column("group", width=44, least=16),
    Column("rows", "right"),
    Column("predicted", "right"),
    Column("median %", "right"),
    Column("mean %", "right", drop=1),
    Column("P90 %", "right"),
    Column("bias", "right"),
    Column("cover %", "right"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("file", metavar="FILE", type=Path, help="measured rows: .csv or .csv.gz")
    parser.add_argument(
        "--anchor", metavar="GPU", help="use the rows measured on this GPU, predict the others from them"
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "csv", "markdown"), default="table")


def run(arguments: argparse.Namespace) -> int:
    columns, rows = read_rows(arguments.file)
    report = run_backtest(rows, arguments.anchor)
    if arguments.output == "json":
        json.dump(_record(report), sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif arguments.output == "csv":
        _write_csv(columns, report)
    else:
        sys.stdout.write("\n".join(_lines(report, arguments.output)) + "\n")
    return 0


def read_rows(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The header and the rows of a CSV file, gzipped or not. Raises InputError with what is wrong with it."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as unpacked:
                data = unpacked.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB")
        text = data.decode("utf-8-sig")
        table = csv.DictReader(io.StringIO(text, newline=""), restval="", restkey="", delimiter=_separator(path, text))
        table.fieldnames = columns = [name.strip().lower() for name in table.fieldnames or ()]
        rows = [{name: row[name] for name in columns} for row in table]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else f"it is no readable CSV ({error})"
        raise InputError(f"cannot read {path}: {reason}") from error
    missing = [name for name in ("model", "gpu") if name not in columns]
    if missing:
        raise InputError(f"{path} has no column {' and no column '.join(missing)}; see gpuplanner backtest --help")
    if not rows:
        raise InputError(f"{path} has a header and no rows: there is nothing to predict")
    return columns, rows


def _separator(path: Path, text: str) -> str:
    """What parts the header's columns. Raises InputError for semicolons: a comma in their numbers may be a point."""
    header = text.partition("\n")[0]
    if header.count(";") > max(header.count(","), header.count("\t")):
        raise InputError(
            f"cannot read {path}: semicolons part its columns: save it with commas or tabs, and points in numbers"
        )
    return "\t" if "\t" in header and "," not in header else ","


def _record(report: BacktestReport) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "total": report.total._asdict(),
        "groups": {
            kind: {name: score._asdict() for name, score in members.items()} for kind, members in report.groups.items()
        },
        "rows": [{**row.row, **_prediction(row)} for row in report.rows],
    }


def _prediction(row: BacktestRow) -> dict[str, Any]:
    return {
        "predicted_samples_per_s": row.predicted_samples_per_s,
        "p10": row.p10,
        "p90": row.p90,
        "ape": row.ape,
        "evidence": row.evidence,
        "flags": list(row.flags),
        "reason": row.reason,
    }


def _write_csv(columns: list[str], report: BacktestReport) -> None:
    added = [name for name in _prediction(BacktestRow({})) if name not in columns]
    writer = csv.DictWriter(sys.stdout, columns + added, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in report.rows:
        prediction = _prediction(row)
        writer.writerow({**row.row, **prediction, "flags": ";".join(prediction["flags"])})


def _lines(report: BacktestReport, output: str) -> list[str]:
    cells = [_cells("all rows", report.total)]
    for kind, members in report.groups.items():
        predicted = [(name, score) for name, score in members.items() if score.n_predicted]
        largest = sorted(predicted, key=lambda item: -item[1].n)[:_MOST_GROUPS]
        cells += [_cells(f"{kind} {name}", score) for name, score in largest]
    as_markdown = output == "markdown"
    table = markdown(_COLUMNS, cells) if as_markdown else render(_COLUMNS, cells, ("bold",), color=use_color())
    return table + _reasons(report)


def _cells(name: str, score: Score) -> list[str]:
    errors = (score.median_ape, score.mean_ape, score.p90_ape)
    return [
        name,
        f"{score.n:,}",
        f"{score.n_predicted:,}",
        *(UNKNOWN if error is None else f"{error * 100:.1f}" for error in errors),
        UNKNOWN if score.bias is None else f"{score.bias:+.3f}",
        UNKNOWN if score.coverage is None else f"{score.coverage * 100:.0f}",
    ]


def _reasons(report: BacktestReport) -> list[str]:
    counted = Counter(row.reason for row in report.rows if row.reason)
    if not counted:
        return []
    lines = ["", f"not predicted: {sum(counted.values()):,} rows"]
    lines += [f"{count:>6,}  {reason}" for reason, count in counted.most_common(_MOST_REASONS)]
    if len(counted) > _MOST_REASONS:
        lines.append(f"        and {len(counted) - _MOST_REASONS} more reasons (-o json has them all)")
    return lines
