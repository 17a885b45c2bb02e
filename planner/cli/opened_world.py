"""The world that a planning command asks in: prices, refreshed first where that is asked for, and this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.plan.world import World, open_world
from planner.profiler.this_machine import find_this_machine, ledger_path, store_path


def opened_world(arguments: argparse.Namespace) -> World:
    """Raises DataError or InputError."""
    if arguments.refresh:
        from planner.cli.prices_refresh import refresh_before_planning

        refresh_before_planning()
    local = find_this_machine(
        Path(arguments.profile) if arguments.profile else None, use_profile=not arguments.no_profile
    )
    return open_world(local, store_path(), ledger_path())
