"""Money, probabilities and ways to buy as a person says them."""

from planner.plan.plan import Estimate
from planner.plan.words import purchase_words
from planner.units import format_money


def round_money(usd: float) -> str:
    """'$60' and '$6.82': cents only where there are any."""
    return format_money(usd).removesuffix(".00")


def percent(probability: float) -> str:
    """'93 %'; nothing is certain: '> 99 %' and '< 1 %'."""
    if probability > 0.995:
        return "> 99 %"
    return f"{probability * 100:.0f} %" if probability >= 0.005 else "< 1 %"


def bought_words(row: Estimate) -> str:
    """'on demand', 'your own', or 'to be bought for $3,700' of a machine that nobody owns yet."""
    price = "" if row.to_buy_usd is None else f" for {round_money(row.to_buy_usd)}"
    return purchase_words(row.purchase, hypothetical=row.hypothetical) + price
