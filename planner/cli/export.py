"""``gpuplanner export``: a file that launches the chosen row, and a lock of what it was chosen from."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from planner.cli.money import currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import add_choice_arguments, add_plan_arguments, experiment_request, question
from planner.cli.plan_json import SCHEMA_VERSION, estimate_record, plan_record
from planner.errors import InputError
from planner.experiment.resolve import resolve_experiment
from planner.handoff.formats import FORMATS
from planner.handoff.launch import WRITTEN_BY, launch
from planner.plan.pick import pick
from planner.plan.plan import Estimate
from planner.plan.planning import Answer, answer, numbered, written
from planner.plan.search import pareto_front

_LOCK_NAME = "plan.lock.json"
_EPILOG = """\
examples:
  gpuplanner export -m resnet50 --to skypilot -f task.yaml --lock
  gpuplanner export -m resnet50 --spot --row 3 --to dstack
  gpuplanner export -m bert-base -d squad -e 2 --on 'A100:8' --to slurm -f train.sbatch
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser)
    parser.epilog = _EPILOG
    add_choice_arguments(parser)
    group = parser.add_argument_group("what is written")
    group.add_argument("--to", required=True, choices=tuple(FORMATS), help="the launcher that the file is for")
    group.add_argument("-f", "--file", metavar="FILE", help="write there instead of to standard output")
    group.add_argument(
        "--lock",
        nargs="?",
        const=_LOCK_NAME,
        metavar="FILE",
        help=f"also write all inputs, prices and versions, for gpuplanner diff ({_LOCK_NAME})",
    )
    group.add_argument("--force", action="store_true", help="write over files that are not gpuplanner's own")


def run(arguments: argparse.Namespace) -> int:
    if arguments.output not in ("table", "json"):
        raise InputError(f"export writes a launch file; -o {arguments.output} has no meaning here (json has)")
    if not arguments.force:
        _check_may_write(arguments.file, _is_launch_file)
        _check_may_write(arguments.lock, _is_lock)
    now = datetime.now().astimezone()
    currency = currency_of(arguments.currency, arguments.output)
    request = experiment_request(arguments)
    experiment = resolve_experiment(request)
    asked = question(arguments, now)
    world = opened_world(arguments)
    answered = answer(experiment, asked, world, now)
    by_machine = arguments.group == "machine"
    choice = pick(answered, world.providers(), arguments.on, arguments.row, by_machine=by_machine)
    row = launch(experiment, choice, now)._replace(money=currency.show, said=currency.rate(now))
    text = FORMATS[arguments.to](row)
    chosen = estimate_record(_numbered(row.estimate, answered))
    if arguments.lock is not None:
        from planner.handoff.lock import lock_record, prices_of

        plan = plan_record(written(experiment, answered, now, max_rows=arguments.max_rows))
        prices = prices_of(answered, {"estimates": [*plan["estimates"], chosen]})
        _write(arguments.lock, _json(lock_record(plan, chosen, request, asked, world.config, prices)))
    if arguments.file is not None:
        _write(arguments.file, text)
    if arguments.output == "json":
        record = {"schema_version": SCHEMA_VERSION, "to": arguments.to, "file": arguments.file}
        sys.stdout.write(_json({**record, "lock": arguments.lock, "text": text, "estimate": chosen}))
    elif arguments.file is None:
        sys.stdout.write(text)
    return 0


def _numbered(estimate: Estimate, answered: Answer) -> Estimate:
    """The estimate as a plan of all offers numbers it: its machine's number, and whether another beats it."""
    rows = answered.ranking.rows
    index = (estimate.rank or 0) - 1
    machines = numbered(rows, answered.best, by_machine=True)
    return estimate._replace(row=machines.get(index), on_front=index in pareto_front(rows))


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def _check_may_write(name: str | None, is_ours: Callable[[str], bool]) -> None:
    """Raise InputError rather than write over what somebody else wrote."""
    if name is None or not Path(name).is_file():
        return
    try:
        ours = is_ours(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise InputError(f"{name} is there and was not written by gpuplanner: name another file, or say --force")


def _is_launch_file(text: str) -> bool:
    return not text or any(line.startswith(f"# {WRITTEN_BY} ") for line in text.splitlines())


def _is_lock(text: str) -> bool:
    """Raises ValueError for what is no JSON."""
    if not text:
        return True
    record = json.loads(text)
    return isinstance(record, dict) and "schema_version" in record and "lock" in record


def _write(name: str, text: str) -> None:
    """Raises InputError where the file cannot be written."""
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {name}: {error.strerror or error}") from error
    print(f"wrote {name}", file=sys.stderr)  # noqa: T201
