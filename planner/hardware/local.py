"""This machine as the plan needs it: written by the profiler, handed on by the front doors."""

from typing import Literal, NamedTuple

from planner.hardware.machine import Machine


class FoundMachine(NamedTuple):
    """The machine that was found here, the place it is, and what was concluded rather than read."""

    machine: Machine
    place: Literal["laptop", "workstation", "cloud"]
    notes: tuple[str, ...]
