"""``gpuplanner sweep``: many experiments over a pool of machines."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from planner.cli.money import currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import add_plan_arguments, experiment_request, question
from planner.cli.sweep_file import EMPTY, SweepFile, read_sweep
from planner.errors import InputError, NothingFitsError
from planner.experiment.resolve import ExperimentRequest
from planner.plan.sweep import ORDERS
from planner.plan.sweep_grid import free_names, parse_axis, with_settings
from planner.plan.sweep_pool import DEFAULT_RENTALS, parse_entry
from planner.plan.swept import SweepQuestion, sweep
from planner.values import whole

DEFAULT_MODEL = "resnet50"
DEFAULT_REPEAT = 8

_EPILOG = f"""\
examples:
  gpuplanner sweep -m resnet50 --grid epochs=30,90 --grid lr=0.1,0.03,0.01 --grid seed=1..4
  gpuplanner sweep -m bert-base -d squad -e 2 --grid seed=1..20 --pool 'this machine' --pool 'RTX 4090=2'
  gpuplanner sweep -f sweep.toml --deadline 'Fri 18:00' --budget 150 --max-rentals 4

Without --grid and --file it plans {DEFAULT_REPEAT} runs of the same experiment (--repeat).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser, model=DEFAULT_MODEL)
    parser.epilog = _EPILOG
    group = parser.add_argument_group("the sweep")
    group.add_argument("-f", "--file", metavar="FILE", help="grid, pool and settings from a TOML or YAML file")
    group.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="values to combine: epochs=30,90 or seed=1..5 (repeatable; other names than estimate's are yours)",
    )
    group.add_argument("--repeat", type=whole, metavar="N", help="each combination that often")
    group.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="WHAT[=COUNT]",
        help=f"a machine as --on names it, COUNT of it (repeatable; default: yours and {DEFAULT_RENTALS} rented)",
    )
    group.add_argument(
        "--max-rentals", type=whole, metavar="N", help="machines rented at once; several nodes of a job are one"
    )
    group.add_argument("--order", choices=ORDERS, default="shortest", help="what a machine runs first (shortest)")


def run(arguments: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    currency = currency_of(arguments.currency, arguments.output)
    file = EMPTY if arguments.file is None else read_sweep(arguments.file)
    asked = _asked(arguments, file)
    swept = sweep(asked, question(arguments, now), opened_world(arguments), now)
    if arguments.output in ("json", "csv"):
        from planner.cli.sweep_json import write_csv, write_json

        (write_json if arguments.output == "json" else write_csv)(swept, sys.stdout)
    else:
        from planner.cli.sweep_table import sweep_lines

        markdown = arguments.output == "markdown"
        swept = swept._replace(assumptions=(*swept.assumptions, *currency.rate(now)))
        lines = sweep_lines(swept, currency, arguments.max_rows, markdown=markdown)
        sys.stdout.write("\n".join(lines) + "\n")
    return 0 if swept.meets else NothingFitsError.exit_code


def _asked(arguments: argparse.Namespace, file: SweepFile) -> SweepQuestion:
    """The sweep of the file and the flags; a flag wins over the file. Raises InputError."""
    if arguments.max_rentals is not None and arguments.max_rentals < 0:
        raise InputError(f"--max-rentals must be 0 or more, not {arguments.max_rentals}")
    if arguments.repeat is not None and arguments.repeat < 1:
        raise InputError(f"--repeat must be 1 or more, not {arguments.repeat}")
    axes = tuple(parse_axis(text) for text in arguments.grid)
    alone = not (axes or file.axes or file.singles)
    repeat = arguments.repeat or (DEFAULT_REPEAT if alone else 1)
    request = _shared(experiment_request(arguments), file)
    return SweepQuestion(
        variants=tuple(file.variants(request, axes, repeat)),
        entries=tuple(parse_entry(text) for text in (arguments.pool or file.pool)),
        max_rentals=arguments.max_rentals if arguments.max_rentals is not None else file.max_rentals,
        order=arguments.order,
        free_names=tuple(dict.fromkeys((*free_names((*file.axes, *axes)), *file.free_names))),
    )


def _shared(flags: ExperimentRequest, file: SweepFile) -> ExperimentRequest:
    """What all experiments have in common: the file's settings, but for those that a flag was given for."""
    unsaid = ExperimentRequest(DEFAULT_MODEL)
    written = with_settings(unsaid, file.settings)
    said = {
        name: value
        for name, value in flags._asdict().items()
        if value != getattr(unsaid, name) or getattr(written, name) == getattr(unsaid, name)
    }
    return written._replace(**said)
