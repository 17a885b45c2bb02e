"""The fields of somebody's configuration, read one by one with their type and range; what is wrong is named."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.errors import InputError

_LARGEST = 10_000_000


class Fields(NamedTuple):
    """A JSON object and what to call it in a complaint."""

    content: Mapping[str, Any]
    subject: str

    def whole(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """A whole number under the first of ``names`` that is there. Raises InputError."""
        name, value = self._first(names)
        if value is None:
            if default is None:
                raise InputError(f"{self.subject} has no {names[0]!r}")
            return default
        if type(value) is not int or not least <= value <= _LARGEST:
            raise InputError(
                f"{self.subject}: {name!r} must be a whole number from {least} to {_LARGEST:,}, not {_shown(value)}"
            )
        return value

    def number(self, *names: str, default: float) -> float:
        """A number from 0 to 1, such as a dropout probability. Raises InputError."""
        name, value = self._first(names)
        if value is None:
            return default
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise InputError(f"{self.subject}: {name!r} must be a number from 0 to 1, not {_shown(value)}")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.content.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{self.subject}: {name!r} must be true or false, not {_shown(value)}")
        return value

    def text(self, *names: str, default: str) -> str:
        name, value = self._first(names)
        if value is None:
            return default
        if not isinstance(value, str) or len(value) > 200:
            raise InputError(f"{self.subject}: {name!r} must be a short text, not {_shown(value)}")
        return value

    def inside(self, name: str) -> "Fields":
        """The object under ``name``; an empty one where there is none."""
        value = self.content.get(name)
        if value is not None and not isinstance(value, dict):
            raise InputError(f"{self.subject}: {name!r} must be an object, not {_shown(value)}")
        return Fields(value or {}, f"{self.subject}, {name}")

    def _first(self, names: tuple[str, ...]) -> tuple[str, Any]:
        return next(
            ((name, self.content[name]) for name in names if self.content.get(name) is not None), (names[0], None)
        )


def divided(fields: Fields, whole: int, parts: int, what: str) -> int:
    """``whole / parts``, which must be a whole number. Raises InputError."""
    if whole % parts:
        raise InputError(f"{fields.subject}: {what} {whole:,} cannot be divided by {parts:,}")
    return whole // parts


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
