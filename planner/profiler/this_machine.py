"""This machine as the front doors hand it on, and where they keep what they remember of it."""

from __future__ import annotations

from pathlib import Path

from planner.hardware.local import FoundMachine
from planner.profiler.detect import quick_look


def cache_directory() -> Path | None:
    """The user's cache directory; None where there is no home to put it in."""
    from platformdirs import user_cache_path

    try:
        return user_cache_path("gpuplanner", appauthor=False)
    except (OSError, RuntimeError):
        return None


def store_path() -> Path | None:
    """The user's own prices, refreshed from the providers; None where there is no place for them."""
    directory = cache_directory()
    return None if directory is None else directory / "prices.sqlite"


def find_this_machine() -> FoundMachine:
    """A quick look at this machine, remembered in the cache directory."""
    local = quick_look(cache_directory())
    return FoundMachine(local.machine(), local.place, local.notes)
