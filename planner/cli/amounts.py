"""Amounts that were typed in another currency, turned into the dollars that everything is planned in."""

from __future__ import annotations

import argparse

from planner.errors import InputError
from planner.values import Foreign


def in_dollars(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments, amounts in another currency converted at the rate of --currency. Raises InputError."""
    for name, value in vars(arguments).items():
        if isinstance(value, Foreign):
            setattr(arguments, name, dollars(f"--{name.replace('_', '-')}", value, arguments))
    return arguments


def dollars(flag: str, value: float | Foreign, arguments: argparse.Namespace) -> float:
    """What ``flag`` was given, in dollars. Raises InputError where --currency has no rate for its currency."""
    if not isinstance(value, Foreign):
        return value
    from planner.cli.money import parse_currency

    if not hasattr(arguments, "currency"):
        raise InputError(f"{flag}: {value} is not in US dollars, and no rate is at hand: write it in dollars")
    currency = parse_currency(arguments.currency)
    if currency.code != value.code:
        raise InputError(
            f"{flag}: {value} is not in US dollars: say your rate with --currency {value.code}=RATE ({value.code} a "
            "USD), or write dollars"
        )
    return value.usd(currency.per_usd)
