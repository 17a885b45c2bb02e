"""Numbers as people type them, in a flag or a form: a checked value, or InputError with one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from planner.errors import InputError
from planner.units import parse_count

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_DOLLARS = re.compile(r"\s*(US)?\$?\s*(?P<amount>[^$]*?)\s*(\$|USD)?\s*", re.IGNORECASE)


def whole(text: str) -> int:
    """A whole number; its range is the experiment's to check."""
    try:
        return int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise InputError(f"expected a whole number, not {text!r}") from None


def number(text: str) -> float:
    """A finite number; thousands may be set apart by commas ('1,000')."""
    try:
        value = float(text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text)
    except ValueError:
        raise InputError(f"expected a number, not {text!r}") from None
    if not math.isfinite(value):
        raise InputError(f"expected a finite number, not {text!r}")
    return value


def positive(text: str) -> float:
    """A finite number greater than zero."""
    value = number(text)
    if value <= 0:
        raise InputError(f"expected a number greater than 0, not {text!r}")
    return value


def not_negative(text: str) -> float:
    """A finite number, 0 or greater."""
    value = number(text)
    if value < 0:
        raise InputError(f"expected 0 or a positive number, not {text!r}")
    return value


def usd(read: Callable[[str], float]) -> Callable[[str], float]:
    """A reader of dollars as people write them: '60', '$60', '1,000 USD'; ``read`` checks the number."""

    def amount(text: str) -> float:
        found = _DOLLARS.fullmatch(text)
        try:
            return read(found["amount"] if found else text)
        except InputError as error:
            hint = "an amount in US dollars, such as 60 or 1,000 (--currency changes only what is shown)"
            raise InputError(f"{error}: {hint}") from None

    return amount


def up_to(most: float) -> Callable[[str], float]:
    """A reader of numbers from 0 to ``most``."""

    def bounded(text: str) -> float:
        value = not_negative(text)
        if value > most:
            raise InputError(f"expected a number of at most {most:,.0f}, not {text!r}")
        return value

    return bounded


def count(text: str) -> float:
    """A positive count with an optional suffix: 1281167, 50k, 300M, 1.3B."""
    return parse_count(text, "the count")


def probability(text: str) -> float:
    """A share between 0 and 1, neither of them: '0.9' or '90%'."""
    share = text.strip()
    value = number(share[:-1]) / 100 if share.endswith("%") else number(share)
    if not 0 < value < 1:
        raise InputError(f"expected a probability between 0 and 1 such as 0.9 or 90%, not {text!r}")
    return value


def rows(text: str) -> int:
    """A number of rows to show, 0 for all."""
    value = whole(text)
    if value < 0:
        raise InputError(f"expected 0 (all) or a positive number of rows, not {text!r}")
    return value
