"""Money and probabilities as a person says them."""

from planner.units import format_money


def round_money(usd: float) -> str:
    """'$60' and '$6.82': cents only where there are any."""
    return format_money(usd).removesuffix(".00")


def percent(probability: float) -> str:
    """'93 %'; nothing is certain: '> 99 %' and '< 1 %'."""
    if probability > 0.995:
        return "> 99 %"
    return f"{probability * 100:.0f} %" if probability >= 0.005 else "< 1 %"
