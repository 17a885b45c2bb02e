"""Energy counters: RAPL's files and NVML's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.profiler.energy import Counter, EnergyMeter
from tests.profiler.trees import replayed, write

RAPL = "sys/class/powercap/intel-rapl:"


def test_packages_are_added_and_their_parts_are_not(tmp_path: Path) -> None:
    files = {f"{RAPL}{name}/{key}": value for name in ("0", "1", "0:0") for key, value in _domain(5_000_000)}
    meter = EnergyMeter(write(tmp_path, files), nvml=lambda: None)
    meter.start()
    write(tmp_path, {f"{RAPL}{name}/energy_uj": "7500000\n" for name in ("0", "1", "0:0")})
    energy = meter.energy()
    assert energy.processor_j == pytest.approx(5.0)
    assert energy.gpus_j is None


def _domain(microjoules: int) -> list[tuple[str, str]]:
    return [("energy_uj", f"{microjoules}\n"), ("max_energy_range_uj", "262143328850\n")]


def test_a_counter_that_starts_again_goes_on(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{RAPL}0/{key}": value for key, value in _domain(262_143_000_000)})
    meter = EnergyMeter(root, nvml=lambda: None)
    meter.start()
    write(tmp_path, {f"{RAPL}0/energy_uj": "671150\n"})
    assert meter.energy().total_j == pytest.approx(1.0)  # 0.328850 J to its end, 0.671150 J since


def test_gpus_count_from_the_start_of_the_measurement() -> None:
    gpus = replayed("rtx3090x2")
    gpus.joules = 1000.0
    meter = EnergyMeter("/no/such/root", nvml=lambda: gpus)
    meter.start()
    gpus.joules = 1250.0
    energy = meter.energy()
    assert energy.gpus_j == pytest.approx(500.0)
    assert energy.processor_j is None


def test_both_are_kept_apart_and_added(tmp_path: Path) -> None:
    gpus = replayed("rtx3090x2")
    gpus.joules = 0.0
    meter = EnergyMeter(write(tmp_path, {f"{RAPL}0/{key}": value for key, value in _domain(0)}), nvml=lambda: gpus)
    meter.start()
    gpus.joules = 100.0
    write(tmp_path, {f"{RAPL}0/energy_uj": "30000000\n"})
    energy = meter.energy()
    assert energy.processor_j == pytest.approx(30.0)
    assert energy.gpus_j == pytest.approx(200.0)
    assert energy.total_j == pytest.approx(230.0)


def test_without_a_readable_counter_energy_is_unknown(tmp_path: Path) -> None:
    meter = EnergyMeter(write(tmp_path, {f"{RAPL}0/energy_uj": "secret\n"}), nvml=lambda: None)
    meter.start()
    assert meter.energy().total_j is None


def test_a_counter_that_fell_without_a_known_range_is_unknown() -> None:
    values = iter((10.0, 4.0))
    assert Counter(lambda: next(values)).joules() is None
