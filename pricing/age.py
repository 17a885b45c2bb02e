"""How old a price is, and whether that is too old to trust as it stands. Today is an argument, never the clock."""

from __future__ import annotations

from datetime import date

from pricing.errors import PricingError

# On-demand list prices move in rare steps, spot prices from day to day.
STALE_AFTER_DAYS = 30
SPOT_STALE_AFTER_DAYS = 3


def day(text: str) -> date:
    """The date of an ISO 'YYYY-MM-DD'. Raises PricingError on anything else."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise PricingError(f"a price is dated {text!r}, which is not a day written as YYYY-MM-DD") from None


def age_days(price_as_of: str, today: date) -> int:
    """Whole days from the day the price was seen to ``today``; negative when the clock is behind the price."""
    return (today - day(price_as_of)).days


def is_stale(purchase: str, price_as_of: str, today: date) -> bool:
    """Whether a price deserves a mark: spot after 3 days, everything else after 30."""
    limit = SPOT_STALE_AFTER_DAYS if purchase == "spot" else STALE_AFTER_DAYS
    return age_days(price_as_of, today) > limit
