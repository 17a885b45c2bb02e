"""What stands between a price and a machine: quotas that begin at nothing, and capacity that may be sold out."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent.parent / "data" / "quotas.csv"


@cache
def hints_for(provider: str | None, instance_type: str | None, purchase: str) -> tuple[str, ...]:
    """Sentences on having this machine, the one for the purchase option before the general ones; often none."""
    if provider is None or instance_type is None:
        return ()
    matching = [
        row
        for row in _rows()
        if row["provider"] == provider
        and row["purchase"] in (purchase, "")
        and _is_one_of(instance_type, row["machines"])
    ]
    matching.sort(key=lambda row: row["purchase"] == "")
    return tuple(row["hint"] for row in matching[:1])


def _is_one_of(name: str, pattern: str) -> bool:
    """Whether the name begins as the pattern does and has what stands between its stars, without compiling it."""
    head, *others = pattern.split("*")
    return name.startswith(head) and all(other in name for other in others)


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as table:
        return tuple(csv.DictReader(table))
