"""The error tree. Each kind says what the front door does with it.

PlannerError                 shown as one sentence; exit 1
├── InputError               the user's input is wrong; exit 2
│   └── UnknownNameError     a name not in a table; exit 2, with suggestions
├── NothingFitsError         no row fits or meets the constraints; exit 3
└── DataError                a shipped or stored table cannot be read; exit 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class PlannerError(Exception):
    """Base of everything the planner raises on purpose; ``exit_code`` is the process's."""

    exit_code = 1


class InputError(PlannerError):
    """Input that cannot be used: the message says what was wrong and what would be right."""

    exit_code = 2


_LISTED_BY = {
    "accelerator": "`gpuplanner gpus` lists them",
    "accelerator or machine": "`gpuplanner gpus` and `gpuplanner estimate -n 0` list them",
    "model": "`gpuplanner models` lists them",
    "data set": "`gpuplanner datasets` lists them",
}
"""Which command shows the names of a kind."""


class UnknownNameError(InputError):
    """A name that is in no table, with the nearest names that are."""

    def __init__(self, kind: str, name: str, suggestions: Sequence[str] = (), hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.suggestions = tuple(suggestions)
        hint = hint or _LISTED_BY.get(kind, "")
        message = f"unknown {kind} {name!r}"
        if self.suggestions:
            message += f"; did you mean {_either(self.suggestions)}?"
        if hint:
            message += f" {hint}" if self.suggestions else f"; {hint}"
        super().__init__(message)


class NothingFitsError(PlannerError):
    """No candidate fits or meets the constraints; the nearest misses are shown with it."""

    exit_code = 3


class DataError(PlannerError):
    """A table that was shipped or stored cannot be read."""


def near_misses(name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """The ``count`` names in ``known`` that look most like ``name``, best first; a ``cutoff`` of 1 is the same."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold(), list(by_folded), n=count, cutoff=cutoff)
    return [by_folded[match] for match in matches]


def _either(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return ", ".join(names[:-1]) + " or " + names[-1]
