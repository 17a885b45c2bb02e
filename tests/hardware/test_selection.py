"""The GPUs a person wants: names, memory, counts."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.hardware.catalog import accelerator
from planner.hardware.cpus import cpu
from planner.hardware.machine import Machine, cpu_machine
from planner.hardware.selection import parse_selection, resolve_count


def machine(key: str, count: float = 1) -> Machine:
    return Machine(name=key, accelerator=accelerator(key), num_gpus=count)


@pytest.mark.parametrize(
    ("text", "chosen", "refused"),
    [
        ("H100:8", [("H100-SXM", 8), ("H100-NVL", 8)], [("H100-SXM", 4), ("A100-80GB-SXM", 8)]),
        ("8xH100", [("H100-SXM", 8)], [("H100-SXM", 1)]),
        ("A100-80GB", [("A100-80GB-SXM", 1), ("A100-80GB-PCIe", 4)], [("A100-40GB-SXM", 1)]),
        ("80GB+", [("H100-SXM", 1), ("H200-SXM", 8)], [("A100-40GB-SXM", 8)]),
        ("80GB+:8", [("H100-SXM", 8)], [("H100-SXM", 1)]),
        ("24GB..80GB", [("RTX3090", 1), ("L4", 1), ("H100-SXM", 8)], [("H200-SXM", 1), ("T4", 1)]),
        ("24GB", [("RTX3090", 1), ("A10G", 4)], [("RTXA6000", 1)]),
        ("T4, RTX 4090:2", [("T4", 1), ("RTX4090", 2)], [("RTX4090", 1), ("L4", 1)]),
        ("RTXPRO6000", [("RTXPRO6000-Server", 1), ("RTXPRO6000", 1)], [("RTX6000-Ada", 1)]),
    ],
)
def test_machines_chosen(text: str, chosen: list[tuple[str, float]], refused: list[tuple[str, float]]) -> None:
    selection = parse_selection(text)
    assert all(selection.matches(machine(key, count)) for key, count in chosen)
    assert not any(selection.matches(machine(key, count)) for key, count in refused)


def test_a_share_of_a_gpu_has_its_share_of_the_memory() -> None:
    selection = parse_selection("24GB")
    assert not selection.matches(machine("A10", 0.5))
    assert parse_selection("12GB").matches(machine("A10", 0.5))


def test_memory_selects_no_cpu() -> None:
    host = cpu_machine(cpu("Zen3-Milan"), 16, 64 * 2**30)
    assert not parse_selection("16GB+").matches(host)


def test_several_parts_are_said() -> None:
    assert parse_selection("A100").assumptions[0].startswith("GPU 'A100' selects A100-40GB-SXM, ")
    assert parse_selection("RTX 3090").assumptions == ()
    assert "no 3 GB version" in parse_selection("gtx 1060 3gb").assumptions[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":8",
        "H100:0",
        "H100:x",
        "H100:-1",
        "H100:99999",
        "80+",
        "..",
        "8GB..",
        "80GB..24GB",
        "nope",
        "cpu",
        "x+",
        "A100,,",
    ],
)
def test_bad_selections_are_refused(text: str) -> None:
    with pytest.raises(InputError) as failure:
        parse_selection(text)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("text", "key", "count"),
    [("H100:8", "H100-SXM", 8), ("8x H100", "H100-SXM", 8), ("2x RTX 3090", "RTX3090", 2), ("T4", "T4", 1)],
)
def test_counts(text: str, key: str, count: int) -> None:
    resolution, number = resolve_count(text)
    assert (resolution.accelerator.key, number) == (key, count)
