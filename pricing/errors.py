"""The error tree of prices. Each kind says what the front door does with it.

PricingError             a shipped or stored table cannot be read; shown as one sentence; exit 1
├── UnknownPlaceError    a provider or region that has no prices; exit 2, with the nearest names
└── FeedError            a provider's feed cannot be read; reported beside the others, what was known stays; exit 1
    └── OfflineError     there is no way to the provider's host; nothing is tried again
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class PricingError(Exception):
    """Base of everything pricing raises on purpose; ``exit_code`` is the process's."""

    exit_code = 1


class UnknownPlaceError(PricingError):
    """A provider, region or region pattern that matches nothing, with the nearest names that do."""

    exit_code = 2

    def __init__(self, kind: str, name: str, suggestions: Sequence[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self.suggestions = tuple(suggestions)
        message = f"no prices for the {kind} {name!r}"
        if self.suggestions:
            message += f"; did you mean {' or '.join(self.suggestions)}?"
        super().__init__(message)


class FeedError(PricingError):
    """A provider's feed that cannot be read to its end; ``again`` says that another try from the start may help.

    ``status`` is the HTTP status where the server gave one.
    """

    def __init__(self, message: str, again: bool = False, status: int | None = None) -> None:
        self.again = again
        self.status = status
        super().__init__(message)


class OfflineError(FeedError):
    """No route to the provider's host, or no such host: trying again at once is no use."""


def near_misses(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The ``count`` names in ``known`` that look most like ``name``, best first."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold(), list(by_folded), n=count, cutoff=0.6)
    return [by_folded[match] for match in matches]
