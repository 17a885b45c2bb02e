"""Build planner/data's hardware tables from the gathered specification tables.

    python tools/build_accelerators.py --shared DIR           writes the tables
    python tools/build_accelerators.py --shared DIR --check   compares them with what is in planner/data

Reads DIR/data/{accelerators,gpus_seed,links,cpus}.csv and the small tables of judgement beside this file
(tools/hardware_tables/: mends.csv, usable_memory.csv, aliases.csv, sources.csv, cpu_mends.csv). A cell marked as of low
confidence is mended from a named source, kept where an independent table agrees, or left empty. Every number that
ships has its source in accelerator_sources.csv.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from hardware_tables import aliases, hosts, specifications  # noqa: E402

DATA = REPOSITORY / "planner" / "data"


def to_csv(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n", extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def build(shared: Path) -> dict[str, str]:
    """File name under planner/data -> its text."""
    built, sources = specifications.build(shared)
    return {
        "accelerators.csv": to_csv(specifications.COLUMNS, built),
        "accelerator_sources.csv": to_csv(specifications.SOURCE_COLUMNS, sources),
        "accelerator_aliases.csv": to_csv(aliases.COLUMNS, aliases.build(shared)),
        "driver_names.csv": to_csv(aliases.DRIVER_COLUMNS, aliases.build_driver_names(shared)),
        "cpus.csv": to_csv(hosts.CPU_COLUMNS, hosts.build_cpus(shared)),
        "links.csv": to_csv(hosts.LINK_COLUMNS, hosts.build_links(shared)),
        "networks.csv": to_csv(hosts.NETWORK_COLUMNS, hosts.build_networks(shared)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build planner/data's hardware tables.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that holds data/accelerators.csv")
    parser.add_argument("--check", action="store_true", help="compare with planner/data instead of writing")
    options = parser.parse_args(arguments)
    differing = []
    for name, text in build(options.shared).items():
        path = DATA / name
        if path.exists() and path.read_bytes() == text.encode():
            continue
        differing.append(name)
        if not options.check:
            path.write_bytes(text.encode())
    print("differs: " + ", ".join(differing) if differing else "planner/data is up to date")
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
