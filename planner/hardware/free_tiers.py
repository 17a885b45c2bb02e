"""Notebooks that lend a GPU for nothing: the machine, and how long they lend it at a time and in a week.

They are no offers: nobody can buy them by the hour, and their limits decide what they are good for.
"""

from functools import cache
from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.hardware.tables import number, read_rows


class FreeTier(NamedTuple):
    """A free runtime. ``weekly_hours`` is None where the provider publishes no limit, which does not mean none.

    ``runtime`` is the provider's own name for it, ``ended`` the day since when it is not lent any more, ``disk_bytes``
    what data and checkpoints must fit in (None: not known to bind). ``source`` says where the limits stand, as seen
    on ``as_of``; the machine's own source is in the table.
    """

    name: str
    provider: str
    runtime: str
    machine: Machine
    session_hours: float
    weekly_hours: float | None
    disk_bytes: float | None
    ended: str | None
    source: str
    as_of: str


@cache
def free_tiers() -> tuple[FreeTier, ...]:
    """The free runtimes of the table, in its order."""
    return tuple(_free_tier(row) for row in read_rows("free_tiers.csv"))


def _free_tier(row: dict[str, str]) -> FreeTier:
    return FreeTier(
        name=row["name"],
        provider=row["provider"],
        runtime=row["runtime"],
        machine=machine_from_spec(
            row["name"], row["gpu"], int(row["count"]), vcpus=float(row["vcpus"]), ram_gb=float(row["ram_gib"])
        ),
        session_hours=float(row["session_hours"]),
        weekly_hours=number(row["weekly_hours"]),
        disk_bytes=number(row["disk_gb"], 1e9),
        ended=row["ended"] or None,
        source=row["limits_source"],
        as_of=row["as_of"],
    )
