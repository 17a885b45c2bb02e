"""Memory a training program can have of the nominal size, in GiB.

The driver shows 24,576 MiB on an RTX 3090 and PyTorch has 23.69 GiB of them (the card of timm's batch ladder), so
where the driver's total is known, 0.31 GiB less is usable. Elsewhere the same share of the nominal size is taken.
Data-centre cards with GDDR memory ship with error correction on, which takes one sixteenth (driver totals of A10G, L4,
T4 and L40S against RTX 4090 and RTX A6000). macOS gives Apple's GPU two thirds of the memory up to 36 GB, above three
quarters.
"""

from __future__ import annotations

import csv
from pathlib import Path

Row = dict[str, str]

DRIVER_OVERHEAD_GIB = 24 - 23.69
VISIBLE_SHARE = 23.69 / 24
ECC_SHARE = 15 / 16
APPLE_SHARES = ((36.0, 2 / 3), (float("inf"), 3 / 4))


def _read_driver_totals() -> dict[str, tuple[float, str]]:
    path = Path(__file__).resolve().parent / "usable_memory.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return {row["key"]: (float(row["driver_total_mib"]), row["source"]) for row in csv.DictReader(file)}


DRIVER_TOTALS = _read_driver_totals()


def of(row: Row, memory_type: str) -> tuple[str, str]:
    """(usable GiB, source) of an accelerator row; empty where the nominal size is unknown."""
    if row["key"] in DRIVER_TOTALS:
        total_mib, source = DRIVER_TOTALS[row["key"]]
        return f"{total_mib / 1024 - DRIVER_OVERHEAD_GIB:.2f}", f"{source}; RULE-VISIBLE"
    if not row.get("memory_gib"):
        return "", ""
    nominal = float(row["memory_gib"])
    if row["vendor"] == "Apple":
        share = next(share for largest, share in APPLE_SHARES if nominal <= largest)
        return f"{nominal * share:.2f}", "RULE-APPLE"
    usable = nominal * VISIBLE_SHARE
    if row["vendor"] == "NVIDIA" and row["form_factor"] == "datacentre-PCIe" and memory_type.startswith("GDDR"):
        return f"{usable * ECC_SHARE:.2f}", "RULE-ECC"
    return f"{usable:.2f}", "RULE-VISIBLE"
