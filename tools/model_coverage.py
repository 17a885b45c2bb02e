"""How many rows of the measured tables name a model of the zoo, and why the others do not.

    python tools/model_coverage.py --shared DIR [--check]

Every spelling that does not resolve stands in tools/zoo/unresolved.csv with its reason; ``--check`` fails when one is
missing there, when one there resolves by now, or when a table falls below its bar.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from planner.errors import UnknownNameError  # noqa: E402
from planner.workloads.catalog import find_model  # noqa: E402

UNRESOLVED = ROOT / "tools" / "zoo" / "unresolved.csv"
# file: its column of model names, and the least share of rows that must resolve
TABLES = {
    "throughput.csv.gz": ("model", 0.90),
    "scaling.csv.gz": ("model", 0.75),
    "time_to_train.csv.gz": ("workload", 0.75),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="directory that holds data/")
    parser.add_argument("--check", action="store_true", help="fail on unexplained names or a table below its bar")
    options = parser.parse_args()
    reasons = explained()
    faults = []
    for file, (column, bar) in TABLES.items():
        names = model_names(options.shared / "data" / file, column)
        missing = {name: rows for name, rows in names.items() if not resolves(name)}
        share = 1 - sum(missing.values()) / sum(names.values())
        print(f"{file}: {share:.1%} of {sum(names.values()):,} rows name a model of the zoo (bar {bar:.0%})")
        if share < bar:
            faults.append(f"{file} is below its bar")
        faults += [
            f"{name!r} ({rows} rows of {file}) has no reason" for name, rows in missing.items() if name not in reasons
        ]
    faults += [f"{name!r} resolves by now" for name in reasons if resolves(name)]
    for fault in faults if options.check else []:
        print(fault, file=sys.stderr)
    return 1 if options.check and faults else 0


def explained() -> dict[str, str]:
    """Spelling -> why the zoo has no such model."""
    with UNRESOLVED.open(encoding="utf-8", newline="") as table:
        return {row["name"]: row["reason"] for row in csv.DictReader(table)}


def model_names(path: Path, column: str) -> Counter[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as table:
        return Counter(row[column] for row in csv.DictReader(table))


def resolves(name: str) -> bool:
    try:
        find_model(name)
    except UnknownNameError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
