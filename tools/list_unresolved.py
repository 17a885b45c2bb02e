"""List the model and GPU names of the measured tables that the catalogues do not know, with reasons.

    python tools/list_unresolved.py --shared DIR           write docs/unresolved.md
    python tools/list_unresolved.py --shared DIR --check   fail if the page is not what would be written, if a name
                                                           has no reason or a table is below its bar

Reads DIR/data/{throughput,scaling,time_to_train}.csv.gz. The reason for a GPU is that of
planner/data/unresolved_accelerators.csv, the one for a model the first pattern that matches it in
tools/unresolved_models.csv.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from planner.errors import UnknownNameError  # noqa: E402
from planner.hardware.tables import read_rows  # noqa: E402
from planner.throughput.measurement import find_workload, read_accelerator  # noqa: E402

PAGE = REPOSITORY / "docs" / "unresolved.md"
REASONS = REPOSITORY / "tools" / "unresolved_models.csv"
NO_MODEL_REASON = "not in the zoo"
NO_GPU_REASON = "in no table"


class Table(NamedTuple):
    """A measured table, its columns with the names of models and GPUs, the least share of rows whose model resolves."""

    file: str
    model: str
    gpu: str
    least_share: float


TABLES = (
    Table("throughput.csv.gz", "model", "gpu", 0.90),
    Table("scaling.csv.gz", "model", "accelerator", 0.75),
    Table("time_to_train.csv.gz", "workload", "accelerator", 0.75),
)


class Names(NamedTuple):
    """The rows of a table by name, and the names among them that nothing resolves."""

    rows: Counter[str]
    unresolved: frozenset[str]

    @property
    def share(self) -> float:
        """Of all rows, those whose name resolves."""
        lost = sum(self.rows[name] for name in self.unresolved)
        return 1 - lost / max(1, self.rows.total())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, metavar="DIR", help="where data/throughput.csv.gz lies")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    options = parser.parse_args(arguments)
    found = [(table, *names_of(table, options.shared / "data")) for table in TABLES]
    for table, models, gpus in found:
        print(f"{table.file}: {models.share:.1%} of the rows resolve in model, {gpus.share:.1%} in GPU")
    text = "\n".join(page(found)) + "\n"
    if options.check:
        problems = list(faults(found, text))
        print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
        return 1 if problems else 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


def faults(found: Sequence[tuple[Table, Names, Names]], text: str) -> Iterator[str]:
    """What --check fails on."""
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        yield f"{PAGE.name} is not what would be written"
    if f"**{NO_MODEL_REASON}**" in text or f"**{NO_GPU_REASON}**" in text:
        yield f"{PAGE.name} lists names without a reason"
    for table, models, _ in found:
        if models.share < table.least_share:
            yield f"{table.file}: only {models.share:.1%} of the rows name a known model, not {table.least_share:.0%}"


def names_of(table: Table, data: Path) -> tuple[Names, Names]:
    """The models and the GPUs of a measured table."""
    with gzip.open(data / table.file, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return (
        sorted_out((row[table.model] for row in rows), find_workload),
        sorted_out((row[table.gpu] for row in rows), read_accelerator),
    )


def sorted_out(names: Iterable[str], resolve: Callable[[str], object]) -> Names:
    rows = Counter(names)
    return Names(rows, frozenset(name for name in rows if not resolves(name, resolve)))


def resolves(name: str, resolve: Callable[[str], object]) -> bool:
    try:
        resolve(name)
    except UnknownNameError:
        return False
    return True


def page(found: Sequence[tuple[Table, Names, Names]]) -> Iterator[str]:
    yield "# Names in the measured tables that nothing resolves"
    yield ""
    yield "Made by `python tools/list_unresolved.py --shared DIR`; do not edit. Shares are of rows."
    yield ""
    yield "| table | rows | GPU resolves | model resolves |"
    yield "|---|--:|--:|--:|"
    for table, models, gpus in found:
        yield f"| {table.file} | {models.rows.total():,} | {gpus.share:.1%} | {models.share:.1%} |"
    yield ""
    yield "## GPUs"
    yield ""
    yield from _listed((gpus for _, _, gpus in found), gpu_reason)
    yield "## Models"
    yield ""
    yield from _listed((models for _, models, _ in found), model_reason)


def gpu_reason(name: str) -> str:
    """What the table of names without an accelerator says."""
    reasons = {row["name"]: row["reason"] for row in read_rows("unresolved_accelerators.csv")}
    return reasons.get(name, NO_GPU_REASON)


def model_reason(name: str) -> str:
    """The reason of the first pattern that matches the name or a part of its path."""
    for pattern, reason in _patterns():
        if fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern):
            return reason
    return NO_MODEL_REASON


def _patterns() -> list[tuple[str, str]]:
    with REASONS.open(encoding="utf-8", newline="") as file:
        return [(row["pattern"], row["reason"]) for row in csv.DictReader(file)]


def _listed(kinds: Iterable[Names], reason: Callable[[str], str]) -> Iterator[str]:
    """One list item a reason, the most frequent first, with its names and their rows."""
    rows: Counter[str] = Counter()
    for names in kinds:
        rows.update({name: names.rows[name] for name in names.unresolved})
    by_reason: dict[str, list[str]] = {}
    for name in sorted(rows, key=lambda name: (-rows[name], name)):
        by_reason.setdefault(reason(name), []).append(name)
    for why, names_of_it in sorted(by_reason.items(), key=lambda item: -sum(rows[name] for name in item[1])):
        listed = ", ".join(f"`{name or '(empty)'}` {rows[name]}" for name in names_of_it)
        yield f"- **{why}** ({sum(rows[name] for name in names_of_it)} rows): {listed}"
    yield ""


if __name__ == "__main__":
    sys.exit(main())
