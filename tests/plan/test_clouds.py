"""From an instance type to a machine: the CPU's cores as the provider counts them, what cannot be planned with."""

from __future__ import annotations

import pytest

from planner.hardware.cpus import cpu
from planner.plan.clouds import cloud_machine, rented_cpu
from pricing.offer import InstanceType
from tests.pricing.samples import MACHINE


def kind(provider: str, name: str, family: str, vcpus: float) -> InstanceType:
    return MACHINE._replace(
        provider=provider, instance_type=name, accelerator="", num_gpus=0, cpu=family, vcpus=vcpus, unranked=""
    )


@pytest.mark.parametrize(
    ("provider", "name", "family", "cores"),
    [
        ("aws", "c7a.16xlarge", "Zen4-Genoa", 64),
        ("azure", "Standard_D64as_v6", "Zen4-Genoa", 32),
        ("azure", "Standard_F64as_v6", "Zen4-Genoa", 64),
        ("gcp", "c4d-standard-64", "Zen5-Turin", 32),
        ("gcp", "n2d-standard-64", "Zen2-Rome", 32),
        ("aws", "c7g.16xlarge", "Graviton3", 64),
    ],
)
def test_vcpus_are_cores_or_threads(provider: str, name: str, family: str, cores: int) -> None:
    machine, blocked = cloud_machine(kind(provider, name, family, 64))
    assert not blocked
    host = cpu(family)
    assert machine.accelerator.fp32_flops_per_s == pytest.approx(cores * host.clock_hz * host.fp32_flop_per_cycle_core)


def test_the_other_facts_of_the_family_stay() -> None:
    host = rented_cpu(kind("gcp", "c4d-standard-64", "Zen5-Turin", 64))
    assert host is not None
    assert host._replace(vcpus_per_core=1) == cpu("Zen5-Turin")


def test_a_machine_without_a_known_cpu_is_not_planned_with() -> None:
    machine, blocked = cloud_machine(kind("gcp", "e2-standard-4", "", 4))
    assert blocked == "its CPU model is not known"
    assert machine.cpu is None


def test_an_accelerator_that_is_in_no_table_is_named() -> None:
    machine, blocked = cloud_machine(MACHINE._replace(accelerator="XPU-9000", num_gpus=1, unranked=""))
    assert blocked == "its accelerator is in no table"
    assert machine.accelerator.name == "XPU-9000"
