"""Build the shipped zoo (planner/data/zoo.jsonl, zoo_index.csv and model_aliases.csv) by tracing on the meta device.

    python tools/build_zoo.py --cache DIR [--only GLOB [--merge]] [--check]

Deterministic: the same library versions give the same bytes. Traces are kept in ``--cache``, so an interrupted or
repeated build only traces what is missing. ``--check`` builds and compares instead of writing (exit 1 on a difference).
``--merge`` lays the models of ``--only`` over the shipped tables, so that one is added without tracing all.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import io
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from planner.workloads.workload import Workload  # noqa: E402
from tools.zoo.aliases import alias_table  # noqa: E402
from tools.zoo.registry import zoo_specs  # noqa: E402
from tools.zoo.tracing import record_line, use_one_thread, workload_of  # noqa: E402

DATA = ROOT / "planner" / "data"
INDEX_FIELDS = (
    "name", "task", "family", "parameters", "forward_flops_per_sample", "activation_bytes_per_sample",
    "default_dataset", "recipe_batch_size_per_gpu", "max_global_batch_size", "sample_unit", "image_size", "seq_length",
    "source", "offset", "length",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="directory for traces, outside the repository")
    parser.add_argument("--only", default="*", help="trace only the models whose name matches; write nothing")
    parser.add_argument("--merge", action="store_true", help="lay those of --only over the shipped tables")
    parser.add_argument("--check", action="store_true", help="compare with the shipped tables, write nothing")
    options = parser.parse_args()
    use_one_thread()
    workloads = trace_all(options.cache, options.only)
    if options.only != "*" and not options.merge:
        return 0
    entries = {**(shipped_entries(DATA) if options.merge else {}), **entries_of(workloads)}
    zoo, index = tables(entries)
    spellings = alias_table(set(entries))
    built = {"zoo.jsonl": zoo, "zoo_index.csv": index, "model_aliases.csv": spellings}
    if options.check:
        return compare(built)
    for name, content in built.items():
        (DATA / name).write_bytes(content)
    print(f"{len(entries)} models, {len(zoo):,} bytes of records, {len(index):,} bytes of index")
    return 0


def trace_all(cache: Path, pattern: str) -> list[Workload]:
    """Every model that traces; failures are reported and left out."""
    workloads = []
    for spec in zoo_specs():
        if not fnmatch.fnmatch(spec.name, pattern):
            continue
        try:
            workloads.append(workload_of(spec, cache))
        except Exception as error:  # any library may fail on any model: name it and go on
            print(
                f"not traced: {spec.name}: {type(error).__name__}: {str(error).splitlines()[0][:150]}", file=sys.stderr
            )
    return workloads


class Entry(NamedTuple):
    """A model's record as it is shipped, and its row of the index without the record's place."""

    line: bytes
    row: tuple[str, ...]


def entries_of(workloads: Iterable[Workload]) -> dict[str, Entry]:
    """What the tables say of each workload, by name."""
    return {workload.name: Entry(record_line(workload).encode(), _index_row(workload)) for workload in workloads}


def shipped_entries(data: Path) -> dict[str, Entry]:
    """What the tables in ``data`` say."""
    zoo = (data / "zoo.jsonl").read_bytes()
    with (data / "zoo_index.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    placed = [(row, int(row["offset"]), int(row["length"])) for row in rows]
    return {
        row["name"]: Entry(zoo[start : start + length], tuple(row[field] for field in INDEX_FIELDS[:-2]))
        for row, start, length in placed
    }


def tables(entries: Mapping[str, Entry]) -> tuple[bytes, bytes]:
    """The records and their index, sorted by name."""
    zoo = io.BytesIO()
    text = io.StringIO()
    index = csv.writer(text, lineterminator="\n")
    index.writerow(INDEX_FIELDS)
    for name in sorted(entries):
        line, row = entries[name]
        index.writerow([*row, zoo.tell(), len(line)])
        zoo.write(line)
    return zoo.getvalue(), text.getvalue().encode()


def _index_row(workload: Workload) -> tuple[str, ...]:
    fields = (
        workload.name, workload.task, workload.family, workload.parameters,
        f"{workload.forward_flops_per_sample:.4g}", f"{workload.memory_amp.saved_bytes.per_sample:.4g}",
        workload.default_dataset or "", workload.recipe_batch_size_per_gpu, workload.max_global_batch_size,
        workload.sample_unit, workload.image_size or "", workload.seq_length or "", workload.source,
    )  # fmt: skip
    return tuple(map(str, fields))


def compare(built: dict[str, bytes]) -> int:
    """0 when the shipped tables are what the builder makes."""
    stale = [name for name, content in built.items() if (DATA / name).read_bytes() != content]
    for name in stale:
        print(f"{name} differs from what the builder makes", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
