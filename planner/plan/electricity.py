"""What a kilowatt-hour costs by country, and what the wall sees of a device's watts."""

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planner.errors import UnknownNameError, near_misses

_TABLE = Path(__file__).parent.parent / "data" / "electricity.csv"

DEFAULT_COUNTRY = "EU"

_NAMES = {
    "EUROPEAN UNION": "EU",
    "GERMANY": "DE",
    "BELGIUM": "BE",
    "DENMARK": "DK",
    "HUNGARY": "HU",
    "MALTA": "MT",
    "BULGARIA": "BG",
    "CONNECTICUT": "US-CT",
    "MASSACHUSETTS": "US-MA",
    "NEW YORK": "US-NY",
    "NEW JERSEY": "US-NJ",
    "OHIO": "US-OH",
    "IOWA": "US-IA",
    "MISSOURI": "US-MO",
}
"""Names (ISO 3166-1 and 3166-2, in English) of the countries and states of the table, by which they may be called."""

PSU_EFFICIENCY = 0.91
"""Share of wall power that reaches the parts: a home power supply loses 8-10 % (assumption)."""

PUE = {"aws": 1.2, "gcp": 1.12, "azure": 1.12}
"""Data-centre overhead by provider (Green Algorithms default_PUE.csv)."""

UNKNOWN_SITE_PUE = 1.56
"""Mean of the Uptime Institute's 2024 survey, for a site that publishes none."""


class ElectricityPrice(NamedTuple):
    """USD per kWh; ``country`` is an ISO code, or US-STATE. ``words`` is short, ``source`` says where it stands.

    ``as_of`` is the day up to which it was the mean; None for the user's own.
    """

    country: str
    usd_per_kwh: float
    words: str
    source: str
    as_of: str | None = None


@cache
def electricity_prices() -> dict[str, ElectricityPrice]:
    """All prices that have a source, by country or US state."""
    with _TABLE.open(encoding="utf-8", newline="") as table:
        return {
            row["country"]: ElectricityPrice(
                row["country"],
                float(row["usd_per_kwh"]),
                f"{row['country']} {row['what']} {row['as_of'][:7]}",
                row["source"],
                row["as_of"],
            )
            for row in csv.DictReader(table)
        }


def electricity_price(country: str | None) -> ElectricityPrice:
    """The country's price, or the EU household average. Raises UnknownNameError for one without a sourced price."""
    table = electricity_prices()
    said = (DEFAULT_COUNTRY if country is None else country).strip().upper()
    name = _NAMES.get(said, said)
    if name not in table:
        raise UnknownNameError(
            "country",
            country or "",
            _near(said, table),
            f"known are {', '.join(table)}; or say --electricity-price USD_PER_KWH",
        )
    return table[name]


def _near(said: str, table: Iterable[str]) -> list[str]:
    """The codes of what looks most like ``said``, which may be a code or a name."""
    near = near_misses(said, (*table, *_NAMES))
    return list(dict.fromkeys(_NAMES.get(name, name) for name in near))
