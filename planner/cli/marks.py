"""What stands around a plan's rows, in text and on the page alike: marks, what they mean, and notes on the answer."""

from planner.cli.money import Currency
from planner.plan.cost import CREDITS
from planner.plan.plan import Estimate, Plan
from planner.plan.words import Priced, bound_mark
from planner.units import UNKNOWN

MARKS = (
    "≤: a cost with what nobody knows of it at the dearest rate known; ?: a cost not known in full; "
    "*: hypothetical machine; †: the code must be ported; !: price old; "
    "‡: not to be relied on, a price far below what else is asked or a spot run that may take far longer"
)


def marks_of(plan: Plan) -> str:
    """What the marks mean, that of a credit where one is used."""
    return f"{MARKS}; c: after your credit" if any(map(_uses_credit, plan.estimates)) else MARKS


def cost_words(row: Estimate, currency: Currency) -> str:
    """The likely cost with its marks."""
    if row.cost_usd is None:
        return UNKNOWN
    cost = marked(row, row.cost_usd.p50, currency)
    if _uses_credit(row):
        return f"{cost}c"
    if row.cost_usd.p50 == 0 and row.usd_per_hour:
        return f"<{currency.show(0.01)}"
    return f"{cost}?" if "cost_incomplete" in row.flags else cost


def marked(priced: Priced, usd: float | None, currency: Currency) -> str:
    """An amount of what is priced, with the mark of a cost that is only a bound."""
    return UNKNOWN if usd is None else bound_mark(priced) + currency.show(usd)


def answer_notes(plan: Plan) -> list[str]:
    """What to mind of the recommended row, and which tier of machines does."""
    if plan.recommendation is None:
        return []
    notes = [f"Mind: {hint}." for hint in plan.recommendation.estimate.hints]
    return [*notes, f"Tier: {plan.tier}"] if plan.tier else notes


def _uses_credit(row: Estimate) -> bool:
    return any(part.name == CREDITS and part.usd for part in row.cost_parts)
