"""This machine as the plan needs it: written by the profiler, handed on by the front doors."""

from typing import Literal, NamedTuple

from planner.hardware.machine import Machine
from planner.hardware.profile import Profile


class FoundMachine(NamedTuple):
    """The machine that was found here, the place it is, and what was concluded rather than read.

    ``profile`` is what was measured on it (``gpuplanner profile``), None where nothing was or it is not to be used;
    ``warnings`` say why a stored one is not.
    """

    machine: Machine
    place: Literal["laptop", "workstation", "cloud"]
    notes: tuple[str, ...]
    profile: Profile | None = None
    warnings: tuple[str, ...] = ()
