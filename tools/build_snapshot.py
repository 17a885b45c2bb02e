"""Build the shipped price snapshot and the table of instance types from the collected price rows.

    python tools/build_snapshot.py --shared DIR            write pricing/data/snapshot.sqlite and instance_types.csv
    python tools/build_snapshot.py --shared DIR --check    fail if the files differ from what would be written

DIR holds ``data/offers.csv.gz`` and its neighbours; what is judged by hand lies in ``tools/price_snapshot/``. The
result is the same, byte for byte, on every run.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TABLES = REPOSITORY / "tools" / "price_snapshot"
DATA = REPOSITORY / "pricing" / "data"
sys.path.insert(0, str(REPOSITORY))

from price_snapshot.faults import Sorted, sort_rows  # noqa: E402
from price_snapshot.file import write_snapshot  # noqa: E402
from price_snapshot.interruptions import read_measured, read_steps  # noqa: E402
from price_snapshot.rows import read_rows, read_sources, source_name  # noqa: E402
from price_snapshot.types import build_types, find_rule, read_facts, read_links, read_nominal_memory, read_rules  # noqa: E402

from pricing import flags, sanity  # noqa: E402
from pricing.offer import InstanceType, Offer, Quarantined  # noqa: E402
from pricing.places import reading_order, spread_regional_prices  # noqa: E402
from pricing.tables import SCHEMA_VERSION, Contents  # noqa: E402

RESERVED_AS_OF = "2026-01-21"
ADVISOR_AS_OF = "2025-07-28"
COLLECTED_UNTIL = date(2026, 11, 30)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, metavar="DIR", help="where data/offers.csv.gz lies")
    parser.add_argument("--out", type=Path, default=DATA, metavar="DIR", help="where to write (pricing/data)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the files are not up to date")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            built = build(options.shared / "data", Path(scratch))
        except (OSError, KeyError, ValueError) as error:
            print(f"the snapshot cannot be built: {error}", file=sys.stderr)
            return 1
        stale = [path for path in built if _bytes(options.out / path.name) != path.read_bytes()]
        if options.check:
            for path in stale:
                print(f"{path.name} is not what the builder writes", file=sys.stderr)
            return 1 if stale else 0
        for path in stale:
            (options.out / path.name).write_bytes(path.read_bytes())
    return 0


def build(data: Path, out: Path) -> list[Path]:
    """Write both files into ``out`` and report what was done; raises ValueError where an invariant is broken."""
    sources = read_sources(TABLES / "sources.csv")
    rules = read_rules(TABLES / "instance_type_rules.csv")
    nominal_memory = read_nominal_memory(data / "accelerators.csv")
    rows = sort_rows(read_rows(data / "offers.csv.gz"), sources)
    types = build_types(
        rows.machines,
        rules,
        read_facts(TABLES / "instance_type_facts.csv"),
        read_links(data / "links.csv"),
        nominal_memory,
    )
    known = {(machine.provider, machine.instance_type): machine for machine in types}
    reserved = _reserved(data / "aws_reserved_1yr.csv", known, source_name("aws_reserved_1yr.csv", sources))
    offers = sanity.with_flags(sorted([*spread_regional_prices(rows.offers), *reserved], key=reading_order))
    quarantined = [
        Quarantined(offer, find_rule(rules, row).accelerator, row.num_gpus, reason)
        for row, offer, reason in rows.quarantined
    ]
    quarantined.sort(key=lambda kept: (reading_order(kept.offer), kept.accelerator, kept.offer.price))
    _refuse_breaches(offers, types, known, nominal_memory)
    _report(rows, offers, quarantined, types)
    used = {offer.price_source for offer in offers} | {kept.offer.price_source for kept in quarantined}
    write_snapshot(
        out / "snapshot.sqlite",
        Contents(
            offers=offers,
            types=types,
            quarantined=quarantined,
            sources=[(source.name, source.origin, source.licence) for source in sources if source.name in used],
            interruptions=read_steps(data / "aws_spot_advisor_gpu.csv"),
            measured=read_measured(data / "spot_stats.csv"),
            meta={"schema": SCHEMA_VERSION, "interruptions_as_of": ADVISOR_AS_OF},
        ),
    )
    (out / "instance_types.csv").write_text(_types_csv(types), encoding="utf-8")
    return [out / "snapshot.sqlite", out / "instance_types.csv"]


def _reserved(path: Path, known: dict[tuple[str, str], InstanceType], source: str) -> list[Offer]:
    """One-year reserved prices without upfront payment, for the machines that are in the table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Offer(
                provider="aws",
                instance_type=row["instance_type"],
                region=row["region"],
                zone=None,
                purchase="reserved",
                price=row["reserved_1yr_no_upfront_std"],
                usd_per_hour=float(row["reserved_1yr_no_upfront_std"]),
                flags=(flags.COMMITMENT_1_YEAR,),
                price_as_of=RESERVED_AS_OF,
                price_source=source,
            )
            for row in csv.DictReader(file)
            if ("aws", row["instance_type"]) in known
        ]


def _refuse_breaches(
    offers: list[Offer],
    types: Iterable[InstanceType],
    known: dict[tuple[str, str], InstanceType],
    nominal_memory: dict[str, float],
) -> None:
    found = sanity.breaches(offers, known, COLLECTED_UNTIL)
    for machine in types:
        found += sanity.machine_problems(machine, nominal_memory)
    if found:
        raise ValueError("\n".join(found))


def _types_csv(types: Iterable[InstanceType]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(InstanceType._fields)
    writer.writerows([_cell(value) for value in machine] for machine in types)
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else int(value) if isinstance(value, bool) else value


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _report(rows: Sorted, offers: list[Offer], quarantined: list[Quarantined], types: list[InstanceType]) -> None:
    priced = {(offer.provider, offer.instance_type) for offer in offers}
    print(f"{len(offers)} offers of {len(priced)} machines, {len(quarantined)} prices quarantined")
    print(f"{len(types)} machines in the table")
    for fault, count in sorted(rows.faults.items()):
        print(f"  {fault}: {count}")
    for machine in types:
        if machine.unranked:
            print(f"  unranked: {machine.provider} {machine.instance_type}: {machine.unranked}")


if __name__ == "__main__":
    sys.exit(main())
