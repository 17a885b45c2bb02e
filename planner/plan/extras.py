"""What a rented run pays beside the machine (disk, egress), and how often its spot machines are taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.experiment.experiment import Experiment
from planner.plan.candidates import Tariff
from planner.plan.config import Config
from planner.plan.cost import Charge
from planner.plan.timeline import checkpoint_bytes
from planner.units import Interval
from pricing.interruption import Interruptions
from pricing.offer import Offer
from pricing.rates import (
    HOURS_PER_MONTH,
    billing,
    dearest_disk_rate,
    dearest_egress_usd,
    disk_rate,
    egress_rates,
    egress_usd,
    object_storage_rate,
)

SYSTEM_DISK_GB = 50.0
"""Operating system, driver, container and Python environment (assumption)."""

KEPT_CHECKPOINTS = 2
"""The newest checkpoint and the one before it, in case the newest is torn (assumption)."""

_FROZEN_WEIGHT_BYTES = 2.0
"""Pretrained weights are published in 2 bytes."""


def tariffs(
    experiment: Experiment, interruptions: Interruptions, num_nodes: int, config: Config
) -> Callable[[str], Tariff]:
    """The tariff by provider: disk on every node, storage, egress once, idle time, the spot machines' interruptions."""
    known: dict[str, Tariff] = {}

    def rate(offer: Offer) -> Interval:
        found = interruptions.of(offer.provider, offer.instance_type, offer.region)
        return Interval(found.low_per_hour, found.per_hour, found.high_per_hour)

    def tariff(provider: str) -> Tariff:
        if provider not in known:
            disk, egress = _disk(provider, disk_gb(experiment), num_nodes), _egress(provider, experiment)
            known[provider] = Tariff(
                (disk, *_storage(provider, experiment), egress),
                billing(provider),
                rate,
                idle_s=config.idle_minutes * 60,
                credit_usd=config.credits_usd.get(provider, 0.0),
                credit_value=config.credit_value,
            )
        return known[provider]

    return tariff


def disk_gb(experiment: Experiment) -> float:
    """What one machine's disk must hold: the system, the data set and the newest checkpoints. GB."""
    data = experiment.dataset
    data_bytes = data.bytes if data is not None and data.bytes is not None else 0.0
    model_bytes = KEPT_CHECKPOINTS * checkpoint_bytes(experiment)
    if experiment.lora_rank is not None:  # the frozen weights are in no checkpoint of the adapters
        model_bytes += _FROZEN_WEIGHT_BYTES * experiment.workload.parameters
    return SYSTEM_DISK_GB + (data_bytes + model_bytes) / 1e9


def _disk(provider: str, gigabytes: float, num_nodes: int) -> Charge:
    rate = disk_rate(provider)
    if rate is None:
        hourly = dearest_disk_rate() * gigabytes / HOURS_PER_MONTH * num_nodes
        source = f"no disk rate of {provider} is known; at most {hourly:.2g} USD an hour at the dearest rate known"
        return Charge("disk", hourly, 0.0, source, at_most=True)
    hourly = rate.value * gigabytes / HOURS_PER_MONTH * num_nodes
    return Charge("disk", hourly, 0.0, f"{gigabytes:.0f} GB a node; {rate.source}", as_of=rate.as_of)


def _storage(provider: str, experiment: Experiment) -> Iterator[Charge]:
    """Where the data set and the checkpoints lie while the run lasts, at providers that sell object storage."""
    rate = object_storage_rate(provider)
    if rate is not None:
        gigabytes = disk_gb(experiment) - SYSTEM_DISK_GB
        hourly = rate.value * gigabytes / HOURS_PER_MONTH
        yield Charge("object storage", hourly, 0.0, f"{gigabytes:.3g} GB; {rate.source}", as_of=rate.as_of)


def _egress(provider: str, experiment: Experiment) -> Charge:
    gigabytes = checkpoint_bytes(experiment) / 1e9
    usd = egress_usd(provider, gigabytes)
    if usd is None:
        most = dearest_egress_usd(gigabytes)
        source = f"no egress rate of {provider} is known; at most {most:.2f} USD at the dearest rate known"
        return Charge("egress", 0.0, most, source, at_most=True)
    rate = egress_rates(provider)[0]
    return Charge("egress", 0.0, usd, f"{gigabytes:.2g} GB of results; {rate.source}", as_of=rate.as_of)
