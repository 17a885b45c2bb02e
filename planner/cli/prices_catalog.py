"""The catalogue that the price commands read, with its errors as the command line's and its notices on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from planner.errors import DataError, PlannerError, UnknownNameError
from planner.profiler.this_machine import store_path
from pricing.catalog import Catalog
from pricing.errors import PricingError, UnknownPlaceError
from pricing.published import open_catalog


def opened_catalog() -> Catalog:
    """The snapshot with the user's prices over it. Raises DataError."""
    try:
        catalog = open_catalog(store=store_path())
    except PricingError as error:
        raise DataError(str(error)) from error
    for notice in catalog.notices:
        say(notice)
    return catalog


def say(sentence: str) -> None:
    """Talk beside the data."""
    if sys.stderr is not None:
        sys.stderr.write(f"gpuplanner: {sentence}\n")


def as_planner_error(error: PricingError) -> PlannerError:
    """The same sentence as an error that the command line knows."""
    if isinstance(error, UnknownPlaceError):
        return UnknownNameError(error.kind, error.name, error.suggestions)
    return DataError(str(error))


def words(given: Sequence[str] | None) -> tuple[str, ...]:
    """'a,b' and repeated flags are one list."""
    return tuple(word.strip().lower() for text in given or () for word in text.split(",") if word.strip())


def places(
    catalog: Catalog, provider: Sequence[str] | None, region: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(providers, region patterns) as the catalogue knows them. Raises UnknownNameError."""
    try:
        providers = tuple(_provider(catalog, name) for name in words(provider))
        patterns = words(region)
        return providers, catalog.check_regions(",".join(patterns)) if patterns else ()
    except PricingError as error:
        raise as_planner_error(error) from error


def _provider(catalog: Catalog, name: str) -> str:
    """The provider as the catalogue spells it. Raises UnknownNameError with those that it has."""
    try:
        return catalog.check_provider(name)
    except UnknownPlaceError as error:
        known = f"known are {', '.join(catalog.providers())}"
        raise UnknownNameError(error.kind, error.name, error.suggestions, known) from error
