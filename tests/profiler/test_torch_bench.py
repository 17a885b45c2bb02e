"""The micro-benchmarks themselves, in an interpreter that has torch."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from planner.profiler.microbench import CHILD

torch = pytest.importorskip("torch")

BENCHES = ("bench_case", "bench_cases", "bench_device", "bench_matrix", "bench_passes")


@pytest.fixture
def torch_bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CHILD))
    for name in ("torch_bench", "probe_networks", *BENCHES):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("torch_bench")


@pytest.fixture
def bench_cases(torch_bench: ModuleType) -> ModuleType:
    """As the bench itself imports it."""
    return sys.modules["bench_cases"]


def test_every_measurement_has_a_name_of_its_own(torch_bench: ModuleType) -> None:
    """A profile keeps one of each name, class and phase."""
    bench = torch_bench.Bench(torch.device("cpu"), 8)
    everything = [*torch_bench.accelerator_cases(bench), *torch_bench.cases(bench), *torch_bench.held_memory(bench)]
    names = [(case.name, case.op_class, case.phase) for case in everything]
    assert len(set(names)) == len(names)


def test_two_byte_cases_move_half_the_bytes(torch_bench: ModuleType, bench_cases: ModuleType) -> None:
    bench = torch_bench.Bench(torch.device("cpu"), 8)
    full = {(case.name, case.phase, case.op_class): case.bytes for case in bench_cases._matrix_cases(bench)}
    half = [case for case in torch_bench.accelerator_cases(bench) if case.name.endswith(" half")]
    assert len(half) == len(full)
    for case in half:
        assert case.bytes == full[case.name.removesuffix(" half"), case.phase, case.op_class] / 2
        assert case.element_bytes == 2


def test_a_case_visited_twice_counts_both_visits(torch_bench: ModuleType) -> None:
    bench = torch_bench.Bench(torch.device("cpu"), 1)
    timer = torch_bench.Timer(bench, 0.0)
    case = next(iter(sys.modules["bench_passes"].elementwise_of(bench, 1024)))
    assert [timer.timed(case)["repeats"] for _ in range(2)] == [3, 6]


def test_half_of_a_bottlenecks_arithmetic_is_in_pointwise_convolutions(torch_bench: ModuleType) -> None:
    """planner.throughput.measured takes so much for granted."""
    build = torch_bench.probes(1)[1]
    rows = build().rows
    pointwise = sum(row.flops for row in rows if row.op_class.startswith("conv1"))
    assert pointwise / sum(row.flops for row in rows if row.op_class.startswith("conv")) == pytest.approx(0.5, abs=0.05)
