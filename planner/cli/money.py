"""Money as the user wants to read it: USD, or another currency at the rate they gave."""

import math
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from planner.errors import InputError
from planner.plan.cost import in_whole
from planner.units import UNKNOWN, format_money


class Currency(NamedTuple):
    """The currency amounts are shown in, by its ISO code, at the user's rate."""

    code: str = "USD"
    per_usd: float = 1.0

    def rate(self, now: datetime) -> tuple[str, ...]:
        """Whose rate it is and of which day, where amounts are not in dollars."""
        if self.code == "USD":
            return ()
        rate = f"{self.per_usd:g} {self.code} a USD"
        return (f"amounts in {self.code} at {rate}, your rate of {now:%Y-%m-%d} (--currency)",)

    def show(self, usd: float | None) -> str:
        """'$6.82' in dollars, '6.27 EUR' otherwise; unknown is '–'."""
        if usd is None:
            return UNKNOWN
        text = format_money(usd * self.per_usd)
        return text if self.code == "USD" else f"{text.removeprefix('$')} {self.code}"

    def whole(self, usd: float) -> str:
        """'$1,599' in dollars, '1,471 EUR' otherwise: prices of things that cost hundreds."""
        text = f"{usd * self.per_usd:,.0f}"
        return f"${text}" if self.code == "USD" else f"{text} {self.code}"

    def hundredths(self, usd: float) -> int:
        """Cents, or the other currency's hundredths: what lines are rounded to before they are added."""
        return round(usd * self.per_usd * 100)

    def exact(self, hundredths: int) -> str:
        """Like ``show``, to the hundredth whatever the size: bills must add up where they are read."""
        amount = f"{abs(hundredths) / 100:,.2f}"
        sign = "−" if hundredths < 0 else ""
        return f"{sign}${amount}" if self.code == "USD" else f"{sign}{amount} {self.code}"

    def bill(self, lines: Sequence[float]) -> list[int]:
        """Dollars of a bill's lines in hundredths of this currency, which add up to the converted total."""
        exact = [usd * self.per_usd * 100 for usd in lines]
        return in_whole(exact, math.floor(math.fsum(exact) + 0.5))


def currency_of(text: str | None, output: str) -> Currency:
    """The currency to show, as ``parse_currency``; says where the output keeps to USD. Raises InputError."""
    currency = parse_currency(text)
    if output in ("json", "csv") and text is not None:
        sys.stderr.write(f"gpuplanner: --currency is for what people read: -o {output} stays in USD\n")
        return Currency()
    return currency


def parse_currency(text: str | None) -> Currency:
    """'EUR=0.92' is 0.92 euros a dollar. Raises InputError."""
    if text is None:
        return Currency()
    code, _, rate = text.partition("=")
    code = code.strip().upper()
    try:
        per_usd = float(rate)
    except ValueError:
        per_usd = 0.0
    if not (code.isalpha() and len(code) == 3 and 0 < per_usd < 1e6):
        raise InputError(f"--currency wants a code and units per USD, such as EUR=0.92, not {text!r}")
    if code == "USD" and per_usd != 1:
        raise InputError(f"--currency {text!r}: a dollar is one dollar; name another currency, such as EUR=0.92")
    return Currency(code, per_usd)
