"""The price snapshot and the hardware tables speak of the same things."""

from __future__ import annotations

import pytest

from planner.errors import UnknownNameError
from planner.hardware.catalog import accelerators, resolve
from planner.hardware.cpus import cpus
from planner.hardware.interconnect import link
from pricing.offer import InstanceType
from pricing.published import open_catalog

KINDS = list(open_catalog().instance_types().values())


def test_every_accelerator_is_known_or_stands_on_the_list_of_those_that_are_not() -> None:
    for name in {kind.accelerator for kind in KINDS if kind.accelerator} - set(accelerators()):
        with pytest.raises(UnknownNameError) as failure:
            resolve(name)
        assert not failure.value.suggestions
        assert "; " in str(failure.value)


def test_every_cpu_is_a_family_of_the_table() -> None:
    assert {kind.cpu for kind in KINDS if kind.cpu} <= set(cpus())


def _linked(kind: InstanceType) -> bool:
    return kind.num_gpus > 1 and kind.accelerator in accelerators()


def test_every_link_exists_on_its_accelerator() -> None:
    linked = [kind for kind in KINDS if _linked(kind)]
    assert len(linked) > 100
    for kind in linked:
        assert link(kind.link, accelerators()[kind.accelerator]).kind == kind.link
