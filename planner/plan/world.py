"""The world a question is asked in: prices, this machine, the user's configuration."""

from pathlib import Path
from typing import NamedTuple

from planner.errors import DataError
from planner.hardware.free_tiers import free_tiers
from planner.hardware.local import FoundMachine
from planner.plan.config import Config, check_machines, check_providers, load_config
from pricing.catalog import Catalog
from pricing.errors import PricingError
from pricing.published import open_catalog


class World(NamedTuple):
    """Opened once a process; injected in tests. ``ledger`` is the file of recorded forecasts, None without any."""

    catalog: Catalog
    local: FoundMachine
    config: Config
    ledger: Path | None = None

    def providers(self) -> tuple[str, ...]:
        """Every provider's name that --where understands: who sells machines, then who lends them."""
        return tuple(dict.fromkeys((*self.catalog.providers(), *(tier.provider for tier in free_tiers()))))


def open_world(local: FoundMachine, store: Path | None = None, ledger: Path | None = None) -> World:
    """Prices, the user's ``store`` of refreshed ones over the packaged, and the configuration around this machine.

    Raises DataError or InputError.
    """
    config = load_config()
    try:
        catalog = open_catalog(store=store)
    except PricingError as error:
        raise DataError(str(error)) from error
    if config.discounts or config.credits_usd:
        check_providers(config, catalog.providers())
    if config.machines:
        check_machines(config, (name for _, name in catalog.instance_types()))
    return World(catalog, local, config, ledger if ledger is not None and ledger.is_file() else None)
