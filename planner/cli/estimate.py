"""``gpuplanner estimate``: the main job."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from planner.cli.money import parse_currency
from planner.cli.opened_world import opened_world
from planner.cli.options import FORMATS, add_plan_arguments, experiment_request, question
from planner.errors import NothingFitsError
from planner.experiment.resolve import resolve_experiment
from planner.plan.plan import Plan
from planner.plan.planning import make_plan
from planner.plan.question import Question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser, (*FORMATS, "html"))


def run(arguments: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    currency = parse_currency(arguments.currency)
    experiment = resolve_experiment(experiment_request(arguments))
    asked = question(arguments, now)
    readable = arguments.output in ("table", "markdown", "html")
    plan = make_plan(
        experiment,
        asked,
        opened_world(arguments),
        now,
        max_rows=arguments.max_rows,
        by_machine=readable and arguments.group == "machine",
    )
    if arguments.output == "json":
        from planner.cli.plan_json import write_json

        write_json(plan, sys.stdout)
    elif arguments.output == "csv":
        from planner.cli.plan_json import write_csv

        write_csv(plan, sys.stdout)
    elif arguments.output == "html":
        from planner.cli.plan_html import plan_html

        sys.stdout.write(plan_html(plan, currency))
    else:
        from planner.cli.plan_table import plan_lines, plan_markdown

        lines = plan_markdown(plan, currency) if arguments.output == "markdown" else plan_lines(plan, currency)
        sys.stdout.write("\n".join(lines) + "\n")
    return _exit_code(plan, asked)


def _exit_code(plan: Plan, asked: Question) -> int:
    """3 when nothing fits, or when nothing meets the limits or has the GPUs asked for; rows were shown all the same."""
    if plan.recommendation is not None:
        return 0
    named = asked.gpus is not None and all(row.is_this_machine for row in plan.estimates)
    if not plan.estimates or asked.limits.given or named:
        return NothingFitsError.exit_code
    return 0
