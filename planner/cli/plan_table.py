"""The plan for people: what to do and why, the ranking, what was assumed, and what has no rank."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

from planner.cli.marks import answer_notes, cost_words, marks_of
from planner.cli.money import Currency
from planner.cli.table import (
    Column,
    Style,
    fitted,
    markdown,
    paragraph,
    render,
    styled,
    terminal_width,
    use_color,
    wrapped,
)
from planner.experiment.resolve import describe
from planner.plan.plan import Estimate, Plan
from planner.plan.words import (
    BINDS_WORDS,
    EVIDENCE_MARKS,
    buy_word,
    gpus_words,
    machine_name,
    price_mark,
    where_words,
)
from planner.units import UNKNOWN, Interval, counted, format_duration, format_span

_LEGEND = (
    "ev: evidence ● measured here ◕ same GPU ◑ other GPU ◔ architecture ○ specs only; "
    "buy: o-d on demand, own yours, buy what must be bought first"
)

_MAX_REASONS = 4


class _Field(NamedTuple):
    """A column and its text for a row; where the screen is narrow, the fields of the highest ``drop`` go first."""

    column: Column
    drop: int
    text: Callable[[Estimate, Currency], str]


def _rank(row: Estimate, _: Currency) -> str:
    return str(row.rank) if row.rank is not None else "·"


def _range(value: Interval | None, show: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else format_span(value, show)


def _hourly(row: Estimate, currency: Currency) -> str:
    if row.usd_per_hour is None:
        return UNKNOWN
    return f"{row.usd_per_hour * currency.per_usd:.2f}{price_mark(row)}"


def _finish(row: Estimate, _: Currency) -> str:
    if row.finish_at is None:
        return UNKNOWN
    far = row.time_s is not None and row.time_s.p50 > 6 * 86400
    return f"{row.finish_at:%d %b %Y}" if far else f"{row.finish_at:%a %H:%M}"


_HOURLY = "$/h"

_FIELDS = (
    _Field(Column("#", "right"), 0, _rank),
    _Field(Column("machine", width=20, least=14), 0, lambda row, _: machine_name(row)),
    _Field(Column("where", width=22, least=12), 9, lambda row, _: where_words(row)),
    _Field(Column("GPUs", width=18, least=10), 1, lambda row, _: gpus_words(row)),
    _Field(Column("time", "right"), 0, lambda row, _: format_duration(row.time_s.p50 if row.time_s else None)),
    _Field(Column("P10–P90"), 7, lambda row, _: _range(row.time_s, format_duration)),
    _Field(Column("done by", "right"), 5, _finish),
    _Field(Column("cost", "right"), 0, cost_words),
    _Field(Column("P10–P90"), 8, lambda row, currency: _range(row.cost_usd, currency.show)),
    _Field(Column(_HOURLY, "right"), 6, _hourly),
    _Field(Column("buy"), 2, lambda row, _: buy_word(row)),
    _Field(Column("binds"), 3, lambda row, _: BINDS_WORDS.get(row.bound_by or "", row.bound_by or UNKNOWN)),
    _Field(Column("meets", "right"), 0, lambda row, _: UNKNOWN if row.p_meets is None else f"{row.p_meets:.0%}"),
    _Field(Column("ev"), 4, lambda row, _: EVIDENCE_MARKS.get(row.evidence or "", UNKNOWN)),
)


def _fields(currency: Currency) -> list[_Field]:
    """The columns, the hourly price under the name of its currency."""
    hourly = _HOURLY if currency.code == "USD" else f"{currency.code}/h"
    return [
        field._replace(column=field.column._replace(title=hourly)) if field.column.title == _HOURLY else field
        for field in _FIELDS
    ]


def _shown_fields(plan: Plan, currency: Currency) -> list[_Field]:
    """The columns that have something to say: without limits nothing meets them."""
    limited = any(row.p_meets is not None for row in plan.estimates)
    return [field for field in _fields(currency) if limited or field.column.title != "meets"]


def plan_lines(plan: Plan, currency: Currency) -> list[str]:
    """The plan as lines for a terminal as wide as this one."""
    width, color = terminal_width(), use_color()
    lines = [styled(describe(plan.experiment), "bold", color)]
    lines += [*(styled(line, "dim", color) for line in wrapped(_prices_line(plan), width)), ""]
    lines += [*_answer(plan, width, color), ""]
    if plan.estimates:
        lines += _table(plan, currency, width, color)
        lines += [
            "",
            *(styled(line, "dim", color) for line in wrapped(f"{_count(plan)}. {_LEGEND}; {marks_of(plan)}.", width)),
            "",
        ]
    lines += paragraph("Warning", plan.warnings, width, color, "warn")
    lines += paragraph("Assumed", plan.assumptions, width, color)
    return lines + _unranked_lines(plan, width, color)


def plan_markdown(plan: Plan, currency: Currency) -> list[str]:
    lines = [f"# {describe(plan.experiment)}", "", _prices_line(plan), ""]
    for text in _answer(plan, 10_000, False):
        lines += [text] if text.startswith("- ") else [text, ""]
    if lines[-1]:
        lines.append("")
    fields = _shown_fields(plan, currency)
    lines += markdown([field.column for field in fields], _cells(fields, plan.estimates, currency))
    lines += ["", f"{_count(plan)}. {_LEGEND}; {marks_of(plan)}.", ""]
    lines += [f"- Warning: {text}" for text in plan.warnings]
    lines += [*(f"- Assumed: {text}" for text in plan.assumptions), ""]
    return lines + _unranked_lines(plan, 10_000, False)


def _prices_line(plan: Plan) -> str:
    """The ages of the prices shown, and what makes them young again."""
    days = sorted(row.price_as_of for row in plan.estimates if row.provider and row.price_as_of)
    if not days:
        return "no cloud prices shown"
    today = plan.generated_at.date()
    oldest, newest = ((today - date.fromisoformat(day)).days for day in (days[0], days[-1]))
    seen = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    ages = counted(oldest, "day") if newest == oldest else f"{newest} to {counted(oldest, 'day')}"
    return f"prices seen {seen}, {ages} ago (gpuplanner prices refresh)"


def _answer(plan: Plan, width: int, color: bool) -> list[str]:
    if plan.recommendation is None:
        lines = [styled(line, "warn", color) for line in wrapped(plan.no_recommendation, width)]
        return lines + _ways(plan, width)
    text = f"Answer (#{plan.recommendation.rank}): {plan.recommendation.sentence}"
    lines = [styled(line, "bold", color) for line in wrapped(text, width)]
    if plan.recommendation.passed_over:
        passed_over = f"Passed over: {plan.recommendation.passed_over}."
        lines += [styled(line, "dim", color) for line in wrapped(passed_over, width)]
    lines += [styled(line, "dim", color) for note in answer_notes(plan) for line in wrapped(note, width)]
    if plan.nearest:
        text = "Most machines are too small for this as it stands; less, with the hours of waiting, would cost:"
        lines += wrapped(text, width)
    return lines + _ways(plan, width)


def _ways(plan: Plan, width: int) -> list[str]:
    return [line for way in plan.nearest for line in wrapped(f"- {way}", width, hanging="  ")]


def _table(plan: Plan, currency: Currency, width: int, color: bool) -> list[str]:
    """The rows in as many columns as the screen has room for: chosen, never clipped."""
    fields = _shown_fields(plan, currency)
    while True:
        cells = _cells(fields, plan.estimates, currency)
        columns = fitted([field.column for field in fields], cells, width)
        if columns is not None or not any(field.drop for field in fields):
            return render(columns or [field.column for field in fields], cells, _styles(plan), color=color)
        fields.remove(max(fields, key=lambda field: field.drop))


def _cells(fields: Sequence[_Field], rows: Sequence[Estimate], currency: Currency) -> list[list[str]]:
    return [[field.text(row, currency) for field in fields] for row in rows]


def _styles(plan: Plan) -> list[Style]:
    chosen = plan.recommendation.rank if plan.recommendation else None
    return ["bold" if row.rank == chosen else "plain" for row in plan.estimates]


def _count(plan: Plan) -> str:
    return f"{counted(len(plan.estimates), 'row')} of {counted(plan.ranked_count, 'ranked offer')} (-n 0 for all)"


def _unranked_lines(plan: Plan, width: int, color: bool) -> list[str]:
    """Reasons with the first machines each refuses, most machines first."""
    by_reason: dict[str, list[str]] = {}
    for row in plan.unranked:
        by_reason.setdefault(row.reason, []).append(machine_name(row))
    if not by_reason:
        return []
    ordered = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    lines = [styled(f"Not ranked: {counted(plan.unranked_count, 'offer')}", "bold", color)]
    for reason, names in ordered[:_MAX_REASONS]:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        lines += wrapped(f"- {reason}: {shown}", width, hanging="  ")
    if len(ordered) > _MAX_REASONS:
        lines.append(f"- {len(ordered) - _MAX_REASONS} more reasons (-o json has them all)")
    return lines
