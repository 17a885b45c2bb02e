"""The full look on replayed machines, and what is said in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.profiler.conclude import share_of_gpu
from planner.profiler.detect import LocalMachine, Sources, quick_look
from planner.profiler.full_look import disk_kind, full_look
from planner.profiler.linux_host import Tree
from planner.profiler.nvml import Nvml
from tests.profiler import trees
from tests.profiler.trees import memory, write

DESK = {"proc/cpuinfo": trees.RYZEN_5950X}


def look(root: str, nvml: Nvml | None) -> tuple[LocalMachine, Sources]:
    sources = Sources("linux", root, {}, 8, lambda: nvml, run=lambda command: "")
    return quick_look(None, sources, wait_s=None), sources


@pytest.fixture
def desk(tmp_path: Path) -> str:
    return write(tmp_path, DESK, memory(64), trees.DRIVER)


@pytest.mark.parametrize(
    ("recording", "key", "count", "link"),
    [
        ("h100x8", "H100-SXM", 8, "nvswitch"),
        ("rtx3090x2", "RTX3090", 2, "nvlink_bridge"),
        ("laptop4060", "RTX4060-Laptop", 1, None),
    ],
)
def test_replayed_machines(desk: str, recording: str, key: str, count: int, link: str | None) -> None:
    local, sources = look(desk, trees.replayed(recording))
    machine = local.machine()
    assert machine.accelerator.key == key
    assert machine.num_gpus == count
    assert (machine.link.kind if machine.link else None) == link
    assert len(full_look(local, sources).details) == count


def test_a_slice_is_a_fraction_of_its_gpu(desk: str) -> None:
    local, sources = look(desk, trees.replayed("a100_mig"))
    machine = local.machine()
    assert machine.accelerator.key == "A100-40GB-SXM"
    assert machine.num_gpus == pytest.approx(3 / 7)
    assert any("3g.20gb" in note for note in local.notes)
    assert "GPU 0 is partitioned (MIG)" in full_look(local, sources).sentences


def test_a_k80_is_too_old_to_train(desk: str) -> None:
    local, _ = look(desk, trees.replayed("k80"))
    assert local.machine().num_gpus == 0
    assert any("K80" in note and "left out" in note for note in local.notes)


def test_no_driver_is_a_normal_answer(desk: str) -> None:
    local, sources = look(desk, None)
    assert local.machine().num_gpus == 0
    assert full_look(local, sources).details == ()


def test_a_busy_gpu_is_said(desk: str) -> None:
    local, sources = look(desk, trees.replayed("rtx3090x2"))
    sentences = full_look(local, sources).sentences
    assert any(
        sentence.startswith("GPU 1 is in use by another process, busy 98% of the time") for sentence in sentences
    )


def test_what_amds_tool_shows_is_said(desk: str) -> None:
    answer = '{"card0": {"Card Series": "AMD Instinct MI210", "GPU use (%)": "97"}}'
    sources = Sources("linux", desk, {}, 8, lambda: None, run=lambda command: answer)
    sentences = full_look(quick_look(None, sources, wait_s=None), sources).sentences
    assert sentences[0] == "its maker's tool shows AMD Instinct MI210"
    assert sentences[1].startswith("AMD Instinct MI210 is in use by another process, busy 97% of the time")


def test_eight_lanes_are_said(desk: str) -> None:
    local, sources = look(desk, trees.replayed("laptop4060"))
    assert "GPU 0 has 8 PCIe lanes of generation 4" in full_look(local, sources).sentences
    assert local.machine().accelerator.power_w == 115


def test_battery_and_load_are_said(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        DESK,
        memory(64),
        {
            "sys/class/power_supply/BAT0/type": "Battery\n",
            "sys/class/power_supply/BAT0/status": "Discharging\n",
            "proc/loadavg": "7.25 5.10 2.00 3/700 12345\n",
        },
    )
    local, sources = look(root, None)
    sentences = full_look(local, sources).sentences
    assert any("battery" in sentence for sentence in sentences)
    assert any(sentence.startswith("7.2 processes compete for ") for sentence in sentences)


def test_a_quiet_desktop_has_nothing_to_say(tmp_path: Path) -> None:
    local, sources = look(write(tmp_path, DESK, memory(64), {"proc/loadavg": "0.10 0.1 0.1 1/1 1\n"}), None)
    assert full_look(local, sources).sentences == ()


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"sys/block/nvme0n1/queue/rotational": "0\n"}, "nvme"),
        ({"sys/block/loop0/size": "8\n", "sys/block/sda/queue/rotational": "1\n"}, "hard disk"),
        ({"sys/block/sda/queue/rotational": "0\n"}, "ssd"),
        ({"sys/block/vda/queue/rotational": "1\n"}, "virtual"),
        ({}, ""),
    ],
)
def test_kinds_of_disk(tmp_path: Path, files: dict[str, str], kind: str) -> None:
    assert disk_kind(Tree(write(tmp_path, files))) == kind


@pytest.mark.parametrize(("name", "share"), [("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 1 / 7), ("NVIDIA L4", 1.0)])
def test_the_share_of_a_slice(name: str, share: float) -> None:
    assert share_of_gpu(name) == pytest.approx(share)
