"""This machine as the front doors hand it on, and where they keep what they remember of it."""

from __future__ import annotations

from pathlib import Path

from planner.errors import InputError
from planner.hardware.interconnect import Link
from planner.hardware.local import FoundMachine
from planner.hardware.machine import Machine
from planner.hardware.profile import Profile
from planner.profiler.detect import LocalMachine, quick_look


def cache_directory() -> Path | None:
    """The user's cache directory; None where there is no home to put it in."""
    from platformdirs import user_cache_path

    try:
        return user_cache_path("gpuplanner", appauthor=False)
    except (OSError, RuntimeError):
        return None


def profile_path() -> Path | None:
    """Where the profile of this machine is kept; None where there is no home to put it in."""
    from platformdirs import user_data_path

    try:
        return user_data_path("gpuplanner", appauthor=False) / "profile.json"
    except (OSError, RuntimeError):
        return None


def ledger_path() -> Path | None:
    """Where recorded forecasts are kept; None where there is no home to put them in."""
    profile = profile_path()
    return None if profile is None else profile.with_name("ledger.jsonl")


def store_path() -> Path | None:
    """The user's own prices, refreshed from the providers; None where there is no place for them."""
    directory = cache_directory()
    return None if directory is None else directory / "prices.sqlite"


def find_this_machine(profile: Path | None = None, *, use_profile: bool = True) -> FoundMachine:
    """A quick look at this machine, remembered in the cache directory, with the profile that was made of it.

    Raises InputError where ``profile`` names a file that is none; a stored one that cannot be used is a warning.
    """
    local = quick_look(cache_directory())
    found = FoundMachine(local.machine(), local.place, local.notes)
    return with_profile(found, local, profile) if use_profile else found


def with_profile(found: FoundMachine, local: LocalMachine, named: Path | None = None) -> FoundMachine:
    """The machine with the profile in the file ``named``, or with the stored one where that is of this machine."""
    path = named or profile_path()
    if path is None or (named is None and not path.is_file()):
        return found
    from planner.profiler.profile_file import machine_words, read_document, read_profile

    try:
        profile = read_profile(path)
        ours = named is not None or read_document(path)["machine"] == machine_words(local)
    except InputError as error:
        if named is not None:
            raise
        return found._replace(warnings=(*found.warnings, f"{error}: it is left out (gpuplanner profile)"))
    if not ours:
        warning = "the stored profile was made on another machine: it is left out (gpuplanner profile)"
        return found._replace(warnings=(*found.warnings, warning))
    sentence = f"this machine as it was measured: {profile.words} (--no-profile leaves it out)"
    if not profile.words:
        day = profile.made_at[:10]
        sentence = f"the profile of this machine of {day} is empty: its specifications are used (gpuplanner profile)"
    machine = with_measured_link(found.machine, profile)
    return found._replace(machine=machine, notes=(*found.notes, sentence), profile=profile)


def with_measured_link(machine: Machine, profile: Profile) -> Machine:
    """The machine whose GPUs are linked as fast as a sum over them went."""
    if profile.gpu is None or profile.gpu.all_reduce_bytes_per_s is None or machine.num_gpus < 2:
        return machine
    link = machine.link or Link("none", "unknown link", None, peer_access=False)
    return machine._replace(
        link=link._replace(
            measured_bytes_per_s=profile.gpu.all_reduce_bytes_per_s, num_measured=profile.gpu.num_reduced
        )
    )
