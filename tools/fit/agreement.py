"""Whether two texts with figures say the same: every word alike, and every figure up to rounding noise.

Another numeric library or processor sums in another order; a robust fit with kinks then ends a last digit elsewhere.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# A figure may differ by this many of its last digit, or by this share of itself (constants have four digits). Counts
# must be the same.
LAST_DIGITS, SHARE = 2.0, 1e-3


def agree(first: str, second: str) -> bool:
    """True where the texts differ in the last digits of decimal figures at most."""
    if _NUMBER.sub("#", first) != _NUMBER.sub("#", second):
        return False
    return all(_close(a, b) for a, b in zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True))


def _close(first: str, second: str) -> bool:
    if first == second:
        return True
    digit = max(_last_digit(first), _last_digit(second))
    if digit >= 1.0:
        return False
    one, other = (float(text.replace(",", "")) for text in (first, second))
    return abs(one - other) <= max(LAST_DIGITS * digit, SHARE * abs(other)) * (1.0 + 1e-9)


def _last_digit(text: str) -> float:
    """What one of the last digit of a written number is worth; 1 for a whole number."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)
