"""Buy or rent in words and lines, for the command line and the app."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.plan.buy_or_rent import BuyOrRent
from planner.plan.rents import Rent
from planner.plan.words import at_most_words
from planner.plot import Line, Point, plot
from planner.units import format_duration

LONGEST_SHOWN_MONTHS = 240.0
NEVER = "never"
BUY, RESALE, MARKS = "●", "·", "+x*"
"""The marks of the lines: buying, the same less what it would sell for, and the rents in their order."""

Show = Callable[[float | None], str]


def months_words(months: float) -> str:
    """'16.3 mo', 'at once', 'never'; beyond 20 years it is never in practice."""
    if months > LONGEST_SHOWN_MONTHS:
        return NEVER
    return "at once" if months <= 0 else f"{months:.1f} mo"


def verdict(found: BuyOrRent, show: Show) -> str:
    """What to do at the stated use, in one sentence, with the figures that decide."""
    best = found.bought[0]
    if best.owning is None:
        return f"Rent: {best.purchase.name} cannot run it ({best.problem})."
    months = found.terms.months
    rent = found.rents[0]
    rented = rent.spent_usd(found.runs_per_month * months)
    spent, left = best.spent_usd or 0.0, best.owning.value_usd(months)
    against, even = best.against[0]
    compared = (
        f"{months:g} months cost {show(spent)} with {best.purchase.name}, which would then sell for {show(left)}, "
        f"and {at_most_words(rent)}{show(rented)} rented ({against.words})"
    )
    if best.is_too_slow:
        return f"Rent: {best.purchase.name} would need {best.hours_per_week:,.0f} hours a week for it; {compared}."
    if best.misses_limits:
        return (
            f"Rent: a run on {best.purchase.name} takes {format_duration(best.owning.run_s)}, which meets your limits "
            f"with {best.p_meets or 0:.0%} only; {compared}."
        )
    if spent <= rented:
        return f"Buy {best.purchase.name}: it pays from {months_words(even.months)} on; {compared}."
    if spent - left <= rented:
        return f"Buy {best.purchase.name} if it will be sold: only less its resale it is the cheaper; {compared}."
    return f"Rent: {compared}."


def money_lines(found: BuyOrRent, index: int = 0) -> tuple[list[Line], list[Point]]:
    """Money spent over the months with one of the purchases and with each rent, the purchase last, and the months at
    which it has paid for itself; nothing where it cannot run."""
    bought, runs, end = found.bought[index], found.runs_per_month, found.terms.months
    owning = bought.owning
    if owning is None:
        return [], []
    lines = [Line("less resale", RESALE, lambda month: owning.spent_usd(month, runs) - owning.value_usd(month))]
    for mark, (rent, _) in zip(MARKS, bought.against, strict=False):
        lines.append(Line(f"rent, {rent.label}", mark, _rented(rent, runs)))
    lines.append(Line("buy", BUY, lambda month: owning.spent_usd(month, runs)))
    points = [
        Point(even.months, owning.spent_usd(even.months, runs)) for _, even in bought.against if even.months <= end
    ]
    return lines, points


def money_plot(found: BuyOrRent, show: Show, *, width: int, height: int = 14, index: int = 0) -> list[str]:
    """The same in characters."""
    lines, points = money_lines(found, index)
    if not lines:
        return []
    end = found.terms.months
    highest = 1.6 * lines[-1].at(end)
    clipped = [line._replace(at=_below(line, highest)) for line in lines]
    return plot(clipped, points, end, show, "months", width=width, height=height)


def _rented(rent: Rent, runs_per_month: float) -> Callable[[float], float]:
    return lambda month: rent.spent_usd(runs_per_month * month)


def _below(line: Line, highest: float) -> Callable[[float], float]:
    return lambda month: value if (value := line.at(month)) <= highest else math.nan
