"""Cloud candidates: the catalogue's machines with the offers that answer the question."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, cast

from planner.hardware.accelerator import Accelerator
from planner.hardware.catalog import accelerator, accelerators
from planner.hardware.cpus import cpu
from planner.hardware.interconnect import LinkKind, Network, link, rented_network
from planner.hardware.machine import Cpu, Machine, cpu_machine
from planner.plan.candidates import Candidate, Tariff
from planner.units import GIB
from pricing.offer import InstanceType, Offer
from pricing.query import OfferQuery, select, unranked_reason

_TWO_THREADS_A_CORE = frozenset({"Zen4-Genoa", "Zen5-Turin"})
_SELL_THREADS = frozenset({"gcp", "azure"})
_AZURE_WHOLE_CORES = ("Standard_F", "Standard_N")


def cloud_machine(kind: InstanceType, num_nodes: int = 1) -> tuple[Machine, str]:
    """The machine behind an instance type, and why it cannot be planned with ("" where it can)."""
    host = rented_cpu(kind)
    ram_bytes = kind.memory_gib * GIB if kind.memory_gib else None
    blocked = ""
    if kind.accelerator in accelerators():
        device = accelerator(kind.accelerator)
        blocked = "" if device.trains else device.note
    elif kind.accelerator:
        device, blocked = _unknown_device(kind.accelerator), "its accelerator is in no table"
    elif host is not None and kind.vcpus:
        device = cpu_machine(host, kind.vcpus, ram_bytes).accelerator
    else:
        device, blocked = _unknown_device("CPU"), "its CPU model is not known"
    machine = Machine(
        name=f"{kind.provider} {kind.instance_type}",
        accelerator=device,
        num_gpus=kind.num_gpus,
        num_nodes=num_nodes,
        link=link(cast(LinkKind, kind.link), device) if kind.num_gpus > 1 else None,
        network=_network(kind),
        cpu=host,
        vcpus=kind.vcpus,
        ram_bytes=ram_bytes,
    )
    return machine, blocked


def rented_cpu(kind: InstanceType) -> Cpu | None:
    """The CPU behind an instance type, its vCPUs a core as its provider counts them; None where it is not known.

    The table of CPUs counts Zen 4 and Zen 5 as AWS does (7a, 8a: a vCPU is a core). Google and Azure sell them by the
    thread, but for the Azure series whose documentation says that they run without simultaneous multithreading.
    """
    if not kind.cpu:
        return None
    host = cpu(kind.cpu)
    if host.key not in _TWO_THREADS_A_CORE or kind.provider not in _SELL_THREADS:
        return host
    if kind.provider == "azure" and kind.instance_type.startswith(_AZURE_WHOLE_CORES):
        return host
    return host._replace(vcpus_per_core=2)


def _network(kind: InstanceType) -> Network | None:
    if kind.network_gbit_s is None:
        return None
    return rented_network(kind.network, kind.network_gbit_s, kind.rdma)


def _unknown_device(name: str) -> Accelerator:
    return Accelerator(name, name, "gpu", "", "", "", "none", trains=False)


class CloudQuestion(NamedTuple):
    """Which cloud offers to consider: the price filter, the day, the nodes of a job, and how old a price may be."""

    query: OfferQuery
    today: date
    num_nodes: int
    max_age_days: int


def cloud_candidates(
    offers: Sequence[Offer],
    kinds: Mapping[tuple[str, str], InstanceType],
    question: CloudQuestion,
    wanted: Callable[[Machine], bool],
    tariff: Callable[[str], Tariff],
) -> Iterator[Candidate]:
    """One candidate an instance type that has a matching offer.

    ``offers`` must be sorted by provider and type, as the catalogue gives them; ``tariff`` is asked by provider.
    """
    for key, group in groupby(offers, itemgetter(0, 1)):
        kind = kinds[key]
        matching = select(group, kind, question.query, question.today)
        if not matching:
            continue
        machine, blocked = cloud_machine(kind, question.num_nodes)
        if not wanted(machine):
            continue
        refused = _refused(matching, kind, question)
        yield Candidate(
            name=kind.instance_type,
            place="cloud",
            machine=machine,
            tariff=tariff(kind.provider),
            offers=tuple(offer for offer in matching if offer not in refused) if refused else tuple(matching),
            refused=tuple(refused.items()),
            blocked=kind.unranked or blocked,
            provider=kind.provider,
            instance_type=kind.instance_type,
        )


def _refused(offers: list[Offer], kind: InstanceType, question: CloudQuestion) -> dict[Offer, str]:
    """The offers that cannot be ranked, each with its reason."""

    def reason(offer: Offer) -> str:
        return unranked_reason(offer, kind, question.today, question.max_age_days)

    # A machine's offers share a few days and marks, and mostly none of these is a reason.
    if not any(map(reason, {(offer.flags, offer.price_as_of): offer for offer in offers}.values())):
        return {}
    return {offer: why for offer in offers if (why := reason(offer))}
