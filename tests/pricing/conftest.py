"""The shipped snapshot, loaded once, a loopback server, and what a refresh needs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from pricing.catalog import Catalog
from pricing.offer import InstanceType, Offer
from pricing.providers.base import Known
from pricing.published import open_catalog
from pricing.refresh import what_is_known
from tests.pricing.loopback import Loopback, loopback

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return open_catalog()


@pytest.fixture(scope="session")
def offers(catalog: Catalog) -> list[Offer]:
    return catalog.offers()


@pytest.fixture(scope="session")
def types(catalog: Catalog) -> dict[tuple[str, str], InstanceType]:
    return catalog.instance_types()


@pytest.fixture(scope="session")
def known(catalog: Catalog) -> Known:
    return what_is_known(catalog, NOW)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running
