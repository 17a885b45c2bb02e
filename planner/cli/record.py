"""``gpuplanner record``: what really happened to a forecast that ``estimate --record`` kept."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from planner.errors import InputError
from planner.plan.ledger import (
    Entry,
    ForecastRow,
    Outcome,
    add_outcome,
    find_entry,
    outcome_now,
    read_ledger,
    record_plan,
)
from planner.plan.plan import Plan
from planner.profiler.this_machine import ledger_path
from planner.units import Interval, format_duration, format_money, format_rate, parse_duration
from planner.values import amount, not_negative, positive, whole

_EPILOG = """\
examples:
  gpuplanner estimate -m resnet50 -e 90 --record
  gpuplanner record --samples-per-s 804            the last forecast's first row
  gpuplanner record 7 --on RTX3090:1 --time 31h --cost 12.40
  gpuplanner record --on 3 --log train.log
  gpuplanner profile -o json -- python train.py 2> report.json; gpuplanner record --report report.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("forecast", nargs="?", type=whole, metavar="NUMBER", help="which forecast (the last one)")
    parser.add_argument("--on", metavar="ROW", help="its row: rank, machine or GPU, 'A100:8' (the recommended)")
    parser.add_argument("--samples-per-s", type=positive, metavar="N", help="samples a second, the whole job's")
    parser.add_argument("--step-time", type=positive, metavar="S", help="seconds an optimizer step took")
    parser.add_argument("--time", metavar="DURATION", help="how long all of it took: 31h, 2d4h")
    parser.add_argument("--cost", type=amount(not_negative), metavar="USD", help="what it cost")
    parser.add_argument("--log", metavar="FILE", help="a log that tells the rate as tqdm or Trainers do")
    parser.add_argument("--report", metavar="FILE", help="the report of gpuplanner profile -o json -- COMMAND")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (table)")


def run(arguments: argparse.Namespace) -> int:
    path = stored_ledger()
    entry = find_entry(read_ledger(path), arguments.forecast, arguments.on)
    samples_per_s, source = _rate(arguments, entry)
    time_s = parse_duration(arguments.time) if arguments.time is not None else None
    outcome = outcome_now(datetime.now().astimezone(), source, samples_per_s, time_s, arguments.cost)
    add_outcome(path, entry, outcome)
    if samples_per_s is not None and not _likely(samples_per_s, entry.row.samples_per_s):
        sys.stderr.write(
            f"gpuplanner: {format_rate(samples_per_s)} samples/s is far outside the forecast for {entry.row.words}, "
            "and every estimate learns from it: if another machine ran it, record it again for that one (--on)\n"
        )
    if arguments.output == "json":
        json.dump(
            {"schema_version": 1, "forecast": entry.forecast_id, "rank": entry.row.rank, **outcome._asdict()},
            sys.stdout,
        )
        sys.stdout.write("\n")
    else:
        told = "; ".join(_against_forecast(outcome, entry.row))
        sys.stdout.write(f"forecast {entry.forecast_id}, {entry.row.words}: {told}\n")
    return 0


def stored_ledger() -> Path:
    """Where forecasts are kept. Raises InputError where there is no place."""
    path = ledger_path()
    if path is None:
        raise InputError("there is no home directory to keep forecasts in")
    return path


def record_forecast(plan: Plan) -> None:
    """Keep the plan and say under which number, on standard error."""
    number = record_plan(plan, stored_ledger())
    sys.stderr.write(f"gpuplanner: recorded as forecast {number}; gpuplanner record says later what happened\n")


def _rate(arguments: argparse.Namespace, entry: Entry) -> tuple[float | None, str]:
    """(samples/s of the whole job or None, where it is from). Raises InputError where several ways contradict."""
    ways = [name for name in ("samples_per_s", "step_time", "log", "report") if getattr(arguments, name) is not None]
    if len(ways) > 1:
        flags = " and ".join(f"--{way.replace('_', '-')}" for way in ways)
        raise InputError(f"{flags} tell the same thing: give one of them")
    row = entry.row
    batch = row.batch_size_per_gpu * row.grad_accum_steps * max(1, int(row.num_gpus)) * row.num_nodes
    if arguments.step_time is not None:
        return batch / arguments.step_time, "said"
    if arguments.log is not None:
        return _rate_of_log(Path(arguments.log), batch), arguments.log
    if arguments.report is not None:
        return _rate_of_report(Path(arguments.report), batch), arguments.report
    return arguments.samples_per_s, "said"


def _rate_of_log(path: Path, batch: float) -> float:
    from planner.profiler.step_log import told_rate

    try:
        told = told_rate(path.read_bytes())
    except OSError as error:
        raise InputError(f"the log {path} cannot be read: {error.strerror or error}") from error
    if told.samples_per_s is not None:
        return told.samples_per_s
    if told.steps_per_s is None:
        raise InputError(f"{path} tells no rate as tqdm ('4.01it/s') or Trainers ('train_samples_per_second') do")
    return told.steps_per_s * batch


def _rate_of_report(path: Path, batch: float) -> float:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        report = next(json.loads(line) for line in reversed(lines) if line.startswith('{"schema_version"'))
        if report["samples_per_s"] is not None:
            return float(report["samples_per_s"])
        return batch / float(report["step_time_s"])
    except OSError as error:
        raise InputError(f"the report {path} cannot be read: {error.strerror or error}") from error
    except (StopIteration, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is no report of gpuplanner profile -o json -- COMMAND that tells a rate") from error


def _likely(samples_per_s: float, forecast: tuple[float, float, float]) -> bool:
    """Whether a rate is within twice the way from the forecast's P50 to its P10 or P90, on a logarithmic scale."""
    low, middle, high = forecast
    return low**2 / middle <= samples_per_s <= high**2 / middle


def _against_forecast(outcome: Outcome, row: ForecastRow) -> Iterator[str]:
    """What was told, each beside what had been forecast of it: '804 samples/s, forecast 790 (702 to 880)'."""
    told: tuple[tuple[float | None, Interval | None, Callable[[float], str], str], ...] = (
        (outcome.samples_per_s, row.samples_per_s, format_rate, " samples/s"),
        (outcome.time_s, row.time_s, format_duration, ""),
        (outcome.cost_usd, row.cost_usd, format_money, ""),
    )
    for actual, forecast, show, unit in told:
        if actual is None:
            continue
        if forecast is None:
            yield f"{show(actual)}{unit}, of which there was no forecast"
            continue
        low, middle, high = map(show, forecast)
        yield f"{show(actual)}{unit}, forecast {middle} ({low} to {high})"
