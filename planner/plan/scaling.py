"""How many GPUs: one experiment on one to many of them, where that stops paying, and separate experiments instead."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.interconnect import Network, default_link
from planner.hardware.machine import Machine
from planner.plan.candidates import Candidate
from planner.plan.timeline import timeline
from planner.throughput.evidence import Knowledge
from planner.throughput.step import StepModel
from planner.units import SECONDS_PER_HOUR, Interval

WORTH_IT = 0.5
"""A further GPU is worth it while it adds at least this share of what the first one trains (assumption)."""


class Scale(NamedTuple):
    """The experiment on ``num_gpus`` GPUs of each of ``num_nodes`` nodes; None where it does not fit (``problem``).

    ``efficiency`` is its speed-up over the least that fits, for each GPU; ``added`` the speed-up that each GPU since
    the row before has brought. ``usd`` is what the GPUs' hours cost, None where nobody rents such a node out.
    """

    num_gpus: int
    num_nodes: int
    batch_size_per_gpu: int
    grad_accum_steps: int
    global_batch_size: int
    samples_per_s: Interval | None
    time_s: Interval | None
    communication_share: float | None
    efficiency: float | None
    added: float | None
    usd: float | None
    problem: str

    @property
    def devices(self) -> int:
        return self.num_gpus * self.num_nodes


class Scan(NamedTuple):
    """Rows by number of GPUs. ``knee`` is the last before a further GPU adds less than ``WORTH_IT``; None for none."""

    rows: tuple[Scale, ...]
    knee: Scale | None


def counts(per_node: int, num_nodes: int) -> list[tuple[int, int]]:
    """(GPUs per node, nodes): every number within a node, then whole nodes."""
    return [(gpus, 1) for gpus in range(1, per_node + 1)] + [(per_node, nodes) for nodes in range(2, num_nodes + 1)]


def kept_batch(experiment: Experiment) -> int:
    """The global batch that is kept: the one fixed, or one GPU's recipe."""
    if experiment.global_batch_size is not None:
        return experiment.global_batch_size
    batch = experiment.batch_size_per_gpu or experiment.workload.recipe_batch_size_per_gpu
    return batch * (experiment.grad_accum_steps or 1)


def with_kept_batch(experiment: Experiment) -> Experiment:
    """The experiment whose global batch does not grow with the GPUs."""
    return experiment._replace(global_batch_size=kept_batch(experiment), batch_size_per_gpu=None, grad_accum_steps=None)


def machine_of(device: Accelerator, gpus: int, nodes: int, network: Network | None) -> Machine:
    """``gpus`` of the accelerator in each of ``nodes`` nodes, linked as they usually are."""
    between = network if nodes > 1 else None
    return Machine(device.name, device, gpus, nodes, link=default_link(device, gpus), network=between)


def scan(
    experiment: Experiment,
    device: Accelerator,
    sizes: Iterable[tuple[int, int]],
    network: Network | None,
    node_usd_per_hour: dict[int, float],
    knowledge: Knowledge | None = None,
    cluster_node_usd_per_hour: float | None = None,
) -> Scan:
    """The experiment at every size. ``node_usd_per_hour`` is the hourly price of a node by its GPUs.

    ``cluster_node_usd_per_hour`` is that of a node which has the network, where it is another one.
    """
    model = StepModel(experiment, knowledge)
    rows: list[Scale] = []
    for gpus, nodes in sizes:
        usd = cluster_node_usd_per_hour if nodes > 1 else None
        machine = machine_of(device, gpus, nodes, network)
        rows.append(_scale(experiment, model, machine, rows, node_usd_per_hour.get(gpus) if usd is None else usd))
    return Scan(tuple(rows), _knee(rows))


def _scale(
    experiment: Experiment, model: StepModel, machine: Machine, before: Sequence[Scale], node_usd: float | None
) -> Scale:
    step = model.estimate(machine)
    gpus, nodes = int(machine.num_gpus), machine.num_nodes
    batch = (step.batch_size_per_gpu, step.grad_accum_steps, step.global_batch_size)
    if not step.fits or step.samples_per_s is None or step.parts is None:
        return Scale(gpus, nodes, *batch, None, None, None, None, None, None, step.reason or "it does not fit")
    time_s = timeline(experiment, machine, step, rented=False).total
    rate = step.samples_per_s.p50
    fitting = [row for row in before if row.samples_per_s is not None]
    first = fitting[0] if fitting else None
    one = rate / machine.devices if first is None or first.samples_per_s is None else _rate(first) / first.devices
    last = fitting[-1] if fitting else None
    return Scale(
        gpus,
        nodes,
        *batch,
        samples_per_s=step.samples_per_s,
        time_s=time_s,
        communication_share=step.parts.communication_s / step.parts.total_s,
        efficiency=rate / machine.devices / one,
        added=None if last is None else (rate - _rate(last)) / one / (machine.devices - last.devices),
        usd=None if node_usd is None else node_usd * nodes * time_s.p50 / SECONDS_PER_HOUR,
        problem="",
    )


def _rate(row: Scale) -> float:
    return row.samples_per_s.p50 if row.samples_per_s is not None else 0.0


def _knee(rows: Sequence[Scale]) -> Scale | None:
    fitting = [row for row in rows if row.time_s is not None]
    knee = None
    for row in fitting:
        if row.added is not None and row.added < WORTH_IT:
            break
        knee = row
    return knee


class Separate(NamedTuple):
    """As many experiments as GPUs, one on each at once, or one after another on all: seconds until the last ends."""

    experiments: int
    at_once_s: float
    one_by_one_s: float


def separate(rows: Sequence[Scale], most: Scale) -> Separate | None:
    """What ``most.devices`` experiments take either way; None where one GPU is too small for one."""
    single = next((row for row in rows if row.devices == 1), None)
    if single is None or single.time_s is None or most.time_s is None:
        return None
    return Separate(most.devices, single.time_s.p50, most.time_s.p50 * most.devices)


class Node(NamedTuple):
    """A rented node: its provider and type, USD an hour, and what it has between nodes (None where not known)."""

    name: str
    usd_per_hour: float
    network: Network | None


def cheapest_nodes(candidates: Iterable[Candidate], key: str, *, networked: bool = False) -> dict[int, Node]:
    """The cheapest rented node with these accelerators by how many it has; ``networked``: of known network only."""
    found: dict[int, Node] = {}
    for candidate in candidates:
        machine = candidate.machine
        if machine.accelerator.key != key or machine.num_gpus < 1 or candidate.blocked:
            continue
        if networked and (machine.network is None or machine.network.bandwidth_bytes_per_s is None):
            continue
        count = int(machine.num_gpus)
        for offer in candidate.offers:
            if offer is not None and (count not in found or offer.usd_per_hour < found[count].usd_per_hour):
                found[count] = Node(machine.name, offer.usd_per_hour, machine.network)
    return found
