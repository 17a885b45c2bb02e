"""The shipped snapshot, loaded once, and small rows to build cases from."""

from __future__ import annotations

import pytest

from pricing.catalog import Catalog, open_catalog
from pricing.offer import InstanceType, Offer


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return open_catalog()


@pytest.fixture(scope="session")
def offers(catalog: Catalog) -> list[Offer]:
    return catalog.offers()


@pytest.fixture(scope="session")
def types(catalog: Catalog) -> dict[tuple[str, str], InstanceType]:
    return catalog.instance_types()
