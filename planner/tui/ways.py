"""Ways out where nothing can be recommended: each with its key, what it changes in the form, and what then comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from planner.plan.plan import Estimate
from planner.plan.search import Limits
from planner.plan.words import bound_mark, buy_word, machine_name, place_of_offer
from planner.tui.amounts import round_money
from planner.tui.asked import changed_words
from planner.tui.clock import moment
from planner.tui.drawing import fitted
from planner.tui.theme import Palette
from planner.units import format_duration, format_money

if TYPE_CHECKING:
    from planner.plan.relax import Relaxation
    from planner.tui.core import Ranked, WayToFit

FIT_KEYS = ("t", "T")
"""The keys of the first ways to make an experiment fit; a third is in the palette alone."""

_LIMIT_KEYS = {"deadline": "d", "budget": "b"}
_THEN = 28
"""The cell from which on a line says what comes of a moved limit."""

_NAME = 20


def way_lines(ranked: Ranked, palette: Palette) -> list[Text]:
    """A line a way: ' t  zero3 ckpt   then 18h24 for $727 on aws p5.48xlarge', ' d  deadline to Mon 12:15 ...'."""
    keys = (*FIT_KEYS, *" " * len(ranked.ways_to_fit))
    fits = [_fitting(key, way, ranked, palette) for key, way in zip(keys, ranked.ways_to_fit, strict=False)]
    return [*fits, *(_relaxing(one, ranked, palette) for one in ranked.relaxations)]


def way_keys(ranked: Ranked) -> list[str]:
    """The keys that take one of the ways."""
    limits = [_LIMIT_KEYS[one.limit] for one in ranked.relaxations]
    return [*FIT_KEYS[: len(ranked.ways_to_fit)], *limits]


def called(row: Estimate, *, short: bool) -> str:
    """'aws p5.48xlarge in us-east-1', 'this machine'; short: 'aws p5.48xlarge us-east-1 spot', 'this machine own'."""
    where = place_of_offer(row.region, row.zone)
    if short:
        parts = (row.provider, machine_name(row), where, buy_word(row))
        return " ".join(part for part in parts if part)
    name = machine_name(row) if row.provider is None else f"{row.provider} {machine_name(row)}"
    return f"{name} in {where}" if where else name


def both_given(limits: Limits) -> bool:
    return limits.deadline is not None and limits.budget_usd is not None


def _fitting(key: str, way: WayToFit, ranked: Ranked, palette: Palette) -> Text:
    row = way.estimate
    line = Text.assemble((f" {key}  ", f"bold {palette.strong}"))
    line.append(changed_words(ranked.values, way.values), style=f"bold {palette.strong}")
    cost = bound_mark(row) + format_money(row.cost_usd.p50 if row.cost_usd else None)
    line.append(f"   then {format_duration(row.time_s.p50 if row.time_s else None)} for {cost}", style=palette.text)
    line.append(f" ({way.note})" if way.note else "", style=palette.warn)
    return line.append(f" on {called(row, short=True)}", style=palette.dim)


def _relaxing(relaxed: Relaxation, ranked: Ranked, palette: Palette) -> Text:
    """'d  deadline to Mon 12:15   then lab-a100 meets it, not the budget'."""
    limits = ranked.question.limits
    if relaxed.limit == "deadline":
        other, to = "budget", moment(relaxed.limits.deadline, ranked.plan.generated_at)
    else:
        other, to = "deadline", round_money(relaxed.limits.budget_usd or 0.0)
    text = Text.assemble((f" {_LIMIT_KEYS[relaxed.limit]}  ", f"bold {palette.strong}"))
    text.append(f"{relaxed.limit} to ", style=palette.text).append(to, style=f"bold {palette.strong}")
    name = fitted(machine_name(relaxed.estimate), _NAME)
    met = "meets both" if both_given(limits) else "meets it"
    then = f"then {name} {met}" if relaxed.meets_all else f"then {name} meets it, not the {other}"
    text.append(" " * max(_THEN - text.cell_len, 2)).append(then, style=palette.dim)
    return text
