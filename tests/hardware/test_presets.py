"""Machines in words: presets, and entries of the user's configuration."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import InputError
from planner.hardware.accelerator import GIB
from planner.hardware.presets import described_cpu, machine_from_spec, presets


def test_three_laptops_four_workstations_three_clusters() -> None:
    places = [preset.place for preset in presets()]
    assert [places.count(place) for place in ("laptop", "workstation", "cluster")] == [3, 4, 3]
    assert len({preset.name for preset in presets()}) == 10


def test_every_preset_is_priced_dated_and_runs_ordinary_pytorch() -> None:
    for preset in presets():
        machine = preset.machine
        assert 1000 <= preset.purchase_usd <= 1e6
        assert "2020-01-01" <= preset.price_as_of <= "2026-11-30"
        assert len(preset.price_source) > 20
        assert preset.host_power_w >= 0
        assert machine.accelerator.stack in ("cuda", "rocm", "mps")
        assert machine.accelerator.trains
        assert machine.vcpus is not None
        assert machine.ram_bytes is not None
        assert (machine.link is not None) == (machine.num_gpus > 1)
        assert (machine.network is not None) or machine.num_nodes == 1


def test_a_price_is_the_parts_and_the_host() -> None:
    pair = next(preset for preset in presets() if preset.name == "2x RTX 3090 workstation")
    assert pair.purchase_usd == pytest.approx(2 * 1499.99 + 2000)
    assert pair.price_source.startswith("2 x ")
    assert "2,000 USD (assumption)" in pair.price_source
    assert pair.machine.link is not None
    assert pair.machine.link.kind == "nvlink_bridge"


def test_the_laptop_mac_has_its_own_memory() -> None:
    mac = next(preset for preset in presets() if preset.machine.accelerator.stack == "mps")
    assert mac.machine.accelerator.memory_bytes == 24 * GIB


def test_a_machine_from_a_configuration() -> None:
    machine = machine_from_spec(
        "lab", "A100 80GB", 8, 2, network="100 Gb/s Ethernet", vcpus=128, ram_gb=1024, cpu="EPYC 7763"
    )
    assert machine.accelerator.key == "A100-80GB-SXM"
    assert machine.devices == 16
    assert machine.link is not None
    assert machine.link.kind == "nvswitch"
    assert machine.network is not None
    assert machine.network.bandwidth_bytes_per_s == 12.5e9
    assert machine.cpu is not None
    assert machine.cpu.key == "Zen3-Milan"
    assert machine.ram_bytes == 1024 * GIB


@pytest.mark.parametrize(
    ("gpu", "words", "kind"),
    [
        ("RTX 3090", None, "pcie4"),
        ("RTX 3090", "NVLink", "nvlink_bridge"),
        ("RTX 3090", "NVLink bridge", "nvlink_bridge"),
        ("RTX 3090", "PCIe", "pcie4"),
        ("RTX 3090", "PCIe 3.0", "pcie3"),
        ("RTX 3090", "none", "none"),
        ("V100", "NVLink", "nvlink_mesh"),
        ("H100", "nvlink", "nvswitch"),
        ("MI300X", "Infinity Fabric", "xgmi"),
    ],
)
def test_links_in_words(gpu: str, words: str | None, kind: str) -> None:
    machine = machine_from_spec("desk", gpu, 2, link=words)
    assert machine.link is not None
    assert machine.link.kind == kind


def test_one_gpu_has_no_link() -> None:
    assert machine_from_spec("desk", "RTX 3090", link="NVLink").link is None


def test_a_machine_without_gpu_trains_on_its_cpu() -> None:
    machine = machine_from_spec("box", "none", cpu="Zen3-Milan", vcpus=32, ram_gb=64)
    assert machine.num_gpus == 0
    assert machine.accelerator.kind == "cpu"
    assert machine.accelerator.usable_memory_bytes == 64 * GIB


def test_a_mac_trains_in_the_memory_it_has() -> None:
    machine = machine_from_spec("mac", "M3 Max", ram_gb=48)
    assert machine.accelerator.memory_bytes == 48 * GIB
    assert machine.accelerator.usable_memory_bytes == 36 * GIB


def test_cpus_in_words() -> None:
    assert described_cpu("zen3-milan").key == "Zen3-Milan"
    assert described_cpu("Xeon Platinum 8275CL").key == "CascadeLake"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"gpu": "H100", "count": 0}, "count of machine 'lab' must be greater than 0, not 0"),
        ({"gpu": "H100", "nodes": -1}, "nodes of machine 'lab'"),
        ({"gpu": "H100", "vcpus": float("nan")}, "vcpus of machine 'lab'"),
        ({"gpu": "H100", "ram_gb": float("inf")}, "ram_gb of machine 'lab'"),
        ({"gpu": "H100", "nodes": 2}, "say its network"),
        ({"gpu": "H100", "nodes": 2, "network": "fast"}, "unknown network 'fast'"),
        ({"gpu": "H199"}, "unknown accelerator 'H199'"),
        ({"gpu": "none"}, "say its cpu and its vcpus"),
        ({"gpu": "RTX 4090", "count": 2, "link": "NVLink"}, "takes no NVLink bridge"),
        ({"gpu": "RTX 4090", "count": 2, "link": "wire"}, "unknown link 'wire'"),
        ({"gpu": "RTX 4090", "cpu": "Z80"}, "unknown CPU 'Z80'"),
    ],
)
def test_what_cannot_be_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as failure:
        machine_from_spec("lab", **words)
    assert message in str(failure.value)
