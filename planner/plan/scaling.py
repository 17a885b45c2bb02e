"""How many GPUs: one experiment on one to many of them, where that stops paying, and separate experiments instead.

Each size runs on the machine that has as many of the GPUs and on which the run is the cheapest, with that machine's
host, links and bill, so that its row is what ``estimate`` and ``explain`` say of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.interconnect import Network, default_link
from planner.hardware.machine import Machine
from planner.plan.candidates import Candidate, Tariff
from planner.plan.probability import p_both
from planner.plan.search import Limits
from planner.plan.whole_run import WholeRun, whole_run
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge
from planner.throughput.step import StepModel
from planner.units import Interval
from pricing.offer import Offer

WORTH_IT = 0.5
"""A further GPU is worth it while it adds at least this share of what the first one trains (assumption)."""


class Scale(NamedTuple):
    """The experiment on ``num_gpus`` GPUs of each of ``num_nodes`` nodes; None where it does not fit (``problem``).

    ``efficiency`` is its speed-up over the least that fits, for each GPU; ``added`` the speed-up that each GPU since
    the row before has brought. ``machine`` and ``purchase`` name what it runs on; where nobody has such a machine they
    are None, and so is ``cost_usd``. ``p_meets`` is None without limits.
    """

    num_gpus: int
    num_nodes: int
    batch_size_per_gpu: int
    grad_accum_steps: int
    global_batch_size: int
    samples_per_s: Interval | None = None
    time_s: Interval | None = None
    communication_share: float | None = None
    efficiency: float | None = None
    added: float | None = None
    bound_by: str | None = None
    machine: str | None = None
    purchase: str | None = None
    cost_usd: Interval | None = None
    p_meets: float | None = None
    problem: str = ""

    @property
    def usd(self) -> float | None:
        """What the likely run costs."""
        return None if self.cost_usd is None else self.cost_usd.p50

    @property
    def devices(self) -> int:
        return self.num_gpus * self.num_nodes


class Scan(NamedTuple):
    """Rows by number of GPUs. ``knee`` is the last before a further GPU adds less than ``WORTH_IT``; None for none.

    ``fewest`` is the first row that meets the limits with the confidence asked for; None without limits, or for none.
    """

    rows: tuple[Scale, ...]
    knee: Scale | None
    fewest: Scale | None = None


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


class Host(NamedTuple):
    """A machine that has the GPUs, and an offer for it; None for one that is owned."""

    candidate: Candidate
    offer: Offer | None

    @property
    def usd_per_hour(self) -> float:
        return self.candidate.usd_per_hour(self.offer) or 0.0


class Market(NamedTuple):
    """Where sizes can be had: ``hosts`` of one node by how many GPUs it has, for each way to pay the cheapest.

    ``network`` is what the user says is between nodes; None takes that of the nodes. ``tariff`` of a provider and a
    number of nodes is what a run pays there beside the nodes' hours.
    """

    device: Accelerator
    hosts: Mapping[int, Sequence[Host]]
    networked: Mapping[int, Sequence[Host]]
    network: Network | None = None
    tariff: Callable[[str, int], Tariff] | None = None

    def options(self, gpus: int, nodes: int) -> Iterator[Host]:
        """Who has ``nodes`` nodes of ``gpus`` GPUs; where nobody has, their share of a larger node, without a price."""
        hosts = self.hosts.get(gpus, ())
        if nodes > 1 and self.network is None:
            hosts = self.networked.get(gpus, ()) or hosts
        for candidate, offer in hosts:
            between = self.network or candidate.machine.network
            machine = candidate.machine._replace(num_nodes=nodes, network=between)
            tariff = candidate.tariff
            if nodes > 1 and self.tariff is not None and candidate.provider is not None:
                tariff = self.tariff(candidate.provider, nodes)
            yield Host(candidate._replace(machine=machine, tariff=tariff), offer)
        if not hosts:
            yield Host(_nobodys(self._share(gpus, nodes)), None)

    def between(self, per_node: int) -> tuple[Network | None, str]:
        """The network of several nodes, and whose it is: "" where the user said it; None where none is known."""
        linked = [] if self.network is not None else list(self.networked.get(per_node, ()))
        if not linked:
            return self.network, ""
        machine = min(linked, key=lambda host: host.usd_per_hour).candidate.machine
        return machine.network, machine.name

    def _share(self, gpus: int, nodes: int) -> Machine:
        """``gpus`` of the accelerator, linked as they usually are, with their part of the host of a machine known."""
        known = sorted(self.hosts, key=lambda count: (count < gpus, abs(count - gpus)))
        host = self.hosts[known[0]][0].candidate.machine if known else None
        machine = machine_of(self.device, gpus, nodes, self.network)
        if host is None:
            return machine
        share = gpus / host.num_gpus
        return machine._replace(
            cpu=host.cpu,
            vcpus=None if host.vcpus is None else host.vcpus * share,
            ram_bytes=None if host.ram_bytes is None else host.ram_bytes * share,
        )


def _nobodys(machine: Machine) -> Candidate:
    return Candidate(machine.name, "workstation", machine, Tariff(()), (None,), hypothetical=True)


def machine_of(device: Accelerator, gpus: int, nodes: int, network: Network | None) -> Machine:
    """``gpus`` of the accelerator in each of ``nodes`` nodes, linked as they usually are."""
    between = network if nodes > 1 else None
    return Machine(device.name, device, gpus, nodes, link=default_link(device, gpus), network=between)


def scan(
    experiment: Experiment,
    market: Market,
    sizes: Iterable[tuple[int, int]],
    limits: Limits,
    now: datetime,
    knowledge: Knowledge | None = None,
) -> Scan:
    """The experiment at every size, (GPUs per node, nodes)."""
    model = StepModel(experiment, knowledge)
    rows: list[Scale] = []
    for gpus, nodes in sizes:
        tried = [_tried(experiment, model, host, limits, now) for host in market.options(gpus, nodes)]
        rows.append(_scale(min(tried, key=lambda one: one.merit(limits)), rows))
    fewest = next((row for row in rows if row.p_meets is not None and row.p_meets >= limits.confidence), None)
    return Scan(tuple(rows), _knee(rows), fewest)


class _Tried(NamedTuple):
    """A size on one of the machines that have it; ``run`` is None where it does not fit, or never ends."""

    host: Host
    step: StepEstimate
    run: WholeRun | None
    p_meets: float | None

    def merit(self, limits: Limits) -> tuple[bool, bool, float, float]:
        """What meets the limits first, then by what it costs at most (P90), so that no rare interruption is ignored."""
        cost = self.run.cost_usd if self.run is not None else None
        misses = limits.given and (self.p_meets or 0.0) < limits.confidence
        return self.run is None, misses, cost.p90 if cost is not None else 0.0, self.host.usd_per_hour


def _tried(experiment: Experiment, model: StepModel, host: Host, limits: Limits, now: datetime) -> _Tried:
    step = model.estimate(host.candidate.machine)
    run = whole_run(experiment, host.candidate, host.offer, step, now.date())
    longest_s = (limits.deadline - now).total_seconds() if limits.deadline is not None else None
    p_meets = None if run is None else p_both(run.time_s, longest_s, run.cost_usd, limits.budget_usd)
    return _Tried(host, step, run, p_meets)


def _scale(tried: _Tried, before: Sequence[Scale]) -> Scale:
    step, machine = tried.step, tried.host.candidate.machine
    gpus, nodes = int(machine.num_gpus), machine.num_nodes
    batch = (step.batch_size_per_gpu, step.grad_accum_steps, step.global_batch_size)
    if tried.run is None or step.samples_per_s is None or step.parts is None:
        problem = step.reason or "interrupted so often that it would never finish"
        return Scale(gpus, nodes, *batch, problem=problem)
    rate = step.samples_per_s.p50
    fitting = [row for row in before if row.samples_per_s is not None]
    first = fitting[0] if fitting else None
    one = rate / machine.devices if first is None or first.samples_per_s is None else _rate(first) / first.devices
    last = fitting[-1] if fitting else None
    candidate = tried.host.candidate
    is_had = bool(candidate.tariff.charges)
    return Scale(
        gpus,
        nodes,
        *batch,
        samples_per_s=step.samples_per_s,
        time_s=tried.run.time_s,
        communication_share=step.parts.communication_s / step.parts.total_s,
        efficiency=rate / machine.devices / one,
        added=None if last is None else (rate - _rate(last)) / one / (machine.devices - last.devices),
        bound_by=step.bound_by,
        machine=_name(candidate) if is_had else None,
        purchase=candidate.purchase(tried.host.offer) if is_had else None,
        cost_usd=tried.run.cost_usd,
        p_meets=tried.p_meets,
    )


def _name(candidate: Candidate) -> str:
    return candidate.machine.name if candidate.provider is not None else candidate.name


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


def hosts_of(candidates: Iterable[Candidate], key: str, *, networked: bool = False) -> dict[int, list[Host]]:
    """By how many of the accelerators they have: the cheapest machine for each way to pay, of those rented out; an
    owned one where none is. ``networked``: only of known network."""
    rented: dict[int, dict[str, Host]] = {}
    owned: dict[int, Host] = {}
    for candidate in candidates:
        machine = candidate.machine
        if machine.accelerator.key != key or machine.num_gpus < 1 or candidate.blocked or candidate.free_tier:
            continue
        if networked and (machine.network is None or machine.network.bandwidth_bytes_per_s is None):
            continue
        count = int(machine.num_gpus)
        for offer in candidate.offers:
            host = Host(candidate, offer)
            if offer is None:
                owned.setdefault(count, host)
                continue
            cheapest = rented.setdefault(count, {})
            known = cheapest.get(offer.purchase)
            if known is None or host.usd_per_hour < known.usd_per_hour:
                cheapest[offer.purchase] = host
    found = {count: list(by_purchase.values()) for count, by_purchase in rented.items()}
    return {count: [host] for count, host in owned.items()} | found
