"""The world a question is asked in: prices, this machine, the user's configuration; and who competes under it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from planner.errors import DataError, InputError, UnknownNameError
from planner.experiment.experiment import Experiment
from planner.hardware.free_tiers import free_tiers
from planner.hardware.local import FoundMachine
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec, presets
from planner.hardware.selection import Selection, parse_selection
from planner.plan.candidates import Candidate, Tariff
from planner.plan.clouds import CloudQuestion, cloud_candidates
from planner.plan.config import Config, OwnershipTerms, OwnMachine, check_providers, load_config
from planner.plan.electricity import ElectricityPrice, electricity_price
from planner.plan.extras import tariffs
from planner.plan.free_tier import free_candidate
from planner.plan.owned import imagined_candidate, owned_candidate
from planner.plan.ownership import CountedPower, Ownership, counted_power, wall_power_w
from planner.plan.plan import Place
from planner.plan.question import DEFAULT_HOUR_VALUE_USD, Question, Where, resolve_where
from planner.plan.recommend import Named
from planner.plan.search import Limits
from planner.plan.sentence import COMMITMENTS, HOURS_PER_YEAR
from planner.plan.timeline import DOWNLOAD_BYTES_PER_S, ENVIRONMENT_BYTES, PROVISIONING_S
from planner.throughput.evidence import Expectation, Knowledge, shipped_knowledge
from planner.throughput.software import lacking_software
from planner.units import counted
from pricing.catalog import Catalog
from pricing.errors import PricingError, UnknownPlaceError
from pricing.offer import Offer
from pricing.published import open_catalog
from pricing.query import OfferQuery

_COMMITMENT_FEEDS = {"reserved": "AWS's and Azure's", "savings_plan": "Azure's, and those of AWS with credentials"}
"""Whose prices of a commitment a refresh reads (docs/prices.md)."""


class World(NamedTuple):
    """Opened once a process; injected in tests. ``ledger`` is the file of recorded forecasts, None without any."""

    catalog: Catalog
    local: FoundMachine
    config: Config
    ledger: Path | None = None

    def providers(self) -> tuple[str, ...]:
        """Every provider's name that --where understands: who sells machines, then who lends them."""
        return tuple(dict.fromkeys((*self.catalog.providers(), *(tier.provider for tier in free_tiers()))))


Tariffs = Callable[[Experiment, int], Callable[[str], Tariff]]
"""What rented machines charge beside their hours, by provider, for an experiment on so many nodes."""


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


def open_world(local: FoundMachine, store: Path | None = None, ledger: Path | None = None) -> World:
    """Prices, the user's ``store`` of refreshed ones over the packaged, and the configuration around this machine.

    Raises DataError or InputError.
    """
    config = load_config()
    try:
        catalog = open_catalog(store=store)
    except PricingError as error:
        raise DataError(str(error)) from error
    if config.discounts or config.credits_usd:
        check_providers(config, catalog.providers())
    return World(catalog, local, config, ledger if ledger is not None and ledger.is_file() else None)


def gather(experiment: Experiment, question: Question, world: World, now: datetime) -> Competition:
    """Everyone who may run the experiment under the question. Raises InputError for an unknown name in it."""
    where = resolve_where(question.where, world.providers())
    knowledge, taught = _knowledge(question, experiment, world)
    selection = parse_selection(question.gpus) if question.gpus is not None else None
    electricity = electricity_of(question, world.config)
    hour_value = _hour_value(question, world.config)
    everyone = [
        *_owned(world, where, electricity, selection),
        *(_clouds(experiment, question, world, where, now, selection) if "cloud" in where.places else ()),
        *_free(experiment, question, where, now, selection),
    ]
    candidates, dearer = _affordable(everyone, question.max_price_usd_per_hour)
    if selection is not None and not any(selection.matches(candidate.machine) for candidate in candidates):
        imagined = _named_in_selection(selection, where, electricity, world.config.ownership)
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
            *_ownership_assumptions(candidates, world.config.ownership),
            *_cloud_assumptions(where, question, world.config.idle_minutes),
            *own_terms(candidates, world.config, credit=_CREDIT_WORDS.format(world.config.credit_value)),
            *_free_assumptions(candidates),
            *_price_assumptions(question.max_price_usd_per_hour, dearer),
            f"an hour of waiting is worth {hour_value:g} USD (--hour-value)",
        ),
        warnings=(*world.catalog.notices, *(_unpriced(question, world) if "cloud" in where.places else ())),
        tariffs=lambda changed, num_nodes: _tariffs(changed, num_nodes, world),
        open_nodes=question.num_nodes is None and question.max_price_usd_per_hour is None,
    )


def _tariffs(experiment: Experiment, num_nodes: int, world: World) -> Callable[[str], Tariff]:
    return tariffs(experiment, world.catalog.interruptions(), num_nodes, world.config)


def _knowledge(question: Question, experiment: Experiment, world: World) -> tuple[Knowledge, list[str]]:
    """What ships, what the user measured, how recorded forecasts ended, and what the profile of this machine says.

    With it what is to be said of the forecasts. Raises InputError.
    """
    knowledge, local = shipped_knowledge(), world.local
    expected = _expectation(local)
    taught: list[str] = []
    if question.measured:
        from planner.throughput.own_measurements import knowledge_with

        knowledge = knowledge_with(question.measured, experiment, expected)
    if world.ledger is not None:
        from planner.plan.ledger import read_ledger
        from planner.plan.ledger_score import references_of, runs_here

        entries = read_ledger(world.ledger)
        if references := references_of(entries, expected):
            knowledge = knowledge.with_references(references)
            told = counted(len(references), "outcome")
            taught.append(f"{told} of recorded forecasts moved what is estimated (gpuplanner ledger)")
        if local.profile is not None:
            runs = (*local.profile.runs, *runs_here(entries))
            local = local._replace(profile=local.profile._replace(runs=runs))
    if local.profile is None:
        return knowledge, taught
    from planner.throughput.measured import knowledge_with_profile

    return knowledge_with_profile(knowledge, local.profile, local.machine, experiment), taught


def _expectation(local: FoundMachine) -> Expectation | None:
    """What measurements of GPUs are held against where this machine's own were measured; None: against what ships."""
    if local.profile is None or local.profile.gpu is None or local.machine.accelerator.kind == "cpu":
        return None
    from planner.throughput.measured_gpu import rates_alone

    return rates_alone(local.profile, local.machine)


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


def _price_assumptions(dearest_usd: float | None, dearer: int) -> Iterator[str]:
    if dearest_usd is not None:
        yield f"{counted(dearer, 'offer')} above {dearest_usd:g} USD an hour left out (--max-price; this machine stays)"


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


def _cloud_assumptions(where: Where, question: Question, idle_minutes: float) -> Iterator[str]:
    if "cloud" not in where.places:
        return
    yield (
        f"a cloud machine is had after {PROVISIONING_S / 60:g} minutes, copies its environment of "
        f"{ENVIRONMENT_BYTES / 1e9:g} GB and its data at up to {DOWNLOAD_BYTES_PER_S / 1e6:g} MB/s, and is given back "
        f"{idle_minutes:g} minutes after the run (idle_minutes in the configuration)"
    )
    if any(purchase in COMMITMENTS for purchase in question.purchases):
        yield f"an hour costs this for who has committed to all {HOURS_PER_YEAR:,.0f} hours of a year, used or not"
    if not question.purchases or "spot" in question.purchases:
        yield "spot machines are taken as often as AWS's advisor says, elsewhere as measured on public traces"


_CREDIT_WORDS = "before money; where rows are ordered, a dollar of it counts as {:.2f} (credit_value)"


def own_terms(candidates: Iterable[Candidate], config: Config, *, credit: str) -> Iterator[str]:
    """The user's discounts and credits at providers that compete; ``credit`` says how a credit is spent."""
    competing = {candidate.provider for candidate in candidates}
    for provider, share in config.discounts.items():
        if provider in competing and share:
            yield f"{provider} sells to you {share:.0%} below its list ([discounts] in the configuration)"
    for provider, usd in config.credits_usd.items():
        if provider in competing and usd:
            yield f"your {usd:,.2f} USD of credit at {provider} are spent {credit} ([credits] in the configuration)"


def _unpriced(question: Question, world: World) -> Iterator[str]:
    """A year's commitment that is asked for and of which no price is known, and where one is to be had."""
    for purchase in question.purchases:
        if purchase in COMMITMENTS and not world.catalog.offers((purchase,)):
            yield (
                f"no {purchase.replace('_', '-')} price is known, and none ships: gpuplanner prices refresh reads "
                f"{_COMMITMENT_FEEDS[purchase]}"
            )


def _free_assumptions(candidates: list[Candidate]) -> Iterator[str]:
    if any(row.free_tier is not None and not row.blocked for row in candidates):
        yield "a free notebook is had when it is asked for, with all hours of its week left"


def _ownership_assumptions(candidates: list[Candidate], terms: OwnershipTerms) -> Iterator[str]:
    if any(charge.name == "amortisation" for row in candidates for charge in row.tariff.charges):
        yield (
            f"a purchase is written off over {terms.lifetime_years:g} years at {terms.use_share:.0%} use and "
            f"{terms.resale_share:.0%} resale ([ownership] in the configuration)"
        )


def _owned(
    world: World, where: Where, electricity: ElectricityPrice, selection: Selection | None
) -> Iterator[Candidate]:
    """This machine, then the user's own machines, then hypothetical ones in the places the user has none in."""
    if where.providers and not where.named:
        return
    terms = world.config.ownership
    if world.local.place in where.places:
        yield _this_machine(world, electricity)
    own = [machine for machine in world.config.machines if machine.place in where.places]
    for entry in own:
        candidate = _own_machine(entry, electricity, terms)
        if _wanted(selection)(candidate.machine):
            yield candidate
    taken = {entry.place for entry in own}
    for preset in presets():
        if preset.place in where.places and preset.place not in taken and _wanted(selection)(preset.machine):
            power_w = wall_power_w(preset.machine, preset.place, preset.host_power_w, terms.cluster_pue)
            ownership = Ownership(
                power_w,
                "board power plus host",
                preset.purchase_usd,
                preset.price_source,
                price_as_of=preset.price_as_of,
            )
            yield owned_candidate(
                preset.name, preset.place, preset.machine, ownership, electricity, terms, hypothetical=True
            )


def _named_in_selection(
    selection: Selection, where: Where, electricity: ElectricityPrice, terms: OwnershipTerms
) -> Iterator[Candidate]:
    """Accelerators that --gpus names and nobody here has or rents out: as machines one might buy."""
    for wanted in selection.alternatives:
        for key in sorted(wanted.keys):
            candidate = imagined_candidate(key, int(wanted.num_gpus or 1), electricity, terms)
            if candidate.place in where.places:
                yield candidate


def _wanted(selection: Selection | None) -> Callable[[Machine], bool]:
    if selection is None:
        return lambda machine: True
    return selection.matches


def _this_machine(world: World, electricity: ElectricityPrice) -> Candidate:
    owner = world.config.this_machine
    machine, place = world.local.machine, world.local.place
    runs = () if world.local.profile is None else world.local.profile.runs
    power_w, source = _power(machine, place, owner.power_w, world.config.ownership, counted_power(runs, machine))
    ownership = Ownership(power_w, source, owner.purchase_usd, "purchase_usd in your configuration", owner.usd_per_hour)
    return owned_candidate(
        "this machine", place, machine, ownership, electricity, world.config.ownership, is_this_machine=True
    )


def _power(
    machine: Machine,
    place: Place,
    stated_w: float | None,
    terms: OwnershipTerms,
    counted: CountedPower | None = None,
) -> tuple[float | None, str]:
    """Wall power of all nodes, and where it comes from: the owner's word for one node, the counters, or the parts."""
    if stated_w is not None:
        return stated_w * machine.num_nodes, "power_w in your configuration"
    source = "power assumed from the parts" if counted is None else f"power {counted.words}"
    return wall_power_w(machine, place, cluster_pue=terms.cluster_pue, counted=counted), source


def _own_machine(entry: OwnMachine, electricity: ElectricityPrice, terms: OwnershipTerms) -> Candidate:
    try:
        machine = machine_from_spec(
            entry.name,
            entry.gpu,
            entry.num_gpus,
            nodes=entry.num_nodes,
            link=entry.link,
            network=entry.network,
            vcpus=entry.vcpus,
            ram_gb=entry.ram_gb,
            cpu=entry.cpu,
        )
    except InputError as error:
        raise InputError(f"machine {entry.name!r} in the configuration: {error}") from error
    power_w, source = _power(machine, entry.place, entry.power_w, terms)
    ownership = Ownership(power_w, source, entry.purchase_usd, "purchase_usd in your configuration", entry.usd_per_hour)
    return owned_candidate(entry.name, entry.place, machine, ownership, electricity, terms)


def _clouds(
    experiment: Experiment, question: Question, world: World, where: Where, now: datetime, selection: Selection | None
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
    return cloud_candidates(offers, kinds, asked, _wanted(selection), tariff)


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


def _free(
    experiment: Experiment, question: Question, where: Where, now: datetime, selection: Selection | None
) -> Iterator[Candidate]:
    """Free notebooks, unless the question asks for what they are not: several nodes, a region, a way to pay."""
    if "cloud" not in where.places or question.purchases or question.regions or (question.num_nodes or 1) > 1:
        return
    for tier in free_tiers():
        if (not where.providers or tier.provider in where.providers) and _wanted(selection)(tier.machine):
            yield free_candidate(tier, experiment, now.date())


def _regions(question: Question, catalog: Catalog) -> tuple[str, ...]:
    if not question.regions:
        return ()
    try:
        return catalog.check_regions(",".join(question.regions))
    except UnknownPlaceError as error:
        raise UnknownNameError("region", error.name, error.suggestions) from error
