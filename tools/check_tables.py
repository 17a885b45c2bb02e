"""Check every shipped table: its builder makes it again, or it was written by hand and every value has its source.

    python tools/check_tables.py                    what needs nothing but the repository
    python tools/check_tables.py --shared DIR       also the builders that read the collected tables
    python tools/check_tables.py --zoo-cache DIR    also the zoo's builder (needs torch, timm, torchvision; hours)

docs/tables.md describes the tables; a file under planner/data or pricing/data that it does not name is a failure.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("planner/data", "pricing/data")
PAGE = "docs/tables.md"


class HandWritten(NamedTuple):
    """A table that people type: where a value stands, its source must; ``key`` columns together are unique.

    ``values`` are the columns with figures, ``sources`` those that say where these stand, ``days`` ISO dates.
    """

    path: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    sources: tuple[str, ...]
    days: tuple[str, ...] = ()


HAND_WRITTEN = (
    HandWritten(
        "planner/data/datasets.csv",
        ("name",),
        ("samples", "validation_samples", "bytes", "tokens", "image_size", "example_tokens", "usual_epochs"),
        ("source",),
    ),
    HandWritten("planner/data/usual_epochs.csv", ("family", "dataset"), ("epochs",), ("source",)),
    HandWritten("planner/data/electricity.csv", ("country",), ("usd_per_kwh",), ("source",), ("as_of",)),
    HandWritten("planner/data/carbon.csv", ("place",), ("g_per_kwh",), ("source",), ("as_of",)),
    HandWritten("planner/data/cloud_grids.csv", ("provider", "region"), (), ("place", "source")),
    HandWritten("planner/data/launcher_names.csv", ("key",), (), ()),
    HandWritten("planner/data/card_prices.csv", ("gpu", "condition"), ("usd",), ("source",), ("as_of",)),
    HandWritten("planner/data/quotas.csv", ("provider", "machines", "purchase"), (), ("hint", "source"), ("as_of",)),
    HandWritten("planner/data/presets.csv", ("name",), ("part_usd",), ("part_source",), ("price_as_of",)),
    HandWritten(
        "planner/data/free_tiers.csv",
        ("name",),
        ("session_hours", "vcpus", "ram_gib"),
        ("limits_source", "machine_source"),
        ("as_of", "ended"),
    ),
    HandWritten("planner/data/cpu_aliases.csv", ("name",), (), ("key",)),
    HandWritten("planner/data/source_tags.csv", ("tag",), (), ("citation",)),
    HandWritten("planner/data/unresolved_accelerators.csv", ("name",), (), ("reason",)),
    HandWritten("pricing/data/rates.csv", ("provider", "kind", "above_gb"), ("value",), ("source",), ("as_of",)),
    HandWritten("pricing/data/gpuhunt_accelerators.csv", ("gpu_name", "memory_gib", "words"), (), ("accelerator",)),
    HandWritten("pricing/data/aws_overrides.csv", ("instance_type", "field"), ("value",), ("reason",)),
    HandWritten("tools/hardware_tables/mends.csv", ("keys", "column"), (), ("source",)),
    HandWritten("tools/hardware_tables/cpu_mends.csv", ("key", "column"), ("value",), ("source",)),
    HandWritten("tools/hardware_tables/usable_memory.csv", ("key",), ("driver_total_mib",), ("source",)),
    HandWritten(
        "tools/price_snapshot/instance_type_facts.csv",
        ("provider", "instance_type"),
        ("vcpus", "memory_gib", "network_gbit_s"),
        ("source",),
    ),
    HandWritten("tools/price_snapshot/instance_type_rules.csv", (), (), ("source",)),
    HandWritten("tools/price_snapshot/sources.csv", ("match",), (), ("name", "origin", "licence")),
    HandWritten("tools/unresolved_models.csv", ("pattern",), (), ("reason",)),
)


class Builder(NamedTuple):
    """A command with --check, and the option that names its inputs."""

    script: str
    inputs: str


BUILDERS = (
    Builder("tools/build_accelerators.py", "--shared"),
    Builder("tools/build_snapshot.py", "--shared"),
    Builder("tools/fit_throughput.py", "--shared"),
    Builder("tools/list_unresolved.py", "--shared"),
    Builder("tools/build_zoo.py", "--cache"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, metavar="DIR", help="the collected tables")
    parser.add_argument("--zoo-cache", type=Path, metavar="DIR", help="the traces of the zoo's builder")
    options = parser.parse_args(arguments)
    faults = [*described(REPOSITORY), *(fault for table in HAND_WRITTEN for fault in faults_of(table, REPOSITORY))]
    inputs = {"--shared": options.shared, "--cache": options.zoo_cache}
    for builder in BUILDERS:
        folder = inputs[builder.inputs]
        if folder is not None and not makes_the_same(builder, folder):
            faults.append(f"{builder.script} --check fails")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(faults)} faults" if faults else "every table is as its builder makes it or has its sources")
    return 1 if faults else 0


def described(repository: Path) -> Iterator[str]:
    """The files that the page of tables does not name."""
    page = (repository / PAGE).read_text(encoding="utf-8")
    for folder in FOLDERS:
        for path in sorted((repository / folder).iterdir()):
            name = f"{folder}/{path.name}"
            if path.is_file() and f"`{name}`" not in page:
                yield f"{name} is not described in {PAGE}"


def faults_of(table: HandWritten, repository: Path) -> Iterator[str]:
    """What is wrong with a table written by hand, a sentence a fault."""
    path = repository / table.path
    seen: set[tuple[str, ...]] = set()
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = {*table.key, *table.values, *table.sources, *table.days} - set(reader.fieldnames or ())
        if missing:
            yield f"{table.path} has no column {', '.join(sorted(missing))}"
            return
        for row in reader:
            where = f"{table.path} line {reader.line_num}"
            if None in row or None in row.values():
                yield f"{where}: more or fewer cells than columns"
                continue
            yield from _row_faults(row, table, where)
            key = tuple(row[column] for column in table.key)
            if key and key in seen:
                yield f"{where}: {' '.join(key)} stands twice"
            seen.add(key)


def _row_faults(row: dict[str, str], table: HandWritten, where: str) -> Iterator[str]:
    stated = not table.values or any(row[column] for column in table.values)
    for column in table.sources:
        if stated and not row[column].strip():
            yield f"{where}: a value without {column}"
    for column in table.values:
        if row[column] and not _is_number(row[column]):
            yield f"{where}: {column} {row[column]!r} is not a number"
    for column in table.days:
        if row[column] and not _is_day(row[column]):
            yield f"{where}: {column} {row[column]!r} is not a day"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def makes_the_same(builder: Builder, inputs: Path) -> bool:
    command = [sys.executable, str(REPOSITORY / builder.script), builder.inputs, str(inputs), "--check"]
    print(" ".join(["python", builder.script, builder.inputs, str(inputs), "--check"]))
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
