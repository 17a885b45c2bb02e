"""Macs and Windows machines, from recorded answers of their tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.hardware.accelerator import GIB
from planner.profiler.detect import Sources, quick_look
from planner.profiler.other_hosts import read_mac, read_windows, run_command
from tests.profiler.trees import several


def mac(sysctl: str, cores: int | None, battery: bool) -> Callable[[list[str]], str]:
    def run(command: list[str]) -> str:
        if command[0] == "sysctl":
            return sysctl
        if "AppleSmartBattery" in command:
            return '"BatteryInstalled" = Yes' if battery else ""
        return f'    "gpu-core-count" = {cores}\n' if cores else ""

    return run


M3_MAX = "Apple M3 Max\n68719476736\n16\n16\nMac15,9\n"


def test_a_macbook() -> None:
    local = quick_look(None, Sources("darwin", run=mac(M3_MAX, 40, True)))
    machine = local.machine()
    assert local.place == "laptop"
    assert machine.accelerator.key == "M3-Max-40c"
    assert machine.accelerator.memory_bytes == 64 * GIB
    assert machine.accelerator.usable_memory_bytes == 48 * GIB
    assert machine.vcpus == 16
    assert machine.cpu is not None
    assert machine.cpu.key == "Apple-M3-P"


def test_a_mac_on_the_desk_that_hides_its_cores() -> None:
    local = quick_look(None, Sources("darwin", run=mac(M3_MAX, None, False)))
    assert local.place == "workstation"
    assert local.machine().accelerator.key == "M3-Max-40c"
    assert any("M3-Max-30c" in note for note in local.notes)


def test_an_intel_mac_trains_on_its_cpu() -> None:
    host, gpus = read_mac(
        mac("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz\n17179869184\n6\n12\nMacBookPro16,1\n", None, True)
    )
    assert gpus == ()
    assert host.threads_per_core == 2
    assert host.ram_bytes == 16 * GIB


def test_a_mac_that_says_nothing() -> None:
    host, gpus = read_mac(lambda command: "")
    assert (host.cpu_name, host.ram_bytes, gpus) == ("", None, ())
    assert host.vcpus >= 1


def test_commands() -> None:
    assert run_command(["no-such-command-anywhere"]) == ""


def test_windows_as_far_as_it_goes() -> None:
    assert read_windows().vcpus >= 1
    nvml = several(1, "NVIDIA GeForce RTX 4070", 12282, 200.0, 5888)
    local = quick_look(None, Sources("win32", open_nvml=lambda: nvml), wait_s=None)
    assert local.machine().accelerator.key == "RTX4070"


@pytest.mark.parametrize("listing", ['"gpu-core-count" = many', '"gpu-core-count"', ""])
def test_core_counts_that_cannot_be_read(listing: str) -> None:
    def run(command: list[str]) -> str:
        return M3_MAX if command[0] == "sysctl" else listing

    assert read_mac(run)[1][0].name == "Apple M3 Max"
