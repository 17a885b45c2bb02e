"""What a kilowatt-hour emits by place: the grid's mean over a year, location-based, before anybody's certificates."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planner.plan.electricity import PUE, UNKNOWN_SITE_PUE

_DATA = Path(__file__).parent.parent / "data"

ANYWHERE = "WORLD"


class GridCarbon(NamedTuple):
    """Grams of CO2 equivalents a kWh of the grid at ``place``, in the year that ends ``as_of``."""

    place: str
    g_per_kwh: float
    as_of: str
    source: str


@cache
def grid_carbon() -> dict[str, GridCarbon]:
    """By ISO country, US or other state ('US-VA'), or Google's region ('gcp:us-central1')."""
    with (_DATA / "carbon.csv").open(encoding="utf-8", newline="") as table:
        return {
            row["place"]: GridCarbon(row["place"], float(row["g_per_kwh"]), row["as_of"], row["source"])
            for row in csv.DictReader(table)
        }


@cache
def _cloud_places() -> dict[tuple[str, str], str]:
    with (_DATA / "cloud_grids.csv").open(encoding="utf-8", newline="") as table:
        return {(row["provider"], row["region"]): row["place"] for row in csv.DictReader(table)}


def carbon_of_region(provider: str, region: str) -> GridCarbon | None:
    """The grid that a cloud's region stands on; None where nobody says where that is."""
    table = grid_carbon()
    place = _cloud_places().get((provider, region), f"{provider}:{region}")
    if place in table:
        return table[place]
    country, _, name = region.partition("-")  # marketplaces write 'de-germany'
    return table.get(country.upper()) if name and len(country) == 2 and provider == "vast" else None


def carbon_of_country(country: str | None) -> GridCarbon:
    """The grid of a country or US state, the world's mean where that is not known or not said."""
    table = grid_carbon()
    return table.get((country or ANYWHERE).upper(), table[ANYWHERE])


def site_overhead(provider: str) -> float:
    """Power usage effectiveness of a provider's data centres; the mean of all sites where it publishes none."""
    return PUE.get(provider, UNKNOWN_SITE_PUE)
