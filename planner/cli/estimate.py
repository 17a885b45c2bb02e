"""``gpuplanner estimate``: the main job."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from planner.cli.money import Currency, currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import FORMATS, add_plan_arguments, experiment_request, question
from planner.cli.table import use_color
from planner.errors import NothingFitsError
from planner.experiment.resolve import resolve_experiment
from planner.plan.plan import Plan
from planner.plan.planning import answer, written

if TYPE_CHECKING:
    from planner.cli.decision import Shown

READABLE = ("table", "markdown", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser, (*FORMATS, "html"))
    group = parser.add_argument_group("what else to show")
    group.add_argument("--front", action="store_true", help="rows that none beats in both time and cost")
    group.add_argument("--record", action="store_true", help="keep this forecast in the ledger (gpuplanner record)")
    group.add_argument("--compare", metavar="RANKS", help="these rows side by side, bill and all: 1,4,9")


def run(arguments: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    currency = currency_of(arguments.currency, arguments.output)
    experiment = resolve_experiment(experiment_request(arguments))
    asked = question(arguments, now)
    by_machine = arguments.output in READABLE and arguments.group == "machine"
    world = opened_world(arguments)
    answered = answer(experiment, asked, world, now)
    plan = written(
        experiment,
        answered,
        now,
        max_rows=arguments.max_rows,
        by_machine=by_machine,
        keep_best=arguments.output in READABLE,
        money=currency.show,
    )
    if asked.limits.given and answered.best is None:
        from planner.plan.nearest import nearest

        moved = nearest(experiment, asked, answered, world, now, currency.show)
        plan = plan._replace(nearest=(*plan.nearest, *moved))
    shown = None
    if arguments.front or arguments.compare is not None:
        from planner.cli.decision import decision

        shown = decision(answered, now, show_front=arguments.front, compare=arguments.compare, by_machine=by_machine)
    plan = plan._replace(assumptions=(*plan.assumptions, *currency.rate(now)))
    _write(plan, shown, currency, arguments.output)
    if arguments.record:
        from planner.cli.record import record_forecast

        record_forecast(plan)
    return _exit_code(plan)


def _write(plan: Plan, shown: Shown | None, currency: Currency, output: str) -> None:
    """The plan in the format asked for; CSV and HTML have no place for what else was asked to be shown."""
    if output == "json":
        from planner.cli.plan_json import write_json

        write_json(plan, sys.stdout, _more(shown))
    elif output == "csv":
        from planner.cli.plan_json import write_csv

        write_csv(plan, sys.stdout)
    elif output == "html":
        from planner.cli.plan_html import plan_html

        sys.stdout.write(plan_html(plan, currency))
    else:
        from planner.cli.plan_table import plan_lines, plan_markdown

        lines = plan_markdown(plan, currency) if output == "markdown" else plan_lines(plan, currency)
        if shown is not None:
            from planner.cli.decision import decision_lines

            lines += decision_lines(shown, currency, as_markdown=output == "markdown", color=use_color())
        sys.stdout.write("\n".join(lines) + "\n")


def _more(shown: Shown | None) -> dict[str, Any]:
    """The JSON keys that are there only where they are asked for."""
    if shown is None:
        return {}
    from planner.cli.decision import decision_record

    return decision_record(shown)


def _exit_code(plan: Plan) -> int:
    """3 when nothing may be recommended, whatever the reason; rows were shown all the same."""
    return NothingFitsError.exit_code if plan.recommendation is None else 0
