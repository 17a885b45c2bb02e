"""Where machines are too small for an experiment as it stands: the flags that let one run it, in what time, for what.

Every change is ranked as the experiment itself is, over the machines that were refused for their memory alone.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.plan.candidates import Candidate
from planner.plan.competition import Competition
from planner.plan.hint import flags_of
from planner.plan.recommend import LONGEST_WAIT_S, Named, doubt_of, merit, recommend
from planner.plan.search import ORDINARY_STACKS, Refusal, Row, rank
from planner.plan.sentence import to_buy_words, where_to_run
from planner.plan.words import at_most_words
from planner.throughput.levers import ADAPTER_RANK, EIGHT_BIT_INSTEAD_OF
from planner.throughput.software import lacking_software
from planner.throughput.step import StepModel
from planner.units import MoneyFormat, format_duration
from pricing.offer import Offer

_TENSOR_WAYS = (2, 4, 8)
_MORE_NODES = (2, 4, 8, 16)
_WORTH_MORE = 0.9
"""Who saves less than a tenth, waiting included, takes no more nodes and keeps the result (assumption)."""


class Refit(NamedTuple):
    """A changed experiment with the best row that may be recommended for it.

    ``note`` says what is not the same afterwards; ``num_nodes`` is set where it takes more of them than were asked for.
    """

    experiment: Experiment
    row: Row
    note: str = ""
    num_nodes: int | None = None


def refits(
    experiment: Experiment, competition: Competition, refusals: Sequence[Refusal], best: Row | None, now: datetime
) -> list[Refit]:
    """The best way of each kind, the cheapest first: to the same result, with less optimizer state, with adapters.

    Nothing that takes longer than a quarter of a year; where ``best`` may be recommended as it stands, only what beats
    it; and what changes the result, only where it clearly beats what does not.
    """
    small = _too_small(refusals, competition.named)
    if not small:
        return []
    attempt = _Attempt(competition, small, now)
    same = attempt.with_the_same_result(experiment)
    others = (
        attempt.best_of(_less_state(experiment), "optimizer state in 8 bits"),
        attempt.best_of(_adapters(experiment), "trains adapters, not the model"),
    )
    limits = competition.limits
    bar = math.inf if best is None else merit(best, limits)
    ways = []
    if same is not None and merit(same.row, limits) < bar:
        ways.append(same)
        bar = _WORTH_MORE * merit(same.row, limits)
    ways += [one for one in others if one is not None and merit(one.row, limits) < bar]
    return sorted(ways, key=lambda one: merit(one.row, limits))


def refit_sentence(experiment: Experiment, refit: Refit, money: MoneyFormat) -> str:
    """'with --zero 3 --grad-ckpt it takes 18h24 for $727 on aws p5.48xlarge (8x H100 ...) in us-east-2, spot'."""
    nodes = "" if refit.num_nodes is None else f"--num-nodes {refit.num_nodes}"
    flags = " ".join(filter(None, (nodes, flags_of(experiment, refit.experiment))))
    note = f" ({refit.note})" if refit.note else ""
    row = refit.row
    cost = f"{at_most_words(row)}{money(row.cost_usd)}"
    taken = f"it takes {format_duration(row.time_s)} for {cost} on {where_to_run(row)}{to_buy_words(row, money)}"
    return f"with {flags}{note} {taken}"


class _Attempt(NamedTuple):
    """Ranks changes of the experiment over the machines that are too small for it."""

    competition: Competition
    small: Sequence[Candidate]
    now: datetime

    def best_of(self, changes: Iterable[Experiment], note: str = "") -> Refit | None:
        """The change whose recommended row has the least merit; None where none makes the experiment fit in time."""
        found = [Refit(one, row, note) for one in changes if (row := self._row(one, self.small)) is not None]
        return min(found, key=self._merit, default=None)

    def with_the_same_result(self, experiment: Experiment) -> Refit | None:
        """On one machine, or on several where only they hold the experiment or that clearly costs less."""
        one, more = self.best_of(_same_result(experiment)), self.on_more_nodes(experiment)
        if one is None or more is None:
            return one or more
        return more if self._merit(more) < _WORTH_MORE * self._merit(one) else one

    def on_more_nodes(self, experiment: Experiment) -> Refit | None:
        """The same result on several nodes of a rented machine, where the question leaves their number open."""
        if not self.competition.open_nodes:
            return None
        changed = experiment._replace(zero_stage=3, grad_checkpointing=True)
        found = []
        for count in _MORE_NODES:
            nodes = [
                one._replace(machine=one.machine._replace(num_nodes=count)) for one in self.small if _is_rented(one)
            ]
            row = self._row(changed, nodes)
            if row is not None:
                found.append(Refit(changed, row, num_nodes=count))
        return min(found, key=self._merit, default=None)

    def _merit(self, refit: Refit) -> float:
        return merit(refit.row, self.competition.limits)

    def _row(self, changed: Experiment, machines: Sequence[Candidate]) -> Row | None:
        limits, knowledge = self.competition.limits, self.competition.knowledge
        try:
            rows = rank(
                changed, StepModel(changed, knowledge), self._charging(changed, machines), limits, self.now
            ).rows
        except InputError:  # more ways to split the model than it has heads
            return None
        soon = [row for row in rows if row.time_s <= LONGEST_WAIT_S]
        index = recommend(soon, limits, self.competition.named)
        return None if index is None else soon[index]

    def _charging(self, changed: Experiment, machines: Sequence[Candidate]) -> list[Candidate]:
        """The machines at what the changed experiment is charged: its checkpoints have another size."""
        nodes = max((one.machine.num_nodes for one in machines if _is_rented(one)), default=1)
        tariff = self.competition.tariffs(changed, nodes)
        able = (one for one in machines if not lacking_software(changed, one.machine.accelerator))
        return [one._replace(tariff=tariff(str(one.provider))) if _is_rented(one) else one for one in able]


def _is_rented(candidate: Candidate) -> bool:
    return candidate.provider is not None and candidate.free_tier is None


def _too_small(refusals: Iterable[Refusal], named: Named) -> list[Candidate]:
    """Machines with GPUs whose memory stands against them, with their cheapest sound offers.

    Of machines alike those that are cheapest under one of the ways to pay: a plan with the flags has them all.
    """
    machines: dict[int, Candidate] = {}
    offers: dict[int, dict[str, Offer | None]] = {}
    for refusal in refusals:
        candidate, offer = refusal.candidate, refusal.offer
        if refusal.step is None or refusal.step.fits or not _is_called_for(candidate.machine, named):
            continue
        if offer is not None and doubt_of(offer, named):
            continue
        machines[id(candidate)] = candidate
        kept = offers.setdefault(id(candidate), {})
        way = candidate.purchase(offer)
        if way not in kept or _usd(offer) < _usd(kept[way]):
            kept[way] = offer
    cheapest: dict[tuple[object, ...], int] = {}
    for key, kept in offers.items():
        machine = machines[key].machine
        for way, offer in kept.items():
            alike = (machine.accelerator.key, machine.num_gpus, machine.num_nodes, way)
            if alike not in cheapest or _usd(offer) < _usd(offers[cheapest[alike]][way]):
                cheapest[alike] = key
    return [
        machines[key]._replace(offers=tuple(offers[key].values()), refused=())
        for key in dict.fromkeys(cheapest.values())
    ]


def _usd(offer: Offer | None) -> float:
    return 0.0 if offer is None else offer.usd_per_hour


def _is_called_for(machine: Machine, named: Named) -> bool:
    if machine.num_gpus == 0:
        return False
    by_name = named.selection is not None and named.selection.names(machine)
    return by_name or machine.accelerator.stack in ORDINARY_STACKS


def _same_result(experiment: Experiment) -> Iterator[Experiment]:
    """What trains the same weights by the same arithmetic: smaller passes, state and model split, recomputation."""
    for changed in (experiment, *_split(experiment)):
        if changed is not experiment:
            yield changed
        if not changed.grad_checkpointing:
            yield changed._replace(grad_checkpointing=True)


def _split(experiment: Experiment) -> Iterator[Experiment]:
    batch, passes = experiment.batch_size_per_gpu or 1, experiment.grad_accum_steps or 1
    while batch > 1:
        batch, passes = (batch + 1) // 2, passes * 2
        yield experiment._replace(batch_size_per_gpu=batch, grad_accum_steps=passes)
    for stage in range(experiment.zero_stage + 1, 4):
        yield experiment._replace(zero_stage=stage)
    if experiment.offload is None and experiment.pipeline_parallel == 1:
        yield experiment._replace(offload="optimizer")
    if experiment.tensor_parallel == 1 and experiment.workload.seq_length is not None:
        yield from (experiment._replace(tensor_parallel=ways) for ways in _TENSOR_WAYS)


def _less_state(experiment: Experiment) -> Iterator[Experiment]:
    if experiment.optimizer in EIGHT_BIT_INSTEAD_OF:
        less = experiment._replace(optimizer="adamw8bit")
        yield less
        yield less._replace(grad_checkpointing=True)
        yield less._replace(grad_checkpointing=True, zero_stage=3)


def _adapters(experiment: Experiment) -> Iterator[Experiment]:
    if experiment.workload.seq_length is None or experiment.four_bit_weights:
        return
    adapted = experiment._replace(lora_rank=experiment.lora_rank or ADAPTER_RANK)
    for changed in (adapted, adapted._replace(four_bit_weights=True)):
        if changed != experiment:
            yield changed
        yield changed._replace(grad_checkpointing=True)
        yield changed._replace(grad_checkpointing=True, zero_stage=3)
