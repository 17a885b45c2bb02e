"""Who competes to run an experiment: machines at hand, machines for rent, free notebooks; and under which limits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from planner.errors import DataError, UnknownNameError
from planner.experiment.experiment import Experiment
from planner.hardware.free_tiers import free_tiers
from planner.hardware.machine import Machine
from planner.hardware.selection import Selection, parse_selection
from planner.plan.assumed import (
    cloud_assumptions,
    free_assumptions,
    own_terms,
    ownership_assumptions,
    price_assumptions,
    unpriced,
)
from planner.plan.candidates import Candidate, Tariff
from planner.plan.cautions import cautions_of
from planner.plan.clouds import CloudQuestion, cloud_candidates
from planner.plan.config import Config
from planner.plan.electricity import ElectricityPrice, electricity_price, electricity_prices
from planner.plan.extras import tariffs
from planner.plan.free_tier import free_candidate
from planner.plan.knowledge import doubted, knowledge_for
from planner.plan.owned import machines_at_hand, machines_to_buy
from planner.plan.question import DEFAULT_HOUR_VALUE_USD, Question, Where, resolve_where
from planner.plan.recommend import Named
from planner.plan.search import Limits
from planner.plan.sentence import COMMITMENTS
from planner.plan.world import World
from planner.throughput.evidence import Knowledge
from planner.throughput.software import lacking_software
from pricing.catalog import Catalog
from pricing.errors import PricingError, UnknownPlaceError
from pricing.offer import Offer
from pricing.query import OfferQuery

Tariffs = Callable[[Experiment, int], Callable[[str], Tariff]]
"""What rented machines charge beside their hours, by provider, for an experiment on so many nodes."""

Wanted = Callable[[Machine], bool]
"""Whether the question's --gpus takes a machine."""

_CREDIT_WORDS = "before money; where rows are ordered, a dollar of it counts as {:.2f} (credit_value)"


class Competition(NamedTuple):
    """Who competes, under which limits, and what was assumed to bring them there.

    ``tariffs`` prices another experiment, or more nodes where the question leaves their number open (``open_nodes``).
    """

    candidates: list[Candidate]
    limits: Limits
    named: Named
    knowledge: Knowledge
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    tariffs: Tariffs
    open_nodes: bool


def gather(experiment: Experiment, question: Question, world: World, now: datetime) -> Competition:
    """Everyone who may run the experiment under the question. Raises InputError for an unknown name in it."""
    where = resolve_where(question.where, world.providers())
    knowledge, taught = knowledge_for(question, experiment, world)
    selection = parse_selection(question.gpus) if question.gpus is not None else None
    wants = _wanted(selection)
    electricity = electricity_of(question, world.config)
    hour_value = _hour_value(question, world.config)
    everyone = [
        *machines_at_hand(world, where, electricity, wants),
        *(_clouds(experiment, question, world, where, now, wants) if "cloud" in where.places else ()),
        *_free(experiment, question, where, now, wants),
    ]
    candidates, dearer = _affordable(everyone, question.max_price_usd_per_hour)
    if selection is not None and not any(selection.matches(candidate.machine) for candidate in candidates):
        imagined = machines_to_buy(selection, where, electricity, world.config.ownership)
        candidates += _affordable(imagined, question.max_price_usd_per_hour)[0]
    candidates = [_bounded(candidate, question, experiment) for candidate in candidates]
    return Competition(
        candidates=candidates,
        limits=question.limits._replace(hour_value_usd=hour_value),
        knowledge=knowledge,
        named=Named(
            where.named,
            selection,
            government=any("gov" in region for region in question.regions),
            regions=bool(question.regions),
        ),
        assumptions=(
            *(selection.assumptions if selection else ()),
            *world.local.notes,
            *taught,
            f"electricity {electricity.usd_per_kwh:g} USD/kWh, {electricity.words} (--country, --electricity-price)",
            *ownership_assumptions(candidates, world.config.ownership),
            *cloud_assumptions(where, question, world.config.idle_minutes),
            *own_terms(candidates, world.config, credit=_CREDIT_WORDS.format(world.config.credit_value)),
            *free_assumptions(candidates),
            *price_assumptions(question.max_price_usd_per_hour, dearer),
            f"an hour of waiting is worth {hour_value:g} USD (--hour-value)",
        ),
        warnings=(
            *warnings_of(experiment, question, world),
            *(unpriced(question, world) if "cloud" in where.places else ()),
        ),
        tariffs=lambda changed, num_nodes: _tariffs(changed, num_nodes, world),
        open_nodes=question.num_nodes is None and question.max_price_usd_per_hour is None,
    )


def warnings_of(experiment: Experiment, question: Question, world: World) -> tuple[str, ...]:
    """What every answer to the question should be read with, whatever the machines. Raises InputError."""
    return (
        *world.local.warnings,
        *doubted(question, experiment),
        *world.catalog.notices,
        *cautions_of(experiment),
        *_dear_electricity(electricity_of(question, world.config)),
    )


def _dear_electricity(electricity: ElectricityPrice) -> Iterable[str]:
    """A price many times any household's is likely one in cents."""
    if electricity.usd_per_kwh > _CENTS_TIMES * max(price.usd_per_kwh for price in electricity_prices().values()):
        yield (
            f"electricity at {electricity.usd_per_kwh:g} USD/kWh is more than {_CENTS_TIMES} times any price in the "
            f"table: in cents it would be {electricity.usd_per_kwh / 100:g} (--electricity-price)"
        )


def electricity_of(question: Question, config: Config) -> ElectricityPrice:
    """The user's own price of a kilowatt-hour, or a country's. Raises UnknownNameError."""
    if question.electricity_usd_per_kwh is not None:
        return ElectricityPrice("", question.electricity_usd_per_kwh, "as you said", "--electricity-price")
    if question.country is None and config.electricity_usd_per_kwh is not None:
        return ElectricityPrice(
            "", config.electricity_usd_per_kwh, "as configured", "electricity_usd_per_kwh in the configuration"
        )
    return electricity_price(config.country if question.country is None else question.country)


def _hour_value(question: Question, config: Config) -> float:
    for value in (question.hour_value_usd, config.hour_value_usd):
        if value is not None:
            return value
    return DEFAULT_HOUR_VALUE_USD


def _wanted(selection: Selection | None) -> Wanted:
    if selection is None:
        return lambda machine: True
    return selection.matches


def _clouds(
    experiment: Experiment, question: Question, world: World, where: Where, now: datetime, wants: Wanted
) -> Iterator[Candidate]:
    num_nodes = question.num_nodes or 1
    asked = CloudQuestion(
        query=OfferQuery(
            providers=tuple(sorted(where.providers)),
            regions=_regions(question, world.catalog),
            purchases=question.purchases,
        ),
        today=now.date(),
        num_nodes=num_nodes,
        max_age_days=question.max_price_age_days,
    )
    try:
        kinds = world.catalog.instance_types()
        offers = _offers(question, world)
        tariff = _tariffs(experiment, num_nodes, world)
    except PricingError as error:
        raise DataError(str(error)) from error
    return cloud_candidates(offers, kinds, asked, wants, tariff)


def _tariffs(experiment: Experiment, num_nodes: int, world: World) -> Callable[[str], Tariff]:
    return tariffs(experiment, world.catalog.interruptions(), num_nodes, world.config)


def _offers(question: Question, world: World) -> Sequence[Offer]:
    """The catalogue's offers, those of a long commitment only where they are asked for; after the user's discounts."""
    committed = any(purchase in COMMITMENTS for purchase in question.purchases)
    offers = world.catalog.offers(question.purchases) if committed else world.catalog.offers()
    discounts = world.config.discounts
    return [_discounted(offer, discounts) for offer in offers] if discounts else offers


def _discounted(offer: Offer, discounts: Mapping[str, float]) -> Offer:
    share = discounts.get(offer.provider, 0.0)
    if not share:
        return offer
    source = f"{offer.price_source}, less your {share:.0%}"
    return offer._replace(usd_per_hour=offer.usd_per_hour * (1 - share), price_source=source)


_CENTS_TIMES = 5
"""Times the dearest household price of the table above which a price is doubted: a cent's slip is a hundred."""

_REGIONS_HINT = "regions are written as their providers write them, or 'us-*'; `gpuplanner prices list` shows them"


def _regions(question: Question, catalog: Catalog) -> tuple[str, ...]:
    if not question.regions:
        return ()
    try:
        return catalog.check_regions(",".join(question.regions))
    except UnknownPlaceError as error:
        raise UnknownNameError(
            "region", error.name, error.suggestions, "" if error.suggestions else _REGIONS_HINT
        ) from error


def _free(
    experiment: Experiment, question: Question, where: Where, now: datetime, wants: Wanted
) -> Iterator[Candidate]:
    """Free notebooks, unless the question asks for what they are not: several nodes, a region, a way to pay."""
    if "cloud" not in where.places or question.purchases or question.regions or (question.num_nodes or 1) > 1:
        return
    for tier in free_tiers():
        if (not where.providers or tier.provider in where.providers) and wants(tier.machine):
            yield free_candidate(tier, experiment, now.date())


def _affordable(candidates: Iterable[Candidate], dearest_usd: float | None) -> tuple[list[Candidate], int]:
    """The candidates without what costs more an hour, all nodes, and how many offers that is; this machine stays."""
    if dearest_usd is None:
        return list(candidates), 0
    kept: list[Candidate] = []
    dearer = 0
    for candidate in candidates:
        offers = tuple(offer for offer in candidate.offers if (candidate.usd_per_hour(offer) or 0.0) <= dearest_usd)
        refused = tuple(one for one in candidate.refused if (candidate.usd_per_hour(one[0]) or 0.0) <= dearest_usd)
        if candidate.is_this_machine:
            kept.append(candidate)
            continue
        dearer += len(candidate.offers) - len(offers)
        if offers or refused:
            kept.append(candidate._replace(offers=offers, refused=refused))
    return kept, dearer


def _bounded(candidate: Candidate, question: Question, experiment: Experiment) -> Candidate:
    """The candidate, without a rank where it is not as many nodes as --num-nodes asks for, or lacks the software."""
    if candidate.blocked:
        return candidate
    lacking = lacking_software(experiment, candidate.machine.accelerator)
    if lacking:
        return candidate._replace(blocked=lacking)
    nodes = candidate.machine.num_nodes
    if question.num_nodes is None or nodes == question.num_nodes:
        return candidate
    return candidate._replace(blocked=f"it is {nodes} {'node' if nodes == 1 else 'nodes'}, not {question.num_nodes}")
