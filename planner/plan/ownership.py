"""What an hour on one's own machine costs: electricity at the wall, and the purchase written off over its use."""

from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.plan.config import OwnershipTerms
from planner.plan.electricity import PSU_EFFICIENCY, UNKNOWN_SITE_PUE
from planner.plan.plan import Place

HOST_POWER_W: dict[Place, float] = {"laptop": 35.0, "workstation": 120.0, "cluster": 1000.0, "cloud": 300.0}
"""Power of everything but the accelerators, per node, where nobody said (assumption, stated with the answer)."""

CPU_TRAINING_POWER_W: dict[Place, float] = {"laptop": 45.0, "workstation": 200.0, "cluster": 600.0, "cloud": 300.0}
"""Power of a whole node that trains on its CPU, where nobody said (assumption, stated with the answer)."""

HOURS_PER_YEAR = 8766.0


class Ownership(NamedTuple):
    """What the owner pays: wall power of all nodes (W; None unknown) and the purchase price (USD; None unknown).

    ``rent_usd_per_hour`` is an hourly price the owner stated (an own rented VM, a cluster's internal rate).
    """

    power_w: float | None
    power_source: str
    purchase_usd: float | None
    purchase_source: str
    rent_usd_per_hour: float | None = None
    price_as_of: str | None = None


def wall_power_w(
    machine: Machine, place: Place, host_power_w: float | None = None, cluster_pue: float = UNKNOWN_SITE_PUE
) -> float | None:
    """Watts at the meter for all nodes while training; None where the accelerator's power is not known.

    Board and host power through the power supply; a cluster's room is cooled on top.
    """
    if machine.accelerator.kind == "cpu":
        per_node = CPU_TRAINING_POWER_W[place]
    elif machine.accelerator.power_w is None:
        return None
    else:
        per_node = machine.num_gpus * machine.accelerator.power_w + (
            HOST_POWER_W[place] if host_power_w is None else host_power_w
        )
    overhead = cluster_pue if place == "cluster" else 1.0
    return per_node * machine.num_nodes / PSU_EFFICIENCY * overhead


def amortisation_usd_per_hour(purchase_usd: float, terms: OwnershipTerms) -> float:
    """(price - resale) over the hours of use in the lifetime."""
    hours = terms.lifetime_years * HOURS_PER_YEAR * terms.use_share
    return purchase_usd * (1 - terms.resale_share) / hours
