"""A refresh of the prices as the app runs it: in a worker thread, watched from the interface, stopped from anywhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from planner.errors import DataError
from pricing.errors import PricingError

if TYPE_CHECKING:
    from pricing.live import LiveRefresh
    from pricing.providers.base import Progress
    from pricing.refresh import Outcome, Summary

ASK_ABOVE_BYTES = 1_000_000_000
"""More is read only where a person has said so, as on the command line."""

_KNOWN_SHARE = 0.03
"""Of the whole; before, nothing can be said of the time left."""


class Refreshing(Protocol):
    """A refresh made ready. ``sources`` are the names of what it reads with their providers."""

    sources: Mapping[str, str]

    def large_bytes(self) -> int: ...

    def run(self, report: Callable[[Progress], None]) -> Summary: ...

    def stop(self) -> None: ...


class LiveRefreshing:
    """The real one. ``run`` blocks its thread until everything was read, or ``stop`` was called from another."""

    def __init__(self, live: LiveRefresh) -> None:
        self._live = live
        self.sources: Mapping[str, str] = live.sources
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Summary] | None = None

    def large_bytes(self) -> int:
        """Bytes of the large files; 0 where nobody answers, which every source will say for itself."""
        try:
            return asyncio.run(self._live.large_bytes())
        except PricingError:
            return 0

    def run(self, report: Callable[[Progress], None]) -> Summary:
        """Raises DataError where the store cannot be used, CancelledError where it was stopped."""
        try:
            return asyncio.run(self._run(report))
        except PricingError as error:
            raise DataError(str(error)) from error

    async def _run(self, report: Callable[[Progress], None]) -> Summary:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._live.run(report))
        return await self._task

    def stop(self) -> None:
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)


class SourceState:
    """How far one source is: ``total`` is None where its provider does not say."""

    __slots__ = ("done", "outcome", "total", "unit")

    def __init__(self) -> None:
        self.done, self.total, self.unit = 0, None, ""  # type: tuple[int, int | None, str]
        self.outcome: Outcome | None = None

    @property
    def share(self) -> float:
        """0 to 1; of a source that does not say how long it is, half once it has begun."""
        if self.outcome is not None:
            return 1.0
        if self.total:
            return min(self.done / self.total, 1.0)
        return 0.5 if self.done else 0.0


class ProviderState(NamedTuple):
    """All sources of a provider together; ``prices`` are those kept so far, ``doing`` the source that is being read."""

    provider: str
    share: float
    finished: int
    sources: int
    failed: int
    prices: int
    doing: str


class RefreshState:
    """What a running or finished refresh has come to. The worker writes it, the interface looks at it now and then."""

    def __init__(self, sources: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started_s = clock()
        self._providers = dict(sources)
        self._sources = {name: SourceState() for name in sources}
        self.summary: Summary | None = None
        self.problem = ""
        self.stopped = False

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._started_s

    def heard(self, progress: Progress) -> None:
        """A source has read on. Called in the worker's thread."""
        state = self._sources.get(progress.source)
        if state is not None:
            state.done, state.total, state.unit = progress.done, progress.total, progress.unit

    def ended(self, summary: Summary) -> None:
        """Everything was tried; outcomes of providers that could not be asked at all are among them."""
        for outcome in summary.outcomes:
            self._providers.setdefault(outcome.source, outcome.provider)
            self._sources.setdefault(outcome.source, SourceState()).outcome = outcome
        self.summary = summary

    @property
    def failures(self) -> list[Outcome]:
        return [outcome for outcome in self.summary.outcomes if outcome.problem] if self.summary is not None else []

    @property
    def share(self) -> float:
        """Of the whole, 0 to 1, every source counting the same."""
        shares = [source.share for source in self._sources.values()]
        return sum(shares) / len(shares) if shares else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds it will still take at the pace so far; None where that cannot be said yet."""
        share = self.share
        return self.elapsed_s * (1 - share) / share if share >= _KNOWN_SHARE else None

    def providers(self) -> list[ProviderState]:
        """In the order in which they are read."""
        grouped: dict[str, dict[str, SourceState]] = {}
        for name, source in self._sources.items():
            grouped.setdefault(self._providers[name], {})[name] = source
        return [_together(provider, sources) for provider, sources in grouped.items()]


def _together(provider: str, sources: Mapping[str, SourceState]) -> ProviderState:
    outcomes = [source.outcome for source in sources.values() if source.outcome is not None]
    busy = [(name, source) for name, source in sources.items() if source.outcome is None and 0 < source.share < 1]
    return ProviderState(
        provider=provider,
        share=sum(source.share for source in sources.values()) / len(sources),
        finished=sum(source.share >= 1 for source in sources.values()),
        sources=len(sources),
        failed=sum(bool(outcome.problem) for outcome in outcomes),
        prices=sum(outcome.offers for outcome in outcomes),
        doing=f"{busy[0][0]}: {_amount(busy[0][1])}" if busy else "",
    )


def _amount(source: SourceState) -> str:
    """'page 34 of 48', '12 MB of 30 MB'."""
    if source.unit == "bytes":
        done, total = (f"{count / 1e6:,.0f} MB" for count in (source.done, source.total or 0))
        return f"{done} of {total}" if source.total else done
    of = f" of {source.total}" if source.total else ""
    return f"{source.unit.removesuffix('s')} {source.done}{of}"
