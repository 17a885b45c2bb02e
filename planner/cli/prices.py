"""``gpuplanner prices``: list what is known, refresh it from the providers, say how old it is, and what changed."""

from __future__ import annotations

import argparse
from importlib import import_module

from planner.cli.commands import HelpFormatter
from planner.errors import InputError
from planner.values import amount, positive, rows

_EXAMPLES = """\
examples:
  gpuplanner prices list --gpus H100:8 --sort usd_per_gpu_hour
  gpuplanner prices list --provider gcp --region 'us-*' --spot -o json
  gpuplanner prices refresh --provider azure --region eastus
  gpuplanner prices status
  gpuplanner prices history --since 2026-11-01
"""
_ACTIONS = {
    "list": ("prices_list", "the offers that are known, filtered and sorted"),
    "refresh": ("prices_refresh", "read the providers' own feeds; exit 1 where one could not be read to its end"),
    "status": ("prices_status", "how old the prices are, where they come from, what failed and what was set apart"),
    "history": ("prices_history", "which prices changed, newest first"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, (_, words) in _ACTIONS.items():
        action = actions.add_parser(
            name,
            help=words,
            description=words[0].upper() + words[1:] + ".",
            formatter_class=HelpFormatter,
            allow_abbrev=False,
        )
        {"list": _add_list, "refresh": _add_refresh, "status": _add_output, "history": _add_history}[name](action)


def run(arguments: argparse.Namespace) -> int:
    if arguments.action is None:
        raise InputError(f"say what to do with prices: {', '.join(_ACTIONS)} (gpuplanner prices --help)")
    module, _ = _ACTIONS[arguments.action]
    code: int = import_module(f"planner.cli.{module}").run(arguments)
    return code


def _add_list(parser: argparse.ArgumentParser) -> None:
    _add_places(parser)
    parser.add_argument("--gpus", metavar="SPEC", help="H100:8, 80GB+:8 or 24GB..80GB (count per machine)")
    parser.add_argument("--num-gpus", type=positive, metavar="N", help="accelerators per machine")
    parser.add_argument("--min-memory", type=positive, metavar="GIB", help="least memory of one accelerator")
    purchase = parser.add_mutually_exclusive_group()
    purchase.add_argument("--spot", action="store_const", const="spot", dest="purchase", help="spot prices only")
    purchase.add_argument(
        "--on-demand", action="store_const", const="on_demand", dest="purchase", help="on-demand prices only"
    )
    purchase.add_argument(
        "--purchase",
        choices=("on_demand", "spot", "reserved", "savings_plan", "capacity_block"),
        help="prices of one way to buy",
    )
    parser.add_argument("--max-price", type=amount(positive), metavar="USD", help="dearest hour of a machine")
    parser.add_argument(
        "--sort",
        choices=("usd_per_hour", "usd_per_gpu_hour", "price_as_of"),
        default="usd_per_hour",
        help="order of the rows (usd_per_hour)",
    )
    parser.add_argument("-n", "--max-rows", type=rows, default=20, metavar="N", help="rows shown, 0 for all (20)")
    _add_output(parser)


def _add_refresh(parser: argparse.ArgumentParser) -> None:
    _add_places(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="read large files (over 1 GB) without asking")
    parser.add_argument(
        "--no-credentials", action="store_true", help="use public feeds only, whatever credentials there are"
    )
    _add_output(parser)


def _add_history(parser: argparse.ArgumentParser) -> None:
    _add_places(parser)
    parser.add_argument("name", nargs="*", metavar="WORD", help="machines whose name contains the words")
    parser.add_argument(
        "--since", metavar="DAY", help="changes from this day on (2026-11-01), or 'last' for the last refresh"
    )
    parser.add_argument("-n", "--max-rows", type=rows, default=20, metavar="N", help="rows shown, 0 for all (20)")
    _add_output(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--provider", action="append", metavar="NAME", help="a provider; may be repeated")
    parser.add_argument("--region", action="append", metavar="GLOB", help="a region, 'us-*'; may be repeated")


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", choices=("table", "json", "csv", "markdown"), default="table", help="format (table)"
    )
