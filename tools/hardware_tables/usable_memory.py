"""Memory a training program can have of the nominal size, in GiB.

A nominal "24 GB" is 24 GiB of chips; driver and context leave 23.69 GiB of it on an RTX 3090 (the card timm's batch
ladder ran on), and cards read from error messages agree within 1 %. Data-centre cards with GDDR memory ship with error
correction on, which takes one sixteenth. Apple's GPU may use about three quarters of the shared memory by default.
"""

from __future__ import annotations

import csv
from pathlib import Path

Row = dict[str, str]

VISIBLE_SHARE = 23.69 / 24
ECC_SHARE = 15 / 16
APPLE_SHARE = 0.75
VISIBLE_SOURCE = "RULE-VISIBLE"
ECC_SOURCE = "RULE-ECC"
APPLE_SOURCE = "RULE-APPLE"


def _read_measured() -> dict[str, tuple[str, str]]:
    path = Path(__file__).resolve().parent / "usable_memory.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return {row["key"]: (row["usable_memory_gib"], row["source"]) for row in csv.DictReader(file)}


MEASURED = _read_measured()


def of(row: Row, memory_type: str) -> tuple[str, str]:
    """(usable GiB, source) of an accelerator row; empty where the nominal size is unknown."""
    if row["key"] in MEASURED:
        return MEASURED[row["key"]]
    if not row.get("memory_gib"):
        return "", ""
    nominal = float(row["memory_gib"])
    if row["vendor"] == "Apple":
        return f"{nominal * APPLE_SHARE:.2f}", APPLE_SOURCE
    usable = nominal * VISIBLE_SHARE
    if row["vendor"] == "NVIDIA" and row["form_factor"] == "datacentre-PCIe" and memory_type.startswith("GDDR"):
        return f"{usable * ECC_SHARE:.2f}", ECC_SOURCE
    return f"{usable:.2f}", VISIBLE_SOURCE
