"""CPU families: the table, and model names as systems write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import UnknownNameError
from planner.hardware.cpus import cpu, cpus, resolve_cpu
from planner.hardware.machine import cpu_machine
from planner.hardware.tables import read_rows


def test_values_are_within_reason() -> None:
    assert len(cpus()) >= 20
    for family in cpus().values():
        assert family.fp32_flop_per_cycle_core in (16, 32, 64)
        assert 2e9 <= family.clock_hz <= 5e9
        assert family.bandwidth_bytes_per_s is None or 50e9 <= family.bandwidth_bytes_per_s <= 800e9
        assert family.vcpus_per_core in (1, 2)
        assert 4 <= family.cores_per_socket <= 192


def test_every_row_has_a_source_and_every_alias_a_family() -> None:
    assert all(len(row["source"]) > 10 for row in read_rows("cpus.csv"))
    assert {row["key"] for row in read_rows("cpu_aliases.csv")} <= set(cpus())


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "CascadeLake"),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "IceLake-SP"),
        ("Intel(R) Xeon(R) Platinum 8488C", "SapphireRapids"),
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "Skylake-SP"),
        ("Intel(R) Xeon(R) Gold 6430", "SapphireRapids"),
        ("INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz", "EmeraldRapids"),
        ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "Broadwell"),
        ("AMD EPYC 7R13 Processor", "Zen3-Milan"),
        ("AMD EPYC 7763 64-Core Processor", "Zen3-Milan"),
        ("AMD EPYC 7742 64-Core Processor", "Zen2-Rome"),
        ("AMD EPYC 9654 96-Core Processor", "Zen4-Genoa"),
        ("AMD EPYC 9R14", "Zen4-Genoa"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "Client-Zen4/5"),
        ("12th Gen Intel(R) Core(TM) i7-1270P", "Client-Intel-hybrid"),
        ("Intel(R) Core(TM) i9-14900K", "Client-Intel-hybrid"),
        ("Apple M3 Max", "Apple-M3-P"),
        ("Neoverse-N1", "Graviton2"),
        ("AWS Graviton3", "Graviton3"),
        ("Cascade Lake", "CascadeLake"),
    ],
)
def test_model_names(name: str, key: str) -> None:
    resolution = resolve_cpu(name)
    assert (resolution.cpu.key, resolution.assumption) == (key, None)


def test_clouds_that_hide_the_name_are_told_by_family_and_model() -> None:
    assert resolve_cpu("Intel(R) Xeon(R) CPU @ 2.20GHz", identity="intel 6 79").cpu.key == "Broadwell"
    assert resolve_cpu("AMD EPYC", identity="amd 25 1").cpu.key == "Zen3-Milan"
    assert resolve_cpu("", identity="arm 65 3392").cpu.key == "Graviton3"


@pytest.mark.parametrize(
    ("flags", "per_cycle"),
    [(("avx512f", "avx2"), 64), (("avx2", "avx"), 32), (("avx",), 16), (("asimd",), 16), (("sse2",), 8), ((), 32)],
)
def test_an_unknown_cpu_is_taken_by_its_instruction_set(flags: tuple[str, ...], per_cycle: float) -> None:
    resolution = resolve_cpu("Some Chip 1", flags, 3.0e9)
    assert resolution.cpu.fp32_flop_per_cycle_core == per_cycle
    assert resolution.cpu.clock_hz == 3.0e9
    assert "Some Chip 1" in str(resolution.assumption)
    assert f"{per_cycle} FLOP a clock" in str(resolution.assumption)


def test_an_unknown_cpu_without_clock_or_name() -> None:
    resolution = resolve_cpu("")
    assert resolution.cpu.name == "unknown CPU"
    assert resolution.cpu.clock_hz == 2.5e9


def test_a_key_that_is_in_no_table() -> None:
    with pytest.raises(UnknownNameError, match="did you mean Zen3-Milan"):
        cpu("Zen3-Milam")


@given(st.text(max_size=60), st.lists(st.sampled_from(["avx2", "sve", "fpu"])))
def test_any_name_gives_a_cpu(name: str, flags: list[str]) -> None:
    assert resolve_cpu(name, flags).cpu.fp32_flop_per_cycle_core > 0


def test_the_cpu_as_a_device() -> None:
    family = cpu("CascadeLake")
    machine = cpu_machine(family, 8, 32 * 2**30)
    device = machine.accelerator
    assert machine.num_gpus == 0
    assert machine.devices == 1
    assert device.kind == device.stack == "cpu"
    assert device.fp32_flops_per_s == pytest.approx(4 * 3.1e9 * 64)
    assert device.bandwidth_bytes_per_s == pytest.approx(140.8e9 * 4 / 24)
    assert device.memory_bytes == device.usable_memory_bytes == 32 * 2**30


def test_a_cpu_of_ones_own_has_all_its_bandwidth() -> None:
    family = cpu("CascadeLake")
    assert cpu_machine(family, 8, None, whole_socket=True).accelerator.bandwidth_bytes_per_s == 140.8e9
    two_sockets = cpu_machine(family, 96, None, whole_socket=True).accelerator
    assert two_sockets.bandwidth_bytes_per_s == pytest.approx(2 * 140.8e9)


def test_unknown_bandwidth_stays_unknown() -> None:
    assert cpu("Axion").bandwidth_bytes_per_s is None
    assert cpu_machine(cpu("Axion"), 8, None).accelerator.bandwidth_bytes_per_s is None
