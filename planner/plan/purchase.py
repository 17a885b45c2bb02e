"""What a machine costs to buy: the cards' prices with their days, and a host that holds them."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planner.errors import InputError
from planner.hardware.accelerator import Accelerator
from planner.hardware.interconnect import default_link
from planner.hardware.machine import Machine
from planner.hardware.presets import Preset, presets
from planner.hardware.selection import resolve_count

_TABLE = Path(__file__).parent.parent / "data" / "card_prices.csv"

CONDITIONS = ("shop", "used")
_NOT_FOR_A_DESK = ("SXM", "OAM", "superchip", "laptop", "integrated")


class CardPrice(NamedTuple):
    """USD of one card; ``condition`` is shop, used, launch (its price when it came out) or yours.

    ``as_of`` is the day the price was seen, of a launch price the year: '2025-08-21' or '2024'.
    """

    usd: float
    condition: str
    as_of: str | None
    source: str


class Purchase(NamedTuple):
    """A machine that might be bought. ``usd`` is the cards and the host; ``host_usd`` of it is the host."""

    name: str
    machine: Machine
    usd: float
    host_usd: float
    host_power_w: float
    card: CardPrice
    source: str


@cache
def card_prices() -> dict[tuple[str, str], CardPrice]:
    """Prices seen, by the accelerator's key and the condition."""
    with _TABLE.open(encoding="utf-8", newline="") as table:
        return {
            (row["gpu"], row["condition"]): CardPrice(float(row["usd"]), row["condition"], row["as_of"], row["source"])
            for row in csv.DictReader(table)
        }


def card_price(device: Accelerator, condition: str = "shop") -> CardPrice | None:
    """The price seen in shops, or used; the launch price where nothing newer was seen. None where unknown."""
    found = card_prices().get((device.key, condition))
    if found is None and condition == "shop" and device.launch_price_usd is not None:
        year = None if device.release_year is None else str(device.release_year)
        return CardPrice(device.launch_price_usd, "launch", year, "launch price (accelerators.csv)")
    return found


def sold_singly(device: Accelerator) -> bool:
    """Whether it is a card that fits a desk's machine: modules and laptop chips do not."""
    return device.kind == "gpu" and not device.form_factor.startswith(_NOT_FOR_A_DESK)


def described_purchase(text: str, own_price_usd: float | None = None, host_usd: float | None = None) -> Purchase:
    """The machine that 'RTX 4090', 'used RTX 3090' or '4x RTX A6000' stands for, in a host of its size.

    Raises InputError where the accelerator, or its price, is not known.
    """
    words = text.strip()
    condition = "shop"
    if words.lower().startswith("used "):
        condition, words = "used", words[5:]
    resolution, count = resolve_count(words)
    device = resolution.accelerator
    card = card_price(device, condition)
    if own_price_usd is not None:
        card = CardPrice(own_price_usd, "yours", None, "--card-price")
    if card is None:
        raise InputError(f"no {condition} price of {device.name} is known; say it: --card-price '{text.strip()}=USD'")
    return purchase_of(device, count, card, host_usd, name=text.strip())


def purchase_of(
    device: Accelerator, count: int, card: CardPrice, host_usd: float | None = None, *, name: str | None = None
) -> Purchase:
    """``count`` cards in the smallest of the shipped workstations that has room for as many."""
    host = _host_for(count)
    price = host.host_usd if host_usd is None else host_usd
    machine = host.machine._replace(
        name=name or device.name,
        accelerator=device,
        num_gpus=count,
        link=default_link(device, count),
    )
    said = "--host-price" if host_usd is not None else f"as in {host.name} (assumption)"
    source = f"{count} x {card.source}; host {price:,.0f} USD, {said}"
    return Purchase(machine.name, machine, card.usd * count + price, price, host.host_power_w, card, source)


def _host_for(count: int) -> Preset:
    """The smallest workstation with as many cards; the largest there is for more."""
    desks = sorted((one for one in presets() if one.place == "workstation"), key=lambda one: one.machine.num_gpus)
    return next((desk for desk in desks if desk.machine.num_gpus >= count), desks[-1])
