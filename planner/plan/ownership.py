"""What an hour on one's own machine costs: electricity at the wall, and the purchase written off over its use."""

from collections.abc import Sequence
from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.hardware.profile import TrainingRun
from planner.plan.config import OwnershipTerms
from planner.plan.electricity import PSU_EFFICIENCY, UNKNOWN_SITE_PUE
from planner.plan.plan import Place

HOST_POWER_W: dict[Place, float] = {"laptop": 35.0, "workstation": 120.0, "cluster": 1000.0, "cloud": 300.0}
"""Power of everything but the accelerators, per node, where nobody said (assumption, stated with the answer)."""

CPU_TRAINING_POWER_W: dict[Place, float] = {"laptop": 45.0, "workstation": 200.0, "cluster": 600.0, "cloud": 300.0}
"""Power of a whole node that trains on its CPU, where nobody said (assumption, stated with the answer)."""

UNCOUNTED_SHARE = 0.5
"""Of the host's power above, what is not its processor's, whose own was counted (assumption, stated as well)."""

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


class CountedPower(NamedTuple):
    """Watts that the hardware's counters gave while training; None where there was none to read."""

    processor_w: float | None = None
    gpus_w: float | None = None

    @property
    def words(self) -> str:
        """'counted by the processor, the rest of the host assumed'."""
        if self.processor_w is None:
            return "counted by the GPU, the host assumed"
        counting = "the processor" if self.gpus_w is None else "the processor and the GPU"
        return f"counted by {counting}, the rest of the host assumed"


def counted_power(runs: Sequence[TrainingRun], machine: Machine) -> CountedPower | None:
    """The mean power of the training runs on the machine's own device; None where nothing was counted.

    Counters of GPUs are of all of them, of which a run has used one: they say nothing of a machine with several.
    """
    on_cpu = machine.accelerator.kind == "cpu"
    own = [run for run in runs if (run.device == "cpu") == on_cpu and run.step_time_s > 0]
    processor = [run.processor_j_per_step / run.step_time_s for run in own if run.processor_j_per_step is not None]
    boards = [run.gpus_j_per_step / run.step_time_s for run in own if run.gpus_j_per_step is not None]
    counted = CountedPower(
        sum(processor) / len(processor) if processor else None,
        sum(boards) / len(boards) if boards and not on_cpu and machine.num_gpus == 1 else None,
    )
    return None if counted == CountedPower() else counted


def wall_power_w(
    machine: Machine,
    place: Place,
    host_power_w: float | None = None,
    cluster_pue: float = UNKNOWN_SITE_PUE,
    counted: CountedPower | None = None,
) -> float | None:
    """Watts at the meter for all nodes while training; None where the accelerator's power is not known.

    Board and host power through the power supply, as ``counted`` where they were; a cluster's room is cooled on top.
    """
    counted = counted or CountedPower()
    if counted.processor_w is not None:
        host_power_w = counted.processor_w + UNCOUNTED_SHARE * HOST_POWER_W[place]
    if machine.accelerator.kind == "cpu" and counted.processor_w is not None:
        per_node = host_power_w or 0.0
    elif counted.gpus_w is not None:
        per_node = counted.gpus_w + (HOST_POWER_W[place] if host_power_w is None else host_power_w)
    elif machine.accelerator.kind == "cpu":
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
