"""How many GPUs: one experiment on one to many of them, where that stops paying, and separate experiments instead.

Each size runs on the machine with as many of the GPUs that ``estimate`` would recommend, with that machine's host,
links and bill, so that its row is what ``estimate`` and ``explain`` say of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.interconnect import Network, default_link
from planner.hardware.machine import Machine
from planner.plan.candidates import Candidate, Tariff
from planner.plan.probability import p_both
from planner.plan.recommend import NOTHING_NAMED, Named, doubt_of, recommend, recommendable
from planner.plan.search import Limits, Refusal, rank
from planner.plan.tail import is_sound
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
    the size before that somebody has brings. ``machine`` and ``purchase`` name what it runs on; where nobody has such
    a machine they are None, and so is ``cost_usd``, which is what is left to pay once ``credit_usd`` of a credit is
    used up; ``at_most``: a part of it is taken at the dearest rate known of anybody. ``hypothetical`` is a machine that
    nobody has, or that must be bought first. ``p_meets`` is None without limits, and where a budget is given and the
    cost is not known.
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
    credit_usd: float = 0.0
    p_meets: float | None = None
    problem: str = ""
    hypothetical: bool = False
    at_most: bool = False

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
    Both are sizes that somebody has, where there are any.
    """

    rows: tuple[Scale, ...]
    knee: Scale | None
    fewest: Scale | None = None

    @property
    def had(self) -> list[Scale]:
        """The sizes on which it fits and that somebody has; where nobody has any, all on which it fits."""
        return _had(self.rows)


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


class Market(NamedTuple):
    """Where sizes can be had: ``machines`` of one node by how many GPUs they have, with all their offers.

    ``network`` is what the user says is between nodes; None takes that of the nodes. ``tariff`` of a provider and a
    number of nodes is what a run pays there beside the nodes' hours. ``named`` may be recommended for being named.
    """

    device: Accelerator
    machines: Mapping[int, Sequence[Candidate]]
    network: Network | None = None
    tariff: Callable[[str, int], Tariff] | None = None
    named: Named = NOTHING_NAMED

    def options(self, gpus: int, nodes: int) -> list[Candidate]:
        """Who has ``nodes`` nodes of ``gpus`` GPUs: of several nodes the one whose network is taken, where one is."""
        found = self.machines.get(gpus, ())
        if nodes == 1:
            return list(found)
        linked = self._linked(gpus)
        return [self._several(candidate, nodes) for candidate in (found if linked is None else [linked])]

    def between(self, per_node: int) -> tuple[Network | None, str]:
        """The network of several nodes, and whose it is: "" where the user said it; None where none is known."""
        linked = self._linked(per_node)
        return (self.network, "") if linked is None else (linked.machine.network, linked.machine.name)

    def _linked(self, gpus: int) -> Candidate | None:
        """The cheapest machine whose network is known; None where the user said one, or none is known."""
        if self.network is not None:
            return None
        prices = (
            (offer.usd_per_hour, index)
            for index, candidate in enumerate(self.machines.get(gpus, ()))
            if candidate.machine.network is not None and candidate.machine.network.bandwidth_bytes_per_s is not None
            for offer in candidate.offers
            if offer is not None and not doubt_of(offer, self.named)
        )
        cheapest = min(prices, default=None)
        return None if cheapest is None else self.machines[gpus][cheapest[1]]

    def _several(self, candidate: Candidate, nodes: int) -> Candidate:
        machine = candidate.machine._replace(num_nodes=nodes, network=self.network or candidate.machine.network)
        tariff = candidate.tariff
        if self.tariff is not None and candidate.provider is not None:
            tariff = self.tariff(candidate.provider, nodes)
        return candidate._replace(machine=machine, tariff=tariff)

    def nearest(self, gpus: int) -> int | None:
        """The number of GPUs of the machines of which ``gpus`` are a share: the next larger, else the largest."""
        return min(self.machines, key=lambda count: (count < gpus, abs(count - gpus)), default=None)

    def share(self, gpus: int, nodes: int, whole: Machine | None) -> Machine:
        """``gpus`` of the accelerator, linked as they usually are, with their part of the host of ``whole``."""
        machine = machine_of(self.device, gpus, nodes, self.network)
        if whole is None:
            return machine
        share = gpus / whole.num_gpus
        return machine._replace(
            cpu=whole.cpu,
            vcpus=None if whole.vcpus is None else whole.vcpus * share,
            ram_bytes=None if whole.ram_bytes is None else whole.ram_bytes * share,
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
    sizing = _Sizing(experiment, StepModel(experiment, knowledge), market, limits, now)
    rows: list[Scale] = []
    for gpus, nodes in sizes:
        rows.append(_scale(sizing.tried(gpus, nodes), rows))
    fewest = next((row for row in _had(rows) if row.p_meets is not None and row.p_meets >= limits.confidence), None)
    return Scan(tuple(rows), _knee(rows), fewest)


class _Tried(NamedTuple):
    """A size on one of the machines that have it; ``run`` is None where it does not fit, or never ends."""

    candidate: Candidate
    offer: Offer | None
    step: StepEstimate
    run: WholeRun | None
    p_meets: float | None


class _Sizing(NamedTuple):
    """What finds the machine of a size."""

    experiment: Experiment
    model: StepModel
    market: Market
    limits: Limits
    now: datetime

    def tried(self, gpus: int, nodes: int) -> _Tried:
        """On the machine to be recommended; where nobody has the size, on its share of a larger one, without a price.

        The larger one is what runs the experiment at its own size: with offload a share of a small host is too little.
        """
        found = self._best(self.market.options(gpus, nodes))
        if found is not None:
            return found
        count = self.market.nearest(gpus)
        whole = None if count is None else self._best(self.market.options(count, 1))
        candidate = _nobodys(self.market.share(gpus, nodes, None if whole is None else whole.candidate.machine))
        return self._on(candidate, None, self.model.estimate(candidate.machine))

    def _best(self, candidates: Sequence[Candidate]) -> _Tried | None:
        """The recommended of the candidates; else the first in rank, rather with a sound price; None without any."""
        ranking = rank(self.experiment, self.model, candidates, self.limits, self.now)
        rows = ranking.rows
        if not rows:
            return self._largest(ranking.refusals)
        best = recommend(rows, self.limits, self.market.named)
        if best is None:
            best = next(iter(recommendable(rows, self.market.named)), None)
        if best is None:
            best = next((index for index, row in enumerate(rows) if is_sound(row)), 0)
        return self._on(rows[best].setting.candidate, rows[best].offer, rows[best].setting.step)

    def _largest(self, refusals: Sequence[Refusal]) -> _Tried | None:
        """The machine with the most memory of those that it does not fit; None where none was asked."""
        asked = [(refusal.candidate, refusal.step) for refusal in refusals if refusal.step is not None]
        if not asked:
            return None
        candidate, step = max(asked, key=lambda pair: pair[0].machine.ram_bytes or 0.0)
        return _Tried(candidate, None, step, None, None)

    def _on(self, candidate: Candidate, offer: Offer | None, step: StepEstimate) -> _Tried:
        limits = self.limits
        run = whole_run(self.experiment, candidate, offer, step, self.now.date())
        if run is None or (limits.budget_usd is not None and run.cost_usd is None):
            return _Tried(candidate, offer, step, run, None)
        longest_s = (limits.deadline - self.now).total_seconds() if limits.deadline is not None else None
        p_meets = p_both(run.time_s, longest_s, run.cost_usd, limits.budget_usd)
        return _Tried(candidate, offer, step, run, p_meets)


def _scale(tried: _Tried, before: Sequence[Scale]) -> Scale:
    step, machine = tried.step, tried.candidate.machine
    gpus, nodes = int(machine.num_gpus), machine.num_nodes
    batch = (step.batch_size_per_gpu, step.grad_accum_steps, step.global_batch_size)
    if tried.run is None or step.samples_per_s is None or step.parts is None:
        problem = step.reason or "interrupted so often that it would never finish"
        return Scale(gpus, nodes, *batch, problem=problem, hypothetical=tried.candidate.hypothetical)
    rate = step.samples_per_s.p50
    first = next((row for row in before if row.samples_per_s is not None), None)
    one = rate / machine.devices if first is None else _rate(first) / first.devices
    last = next(reversed(_had(before)), None)
    candidate = tried.candidate
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
        purchase=candidate.purchase(tried.offer) if is_had else None,
        cost_usd=tried.run.cost_usd,
        credit_usd=tried.run.credit_usd,
        p_meets=tried.p_meets,
        hypothetical=candidate.hypothetical,
        at_most=tried.run.at_most,
    )


def _name(candidate: Candidate) -> str:
    return candidate.machine.name if candidate.provider is not None else candidate.name


def _rate(row: Scale) -> float:
    return row.samples_per_s.p50 if row.samples_per_s is not None else 0.0


def _had(rows: Sequence[Scale]) -> list[Scale]:
    fitting = [row for row in rows if row.time_s is not None]
    return [row for row in fitting if row.machine is not None] or fitting


def _knee(rows: Sequence[Scale]) -> Scale | None:
    """Further GPUs are held against the size before, the first size against nothing."""
    had = _had(rows)
    knee = next(iter(had), None)
    for row in had[1:]:
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


def machines_with(candidates: Iterable[Candidate], key: str) -> dict[int, list[Candidate]]:
    """The machines that can be had with the accelerators, by how many of them they have."""
    found: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        machine = candidate.machine
        if machine.accelerator.key == key and machine.num_gpus >= 1 and not candidate.blocked:
            found.setdefault(int(machine.num_gpus), []).append(candidate)
    return found
