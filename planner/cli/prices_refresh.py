"""``gpuplanner prices refresh``, and the refresh before an estimate: read the feeds, show how far, say what changed."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.listing import SCHEMA_VERSION, write_records
from planner.cli.prices_catalog import as_planner_error, say, words
from planner.cli.prices_history import change_cells, change_columns, change_record
from planner.cli.progress import ProgressBars
from planner.cli.table import markdown, render, use_color
from planner.errors import InputError, PlannerError
from planner.plan.config import load_config
from planner.profiler.this_machine import store_path
from planner.units import format_bytes
from pricing.errors import PricingError

if TYPE_CHECKING:
    from pricing.live import LiveRefresh
    from pricing.refresh import Outcome, Summary

ASK_ABOVE_BYTES = 1_000_000_000
_CHANGES_SHOWN = 12
_LINES_A_PROVIDER = 8
_NOTES_SHOWN = 8


def run(arguments: argparse.Namespace) -> int:
    summary = refresh(
        words(arguments.provider), words(arguments.region), yes=arguments.yes, credentials=not arguments.no_credentials
    )
    if arguments.output == "json":
        _write_json(summary)
    elif arguments.output == "csv":
        write_records("changes", [change_record(change) for change in summary.changes], "csv")
    else:
        _write_words(summary, in_markdown=arguments.output == "markdown")
    return 0 if summary.is_complete else PlannerError.exit_code


def refresh(
    providers: Sequence[str] = (), regions: Sequence[str] = (), *, yes: bool = False, credentials: bool = True
) -> Summary:
    """Read the feeds into the user's store. Raises InputError where nobody may or wants to say yes, or DataError."""
    from pricing.live import LiveRefresh
    from pricing.sources import DEFAULT_AWS_REGIONS, Asked

    store = store_path()
    if store is None:
        raise PlannerError("there is no cache directory to keep refreshed prices in (set XDG_CACHE_HOME)")
    gc.enable()  # the command line works without it; a refresh reads for minutes
    own = words([load_config().aws_regions or ""])
    asked = Asked(tuple(providers), tuple(regions), own or DEFAULT_AWS_REGIONS, credentials)
    try:
        live = LiveRefresh(store, asked, os.environ, Path.home(), datetime.now(UTC))
        for note in live.notes:
            say(note)
        return asyncio.run(_read(live, yes))
    except PricingError as error:
        raise as_planner_error(error) from error


def refresh_before_planning() -> None:
    """Refresh what needs no set-up; what fails is said, and the plan goes on with what was known."""
    summary = refresh()
    for outcome in summary.outcomes:
        if outcome.problem:
            say(f"{outcome.source}: {outcome.problem}; what was known stays")
    say(f"prices refreshed: {len(summary.changes):,} changed or new")


async def _read(live: LiveRefresh, yes: bool) -> Summary:
    bars = ProgressBars()
    try:
        size = await live.large_bytes()
    except PricingError:
        size = 0  # without a network every source will say so itself
    if size:
        say(f"large files to read: {format_bytes(size)}")
    if size > ASK_ABOVE_BYTES and not yes:
        _ask(size)
    try:
        return await live.run(lambda progress: bars.update(*progress))
    finally:
        bars.close()


def _ask(size: int) -> None:
    """Go on only where the user says so. Raises InputError otherwise."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError(
            f"{format_bytes(size)} are to be read, more than 1 GB: gpuplanner prices refresh -y, or fewer regions"
        )
    sys.stderr.write("go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was read; name fewer regions with --region")


def _write_words(summary: Summary, *, in_markdown: bool) -> None:
    lines = [line for alike in _alike(summary.outcomes) for line in _outcome_lines(alike)]
    moved = [change for change in summary.changes if change.old_price]
    new = len(summary.changes) - len(moved)
    lines += ["", f"{len(moved):,} prices changed, {new:,} are new"]
    if moved:
        cells = [change_cells(change) for change in moved[:_CHANGES_SHOWN]]
        lines += (
            markdown(change_columns(), cells) if in_markdown else render(change_columns(), cells, color=use_color())
        )
    if len(moved) > _CHANGES_SHOWN:
        lines.append(f"... and {len(moved) - _CHANGES_SHOWN:,} more: gpuplanner prices history --since last -n 0")
    sys.stdout.write("\n".join(lines) + "\n")


def _alike(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Sources that failed for one reason are told together, and so are the many regions that went well."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.provider, outcome.problem), []).append(outcome)
    told: list[list[Outcome]] = []
    for (_, problem), group in groups.items():
        together = len(group) > 1 if problem else len(group) > _LINES_A_PROVIDER
        told += [group] if together else [[outcome] for outcome in group]
    return told


def _outcome_lines(alike: Sequence[Outcome]) -> list[str]:
    first = alike[0]
    what = first.source if len(alike) == 1 else f"{len(alike)} sources of {first.provider} ({first.source} ...)"
    if first.problem:
        return [f"FAIL {what}: {first.problem}; what was known stays"]
    offers, apart, gone = (
        sum(getattr(outcome, name) for outcome in alike) for name in ("offers", "quarantined", "not_seen")
    )
    parts = [f"{offers:,} prices"]
    parts += [f"{apart:,} set apart"] if apart else []
    parts += [f"{gone:,} not seen again"] if gone else []
    unchanged = sum(outcome.unchanged for outcome in alike)
    parts += [f"{unchanged} unchanged since they were last read"] if unchanged else []
    notes = Counter(note for outcome in alike for note in outcome.notes)
    return [
        f"ok   {what}: {', '.join(parts)}",
        *(
            f"     {note}" + (f" ({count} times)" if count > 1 else "")
            for note, count in notes.most_common(_NOTES_SHOWN)
        ),
    ]


def _write_json(summary: Summary) -> None:
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "complete": summary.is_complete,
        "sources": [outcome._asdict() for outcome in summary.outcomes],
        "changes": [change_record(change) for change in summary.changes],
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")
