"""The error tree of prices. Each kind says what the front door does with it.

PricingError             a shipped or stored table cannot be read; shown as one sentence; exit 1
└── UnknownPlaceError    a provider or region that has no prices; exit 2, with the nearest names
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


def near_misses(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The ``count`` names in ``known`` that look most like ``name``, best first."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold(), list(by_folded), n=count, cutoff=0.6)
    return [by_folded[match] for match in matches]
