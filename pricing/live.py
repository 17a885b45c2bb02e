"""A refresh as a front door asks for it: what will be read, how large it is, and reading it into the user's store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pricing.endpoints import endpoints
from pricing.http import Http, Limits
from pricing.providers.aws_bulk import AwsBulk
from pricing.providers.base import Report, name_of
from pricing.published import open_catalog
from pricing.refresh import Outcome, Refresher, Summary, what_is_known
from pricing.sources import Asked, choose
from pricing.store import open_store


class LiveRefresh:
    """One refresh of ``store``, made ready. ``now`` is in UTC.

    ``sources`` are the names of what will be read with their providers, ``problems`` the providers that were asked for
    and cannot be read, ``notes`` what is left out unasked. Raises
    UnknownPlaceError for a provider or region that nobody has, and PricingError where the snapshot cannot be read.
    """

    def __init__(
        self,
        store: Path,
        asked: Asked,
        environment: Mapping[str, str],
        home: Path,
        now: datetime,
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> None:
        self._store = store
        self._now = now
        self._limits = limits
        self._known = what_is_known(open_catalog(store=store), now)
        self._choice = choose(asked, self._known, endpoints(environment), environment, home)
        self.sources = {name_of(source): source.provider for source in self._choice.sources}
        self.problems = dict(self._choice.problems)
        self.notes = self._choice.notes

    async def large_bytes(self) -> int:
        """Bytes of the large files that would be read, as far as their servers say. Raises OfflineError."""
        urls = [source.url for source in self._choice.sources if isinstance(source, AwsBulk)]
        async with Http(self._limits) as http:
            sizes = await asyncio.gather(*(http.size(url) for url in urls))
        return sum(size or 0 for size in sizes)

    async def run(self, report: Report) -> Summary:
        """Read everything into the store. Raises StoreError where it cannot be opened; all else is in the summary."""
        with open_store(self._store) as store:
            async with Http(self._limits, self._choice.secrets) as http:
                refresher = Refresher(store, open_catalog(), self._known, http, self._now)
                summary = await refresher.run(self._choice.sources, report)
        failed = tuple(Outcome(name, name, problem=problem) for name, problem in self.problems.items())
        return summary._replace(outcomes=(*summary.outcomes, *failed))
