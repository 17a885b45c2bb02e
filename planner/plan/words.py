"""How a row is called where people read it: short names that the command line and the app share."""

from __future__ import annotations

from typing import Protocol

from planner.plan.plan import Estimate
from planner.plan.search import ORDINARY_STACKS

BUY_WORDS = {
    "on_demand": "o-d",
    "spot": "spot",
    "owned": "own",
    "reserved": "res",
    "savings_plan": "sav",
    "capacity_block": "cap",
    "free_tier": "free",
}
TO_BUY = "buy"
PURCHASE_WORDS = {
    "on_demand": "on demand",
    "spot": "spot",
    "reserved": "reserved",
    "owned": "your own",
    "savings_plan": "under a savings plan",
    "capacity_block": "as a capacity block",
}
BINDS_WORDS = {"communication": "comm"}
EVIDENCE_MARKS = {
    "measured_here": "●",
    "measured_same_gpu": "◕",
    "measured_other_gpu": "◑",
    "same_architecture": "◔",
    "specs_only": "○",
}
EVIDENCE_WORDS = {
    "measured_here": "measured here",
    "measured_same_gpu": "measured on the same GPU",
    "measured_other_gpu": "measured on another GPU",
    "same_architecture": "same architecture measured",
    "specs_only": "specifications only",
}


_DOUBTS = frozenset({"far_below_median", "spot_tail"})
"""Flags of rows that are never recommended, for a price or a spot run that is not to be relied on."""


def price_mark(row: Estimate) -> str:
    """'‡' after an hourly price that is not to be relied on, '!' after one that is old, else ''."""
    return "‡" if _DOUBTS & set(row.flags) else "!" if "price_stale" in row.flags else ""


class Priced(Protocol):
    """What has a cost; ``at_most``: a part of it is taken at the dearest rate known of anybody."""

    @property
    def at_most(self) -> bool: ...


def bound_mark(priced: Priced) -> str:
    """'≤' before a cost that is only a bound, in a table; else ''."""
    return "≤" if priced.at_most else ""


def at_most_words(priced: Priced) -> str:
    """'at most ' before a cost that is only a bound, in a sentence; else ''."""
    return "at most " if priced.at_most else ""


def machine_name(row: Estimate) -> str:
    """'this machine', 'p5.48xlarge', '*DGX H100' that nobody owns yet, '†tpu-v5p-8' that needs the code ported."""
    if row.is_this_machine:
        return "this machine"
    name = (row.instance_type or row.name).removeprefix("Standard_")
    if row.hypothetical:
        return f"*{name}"
    return name if row.stack in ORDINARY_STACKS or row.stack == "none" else f"†{name}"


def buy_word(row: Estimate) -> str:
    """'o-d', 'spot', 'own', or 'buy' of a machine that nobody owns yet."""
    return had_word(row.purchase, hypothetical=row.hypothetical)


def had_word(purchase: str, *, hypothetical: bool) -> str:
    """How a machine is had, by its purchase option, or that it must be bought first."""
    return TO_BUY if hypothetical else BUY_WORDS.get(purchase, purchase)


def purchase_words(purchase: str, *, hypothetical: bool) -> str:
    """The same in a sentence: 'on demand', 'spot', 'your own', 'to be bought'."""
    return "to be bought" if hypothetical else PURCHASE_WORDS.get(purchase, purchase.replace("_", " "))


def where_words(row: Estimate) -> str:
    """'gcp us-central1-a', 'aws us-east-1', or the place of a machine that is not rented."""
    if row.provider is None:
        return row.place
    return f"{row.provider} {place_of_offer(row.region, row.zone) or ''}".rstrip()


def place_of_offer(region: str | None, zone: str | None) -> str | None:
    """The zone where it is a name one can ask for; an AWS zone id ('use1-az4') is not, the region is."""
    return zone if region is not None and zone is not None and zone.startswith(region) else region


def gpus_words(row: Estimate) -> str:
    """'8×H100-SXM', '2×8×A100' on two nodes, 'CPU ...' for a machine that trains on its CPU."""
    if row.num_gpus == 0:
        return f"CPU {row.accelerator}"
    nodes = f"{row.num_nodes}×" if row.num_nodes > 1 else ""
    return f"{nodes}{row.num_gpus:g}×{row.accelerator}"
