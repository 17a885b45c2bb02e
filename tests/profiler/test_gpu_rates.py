"""From a GPU's micro-benchmarks to its rates; no GPU was at hand, the lines are made up."""

from __future__ import annotations

import json
import math
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planner.cli.profile_table import profile_lines
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import GpuRates, Kernel, Measured, Profile
from planner.profiler.detect import LocalMachine
from planner.profiler.gpu_rates import gpu_rates
from planner.profiler.local_facts import GpuFacts, HostFacts
from planner.profiler.profile_file import gpu_document, read_profile
from planner.profiler.session import Session
from planner.profiler.this_machine import with_measured_link
from tests.profiler.interpreters import interpreter

CONVOLUTION = {"phase": "backward", "kernel_size": 3, "groups": 1, "width": 48.0}


def row(op_class: str, flops: float, moved: float, seconds: float, **more: Any) -> dict[str, Any]:
    fields = {"name": op_class, "phase": "forward", "kernels": 1, "low_s": seconds, "high_s": seconds, "devices": 1}
    return {**fields, "op_class": op_class, "flops": flops, "bytes": moved, "seconds": seconds, **more}


ROWS = [
    row("product float16", 1e12, 1e8, 0.02, name="small"),
    row("product float16", 8e12, 4e8, 0.1, name="large"),
    row("product bfloat16", 8e12, 4e8, 0.4),
    row("product tfloat32", 8e12, 8e8, 0.2),
    row("product float32", 8e12, 8e8, 0.4, low_s=0.38, high_s=0.42),
    row("moved", 0.0, 8e8, 0.001),
    row("moved", 0.0, 2e8, 0.001, phase="backward"),
    row("host copy", 0.0, 2e8, 0.01),
    row("all-reduce", 0.0, 2e8, 0.02, devices=4),
    row("conv_wg", 1e9, 1e6, 0.001, name="conv 3x3", element_bytes=2, **CONVOLUTION),
    row("launch", 0.0, 0.0, 0.001),
    row("update sgd", 0.0, 1e8, 0.001),
]


def test_specifications_that_were_measured() -> None:
    rates = gpu_rates(ROWS)
    assert rates is not None
    assert {engine: measured.rate for engine, measured in rates.products.items()} == {
        "half": 8e13,  # the larger of both sizes, and not the emulated type
        "tf32": 4e13,
        "fp32": 2e13,
    }
    assert rates.products["fp32"].log_sd == pytest.approx(math.log(0.42 / 0.38) / 1.35)
    assert rates.from_host_bytes_per_s == 2e10


def test_copies_and_sums_are_one_rate_with_their_spread() -> None:
    """800 and 200 GB/s: 400 in the middle, and ln 4 over two times the square root of 2 apart for each."""
    rates = gpu_rates(ROWS)
    assert rates is not None
    assert rates.moved is not None
    assert rates.moved.rate == pytest.approx(4e11)
    assert rates.moved.log_sd == pytest.approx(math.log(4) / math.sqrt(2) / math.sqrt(2))


def test_a_sum_over_four_sends_three_halves_of_it_over_each_link() -> None:
    rates = gpu_rates(ROWS)
    assert rates is not None
    assert (rates.all_reduce_bytes_per_s, rates.num_reduced) == (1.5e10, 4)


def test_kernels_are_what_the_model_has_classes_for() -> None:
    rates = gpu_rates(ROWS)
    assert rates is not None
    assert rates.kernels == (Kernel("conv 3x3", "conv_wg", "backward", 2, 1e9, 1e6, 1, 0.001, 48.0, 1, 3),)


def test_a_warm_gpu_keeps_a_share_of_its_arithmetic() -> None:
    warm, cold = gpu_rates(ROWS, 0.8), gpu_rates(ROWS)
    assert warm is not None
    assert cold is not None
    assert warm.products["half"].rate == pytest.approx(0.8 * cold.products["half"].rate)
    assert warm.moved == cold.moved


def test_nothing_measured_is_nothing_known() -> None:
    assert gpu_rates([]) is None
    assert gpu_rates([row("launch", 0.0, 0.0, 0.001)]) is None


RATES = GpuRates(
    {"half": Measured(8e13, 0.02)}, Measured(4e11, 0.03), (Kernel("a", "bn", "forward", 4, 0.0, 1e6, 1, 1e-5),)
)


def document(gpus: list[str]) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "made_at": "2026-11-30T22:00:00+00:00",
        "machine": {"cpu": "a CPU", "vcpus": 8, "gpus": gpus},
        "gpu": gpu_document(RATES),
    }


def test_it_reads_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(document(["RTX 3090", "RTX 3090"])))
    profile = read_profile(path)
    assert profile.gpu == RATES
    assert profile.words == "rates of the GPU, 2026-11-30"


def test_of_two_kinds_of_gpus_nobody_knows_which_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(document(["RTX 3090", "GTX 1050"])))
    assert read_profile(path).gpu is None


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in interpreter is a script")
def test_a_session_on_a_gpu_keeps_its_rates_and_leaves_the_cpus(tmp_path: Path) -> None:
    gpu = {"kind": "device", "device": "cuda", "name": "RTX 3090", "torch": "9", "threads": 8, "cases": len(ROWS)}
    python = interpreter(tmp_path, torch=[gpu, *({**line, "kind": "rate"} for line in ROWS)])
    local = LocalMachine(HostFacts("AMD EPYC", 2, 1, 2.0e10), (GpuFacts("RTX 3090"),))
    path = tmp_path / "profile.json"
    session = Session(local, path, lambda: datetime(2026, 11, 30, 22, tzinfo=UTC))
    session.measure(python, quick=True, seconds=20, progress=lambda *_: None)
    profile = read_profile(path)
    assert profile.gpu == gpu_rates(ROWS)
    assert (profile.rates, profile.host_launch_s) == (None, 0.001)
    shown = "\n".join(profile_lines(json.loads(path.read_text()), path))
    assert "matrix products at 80.0 TFLOP/s in 2 bytes, 40.0 TFLOP/s in TF32" in shown
    assert "4 GPUs: sums cross a link at 15.0 GB/s" in shown


def test_the_machines_link_is_as_fast_as_its_sums() -> None:
    rates = RATES._replace(all_reduce_bytes_per_s=15e9, num_reduced=4)
    profile = Profile("profile.json", "2026-11-30", gpu=rates)
    machine = machine_from_spec("this machine", "RTX3090", 4)
    linked = with_measured_link(machine, profile)
    assert linked.link is not None
    assert (linked.link.measured_bytes_per_s, linked.link.num_measured) == (15e9, 4)
    single = machine._replace(num_gpus=1)
    assert with_measured_link(single, profile) == single
    assert with_measured_link(machine, Profile("profile.json", "2026-11-30")) == machine
