"""Which card to buy for an experiment: single cards with a known price, by what a dollar of them trains."""

from collections.abc import Sequence
from datetime import date

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.catalog import accelerators
from planner.hardware.machine import Machine
from planner.plan.bought import Bought, on_experiment
from planner.plan.competition import electricity_of
from planner.plan.purchase import CardPrice, card_price, purchase_of, sold_singly
from planner.plan.question import Question
from planner.plan.search import ORDINARY_STACKS
from planner.plan.world import World
from planner.throughput.calibration import load_calibration
from planner.throughput.offload import host_bytes, usable_share
from planner.throughput.precision import resolve_precision
from planner.throughput.step import StepModel

SOLD_YEARS = 4
"""How long a card is taken to be sold at about its launch price (assumption)."""


def cards_for(
    experiment: Experiment,
    question: Question,
    world: World,
    today: date,
    devices: Sequence[Accelerator] = (),
    *,
    budget_usd: float | None = None,
) -> list[Bought]:
    """Single cards with a known price within the budget, by samples/s for each dollar of the card.

    A launch price counts as one for some years only: after them the card is no longer sold for it, if at all. It is
    none that a shop asks today, so that cards of which nothing else is known come after the others; and last come those
    for which the code must be ported. A host can be had with more memory than is assumed: each has what offload needs.
    """
    electricity = electricity_of(question, world.config)
    model = StepModel(experiment)
    found = []
    for device in devices or accelerators().values():
        card = card_price(device) if sold_singly(device) and device.trains else None
        if card is None or (not devices and _is_history(card, today)):
            continue
        if budget_usd is not None and card.usd > budget_usd:
            continue
        purchase = purchase_of(device, 1, card, None)
        purchase = purchase._replace(machine=_with_host_memory(experiment, purchase.machine))
        found.append(on_experiment(experiment, model, purchase, electricity, world.config.ownership, today))
    return sorted(found, key=_merit)


def _with_host_memory(experiment: Experiment, machine: Machine) -> Machine:
    """The machine with at least the RAM that offload needs."""
    precision = resolve_precision(experiment.precision, machine.accelerator)
    if experiment.offload is None or precision is None or machine.ram_bytes is None:
        return machine
    needed = host_bytes(experiment, precision, machine) / usable_share(load_calibration())
    return machine._replace(ram_bytes=max(machine.ram_bytes, needed))


def per_dollar(one: Bought) -> float:
    """Samples a second for each dollar of the cards, without their host."""
    rate = one.samples_per_s.p50 if one.samples_per_s is not None else 0.0
    return rate / (one.purchase.usd - one.purchase.host_usd)


def _merit(one: Bought) -> tuple[bool, bool, bool, float]:
    """What is bought for the experiment first; the less the better."""
    ported = one.purchase.machine.accelerator.stack not in ORDINARY_STACKS
    return one.problem != "", ported, one.purchase.card.condition == "launch", -per_dollar(one)


def _is_history(card: CardPrice, today: date) -> bool:
    """Whether the only price known is that of a launch long ago."""
    return card.condition == "launch" and (card.as_of is None or int(card.as_of[:4]) < today.year - SOLD_YEARS)
