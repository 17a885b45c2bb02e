"""``gpuplanner diff``: two plans of one question compared."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.plan_json import SCHEMA_VERSION, estimate_record, plan_record
from planner.cli.table import Column, render, styled, terminal_width, use_color, wrapped
from planner.errors import InputError
from planner.handoff.diff import (
    Change,
    Cost,
    PlanDiff,
    RowChange,
    compare,
    key,
    moved,
    recommended,
    row_words,
    taken_by_hand,
)
from planner.handoff.plan_shape import checked
from planner.plan.words import bound_mark
from planner.units import format_duration, format_money
from planner.values import rows

if TYPE_CHECKING:
    from planner.plan.planning import Answer

_EPILOG = """\
examples:
  gpuplanner export -m resnet50 --to bash -f train.sh --lock old.json
  gpuplanner estimate -m resnet50 -o json > new.json
  gpuplanner diff old.json new.json
  gpuplanner diff old.json                (the same question asked again today)
"""
_HANDED_OFF = (".yaml", ".yml", ".sh", ".sbatch", ".slurm")
"""How the files end that ``export`` writes to start a run."""
_COLUMNS = (
    Column("way to run", width=46, least=20),
    Column("rank", "right"),
    Column("$/h", "right", drop=1),
    Column("time", "right"),
    Column("cost", "right"),
    Column("cost moved", "right"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("old", metavar="OLD.json", help="a lock, or the JSON of gpuplanner estimate")
    parser.add_argument(
        "new", metavar="NEW.json", nargs="?", help="another plan; without one, OLD's question is asked again today"
    )
    parser.add_argument("-n", "--max-rows", type=rows, default=20, metavar="N", help="rows shown, 0 for all (20)")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (table)")


def run(arguments: argparse.Namespace) -> int:
    old = _read(arguments.old)
    new = _asked_again(arguments.old, old) if arguments.new is None else _read(arguments.new)
    difference = compare(old, new)
    if arguments.output == "json":
        json.dump(_record(difference, old, new), sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write("\n".join(_lines(difference, arguments.max_rows)) + "\n")
    return 0


def _read(name: str) -> dict[str, Any]:
    try:
        text = Path(name).read_text(encoding="utf-8")
        record = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except ValueError as error:
        _refuse_a_job(name)
        raise InputError(f"{name} is not JSON: {error}") from error
    try:
        return checked(record)
    except InputError as error:
        raise InputError(f"{name} is no plan: {error}") from error


def _refuse_a_job(name: str) -> None:
    """Raise InputError for a file that starts a run: its plan is in the lock that was written beside it."""
    if Path(name).suffix.lower() in _HANDED_OFF:
        raise InputError(
            f"{name} is no plan: a file that starts a run has none in it; name the lock that export --lock LOCK.json "
            "wrote with it"
        )


def _finite(text: str) -> float:
    """JSON has no infinity, and no number that is none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number of it")
    return value


def _asked_again(name: str, lock: dict[str, Any]) -> dict[str, Any]:
    """The lock of the same question today; a row that was taken instead of the recommended one is taken again."""
    from planner.experiment.resolve import resolve_experiment
    from planner.handoff.lock import lock_record, prices_of
    from planner.handoff.replay import inputs_of
    from planner.plan.planning import answer, written
    from planner.plan.world import open_world
    from planner.profiler.this_machine import find_this_machine, store_path

    now = datetime.now().astimezone()
    try:
        request, asked = inputs_of(lock, now)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    world = open_world(find_this_machine(), store_path())
    experiment = resolve_experiment(request)
    answered = answer(experiment, asked, world, now)
    plan = plan_record(written(experiment, answered, now, max_rows=len(lock["estimates"])))
    taken = taken_by_hand(lock)
    chosen = recommended(plan) if taken is None else _same_row(answered, taken, now)
    shown = {"estimates": [*plan["estimates"], *([chosen] if chosen else [])]}
    return lock_record(plan, chosen, request, asked, world.config, prices_of(answered, shown))


def _same_row(answered: Answer, taken: Mapping[str, Any], now: datetime) -> dict[str, Any] | None:
    """The record of the row that is the same way to run as ``taken``; None where there is none any more."""
    from planner.plan.rows import ranked_estimate

    for rank, row in enumerate(answered.ranking.rows, start=1):
        candidate, offer = row.setting.candidate, row.offer
        place = (None, None) if offer is None else (offer.region, offer.zone)
        if (candidate.name, *place, candidate.purchase(offer)) == tuple(taken.get(name) for name in _ROW_NAMES):
            record = estimate_record(ranked_estimate(row, rank, on_front=False, now=now))
            if key(record) == key(taken):
                return record
    return None


_ROW_NAMES = ("name", "region", "zone", "purchase")


def _record(difference: PlanDiff, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    def side(plan: dict[str, Any]) -> dict[str, Any]:
        return {name: plan.get(name) for name in ("generated_at", "prices_as_of")}

    return {
        "schema_version": SCHEMA_VERSION,
        "old": side(old),
        "new": side(new),
        "choice": {
            "flips": difference.flips,
            "sentence": difference.sentence,
            "old": difference.old_choice,
            "new": difference.new_choice,
        },
        "inputs": [change._asdict() for change in difference.inputs],
        "versions": [change._asdict() for change in difference.versions],
        "rows": [
            {
                **{name: change.row.get(name) for name in _KEPT},
                **{value.name: {"old": value.old, "new": value.new} for value in change.figures},
            }
            for change in difference.rows
        ],
        "appeared": [{name: row.get(name) for name in _KEPT} for row in difference.appeared],
        "gone": [{name: row.get(name) for name in _KEPT} for row in difference.gone],
        "cut_off": difference.cut_off,
    }


_KEPT = ("provider", "name", "instance_type", "region", "zone", "purchase", "accelerator", "num_gpus", "num_nodes")


def _lines(difference: PlanDiff, max_rows: int) -> list[str]:
    width, color = terminal_width(), use_color()
    lines = [styled(line, "bold", color) for line in wrapped(difference.sentence, width)]
    for title, changes in (("Asked otherwise", difference.inputs), ("Other versions", difference.versions)):
        if changes:
            lines += ["", styled(title, "bold", color)]
            for change in changes:
                lines += wrapped(f"- {_change_words(change)}", width, hanging="  ")
    changed = moved(difference.rows)
    if changed:
        shown = changed[:max_rows] if max_rows else changed
        lines += ["", styled(f"Moved: {len(changed):,} of {len(difference.rows):,} rows in both", "bold", color)]
        lines += render(_COLUMNS, [_cells(change) for change in shown], color=color)
    for title, several in (("Only in the new plan", difference.appeared), ("Only in the old plan", difference.gone)):
        if several:
            named = [row_words(row) for row in several[:5]]
            more = f" and {len(several) - 5:,} more" if len(several) > 5 else ""
            lines += ["", *wrapped(f"{title}: {'; '.join(named)}{more}.", width)]
    if not (changed or difference.inputs or difference.versions or difference.appeared or difference.gone):
        lines.append("Nothing else moved.")
    if difference.cut_off:
        lines += ["", *wrapped(f"Rows that -n cut off in one of the plans: {difference.cut_off:,}.", width)]
    return lines


def _change_words(change: Change) -> str:
    return f"{change.name}: {_word(change.old)} -> {_word(change.new)}"


def _word(value: Any) -> str:
    return "–" if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)


def _cells(change: RowChange) -> list[str]:
    old, new = change.cost_usd.old, change.cost_usd.new
    return [
        row_words(change.row),
        _pair(_word(change.rank.old), _word(change.rank.new)),
        _pair(format_money(change.usd_per_hour.old), format_money(change.usd_per_hour.new)),
        _pair(format_duration(change.time_s.old), format_duration(change.time_s.new)),
        _pair(bound_mark(Cost(change.before)) + format_money(old), bound_mark(Cost(change.row)) + format_money(new)),
        "–" if not old or new is None else f"{new / old - 1:+.1%}",
    ]


def _pair(old: str, new: str) -> str:
    return new if old == new else f"{old} → {new}"
