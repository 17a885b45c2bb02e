"""A refresh that reads nothing: it goes as far as it is let, and ends as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from threading import Event

from planner.errors import DataError
from pricing.providers.base import Progress
from pricing.refresh import Outcome, Summary
from pricing.store import Change

SOURCES = {
    "AWS spot advisor": "aws",
    "AWS price list us-east-1": "aws",
    "AWS price list eu-west-1": "aws",
    "Azure retail prices eastus": "azure",
    "Azure retail prices westeurope": "azure",
}
REFUSED = "HTTP 403: the API key lacks cloudbilling.services.list"


def outcomes(problem: str = "") -> tuple[Outcome, ...]:
    """How the sources went; with a ``problem``, Google Cloud could not be asked at all."""
    went = tuple(Outcome(name, provider, 12, 1, 0) for name, provider in SOURCES.items())
    return (*went, Outcome("gcp", "gcp", problem=problem)) if problem else went


class SampleRefreshing:
    """Goes on when ``go`` is set, at once without one. ``size`` is what the large files would have."""

    def __init__(self, ending: Sequence[Outcome] | DataError, go: Event | None = None, size: int = 0) -> None:
        self.sources: Mapping[str, str] = SOURCES
        self._ending, self._go, self._size = ending, go, size
        self.stopped = False

    def large_bytes(self) -> int:
        return self._size

    def run(self, report: Callable[[Progress], None]) -> Summary:
        report(Progress("AWS spot advisor", 1, 1, "pages"))
        report(Progress("AWS price list us-east-1", 120_000_000, 300_000_000, "bytes"))
        report(Progress("Azure retail prices eastus", 34, None, "pages"))
        if self._go is not None:
            self._go.wait(10)
        if self.stopped:
            raise asyncio.CancelledError
        if isinstance(self._ending, DataError):
            raise self._ending
        change = Change("2026-11-30", "aws", "p5.48xlarge", "us-east-1", None, "spot", "25.70", "24.10", "spot history")
        return Summary(tuple(self._ending), (change,))

    def stop(self) -> None:
        self.stopped = True
        if self._go is not None:
            self._go.set()
