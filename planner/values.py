"""Numbers as people type them, in a flag or a form: a checked value, or InputError with one sentence."""

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from planner.errors import InputError
from planner.units import parse_count

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_POINTS = re.compile(r"[1-9]\d{0,2}(\.\d{3})+")
_NUMBER = r"[+-]?[\d.,_]*\d[\d.,_]*(?:e[+-]?\d+)?"
_AMOUNT = re.compile(rf"\s*(?P<before>[^\d\s.,+-]*)\s*(?P<number>{_NUMBER})\s*(?P<after>[^\d.,+-]*?)\s*", re.IGNORECASE)
_USD = "USD"
_CODES = {
    word: code
    for code, words in (
        (_USD, "$ us$ usd dollar dollars"),
        ("EUR", "€ eur euro euros"),
        ("GBP", "£ gbp pound pounds"),
        ("INR", "₹ inr rupee rupees"),
        ("KRW", "₩ krw won"),
    )
    for word in words.split()
}
"""Signs and words that stand for one currency; '¥' and 'kr' stand for several."""


_THOUSANDS = {"k": "1000 for 1k", "m": "1000000 for 1m"}
"""Suffixes of counts that no amount of money has here."""


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


class Foreign(NamedTuple):
    """An amount that is not in dollars, by its currency's ISO code; ``read`` checks what it comes to."""

    value: float
    code: str
    read: Callable[[str], float]

    def usd(self, units_per_usd: float) -> float:
        """The amount at a rate. Raises InputError where it is none that may be given."""
        return self.read(f"{self.value / units_per_usd:.15g}")

    def __str__(self) -> str:
        return f"{self.value:,.15g} {self.code}"


def amount(read: Callable[[str], float]) -> Callable[[str], float | Foreign]:
    """A reader of money as people write it: dollars in '60', '$60' and '1,000 USD', else a ``Foreign`` ('60€').

    ``read`` checks the number of dollars.
    """

    def parsed(text: str) -> float | Foreign:
        found = _AMOUNT.fullmatch(text)
        code = _USD if found is None else _currency(found["before"], found["after"], text)
        try:
            if found is None or code == _USD:
                return read(text if found is None else found["number"])
            return Foreign(_foreign_number(found["number"]), code, read)
        except InputError as error:
            raise InputError(f"{error}: an amount in US dollars, such as 60 or 1,000, or 60 EUR") from None

    return parsed


def _foreign_number(text: str) -> float:
    """A number in which a point may be what others write for the comma of thousands: that is asked, not guessed."""
    if _POINTS.fullmatch(text):
        raise InputError(
            f"{text!r} may be {text.replace('.', ',')} or a number with decimals: write it without a point"
        )
    return number(text)


def usd(read: Callable[[str], float]) -> Callable[[str], float]:
    """``amount`` where no rate is at hand: another currency than dollars is refused."""
    parse = amount(read)

    def dollars(text: str) -> float:
        value = parse(text)
        if isinstance(value, Foreign):
            raise InputError(f"{value} is not in US dollars, and no rate is at hand: write it in dollars")
        return value

    return dollars


def _currency(before: str, after: str, text: str) -> str:
    """The ISO code of the words around a number; without any they are dollars. Raises InputError."""
    codes = {_code(word, text) for word in (before, after) if word}
    if len(codes) > 1:
        raise InputError(f"{text!r} names two currencies: {' and '.join(sorted(codes))}")
    return codes.pop() if codes else _USD


def _code(word: str, text: str) -> str:
    folded = word.casefold()
    if folded in _CODES:
        return _CODES[folded]
    if len(word) == 3 and word.isascii() and word.isalpha():
        return word.upper()
    if folded in _THOUSANDS:
        raise InputError(f"{text!r}: amounts are written out, as in {_THOUSANDS[folded]}")
    raise InputError(f"which currency {word!r} is in {text!r} is not clear: write dollars, or a code as in 60 EUR")


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
