"""What `estimate` shows beside the ranking where asked: the front of time and cost, and chosen rows side by side."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from planner.cli.marks import cost_words
from planner.cli.money import Currency
from planner.cli.plan_json import estimate_record
from planner.cli.table import Column, fitted, markdown, render, terminal_width
from planner.errors import InputError
from planner.plan.cost import in_whole
from planner.plan.front import front
from planner.plan.plan import Estimate
from planner.plan.planning import Answer, numbered
from planner.plan.rows import ranked_estimate
from planner.plan.search import pareto_front
from planner.plan.words import EVIDENCE_WORDS, bound_mark, buy_word, gpus_words, machine_name, where_words
from planner.units import UNKNOWN, Interval, format_bytes, format_duration, format_rate, format_span

MOST_COMPARED = 6
_WIDEST_NAME = 26


class Shown(NamedTuple):
    """Rows of the front with what an hour sooner costs, and the rows to compare; empty where not asked for."""

    front: tuple[tuple[Estimate, float | None], ...]
    compared: tuple[Estimate, ...]


def decision(answered: Answer, now: datetime, *, show_front: bool, compare: str | None, by_machine: bool) -> Shown:
    """Raises InputError for ranks that are none."""
    rows = answered.ranking.rows
    ranks = numbered(rows, answered.best, by_machine=by_machine)
    machines = ranks if by_machine else numbered(rows, answered.best, by_machine=True)
    points = front(rows) if show_front else []
    best = pareto_front(rows) if points or compare else set()

    def written(index: int) -> Estimate:
        estimate = ranked_estimate(rows[index], ranks.get(index, index + 1), index in best, now)
        return estimate._replace(row=machines.get(index))

    by_rank = {rank: index for index, rank in ranks.items()}
    return Shown(
        tuple((written(point.row), point.usd_per_hour_sooner) for point in points),
        tuple(written(by_rank[rank]) for rank in _ranks(compare, len(by_rank))),
    )


def _ranks(text: str | None, count: int) -> list[int]:
    if text is None:
        return []
    ranks = [word.strip() for word in text.split(",")]
    if not 2 <= len(ranks) <= MOST_COMPARED or not all(rank.isdigit() and 1 <= int(rank) <= count for rank in ranks):
        raise InputError(
            f"--compare wants 2 to {MOST_COMPARED} ranks from 1 to {count:,} separated by commas, not {text!r}"
        )
    return [int(rank) for rank in ranks]


def decision_record(shown: Shown) -> dict[str, Any]:
    """JSON keys that are there where they are asked for."""
    record: dict[str, Any] = {}
    if shown.front:
        record["front"] = [{**estimate_record(row), "usd_per_hour_sooner": sooner} for row, sooner in shown.front]
    if shown.compared:
        record["compared"] = [estimate_record(row) for row in shown.compared]
    return record


def decision_lines(shown: Shown, currency: Currency, *, as_markdown: bool, color: bool) -> list[str]:
    """A table each; nothing where nothing was asked for. Rows to compare that have no room beside come below."""
    lines: list[str] = []
    width = None if as_markdown else terminal_width()
    for title, tables in (
        ("Front of time and cost, fastest first", [_front_table(shown, currency)]),
        ("Side by side", _compared_tables(shown.compared, currency, width)),
    ):
        for number, (columns, cells) in enumerate(tables):
            if cells:
                heading = [f"## {title}", ""] if as_markdown else [f"{title}:"]
                table = markdown(columns, cells) if as_markdown else render(columns, cells, color=color)
                lines += ["", *(heading if number == 0 else []), *table]
    return lines


def _front_table(shown: Shown, currency: Currency) -> tuple[list[Column], list[list[str]]]:
    columns = [
        Column("machine", width=22, least=14), Column("where", width=26, least=12, drop=1),
        Column("GPUs", width=20, least=10), Column("buy"), Column("time", "right"), Column("cost", "right"),
        Column("an hour sooner", "right"),
    ]  # fmt: skip
    cells = [
        [
            machine_name(row), where_words(row), gpus_words(row), buy_word(row),
            _time(row.time_s), cost_words(row, currency), currency.show(sooner),
        ]
        for row, sooner in shown.front
    ]  # fmt: skip
    return columns, cells


_Table = tuple[list[Column], list[list[str]]]


def _compared_tables(rows: Sequence[Estimate], currency: Currency, width: int | None) -> list[_Table]:
    """As many of the rows beside each other as ``width`` has room for without cutting a figure; None has for all."""
    beside = len(rows)
    while beside > 1 and width is not None:
        tables = [_compared_table(part, currency) for part in _parts(rows, beside)]
        if all(fitted(columns, cells, width) is not None for columns, cells in tables):
            return tables
        beside -= 1
    return [_compared_table(part, currency) for part in _parts(rows, beside)]


def _parts(rows: Sequence[Estimate], size: int) -> list[Sequence[Estimate]]:
    return [rows[first : first + size] for first in range(0, len(rows), max(1, size))]


def _compared_table(rows: Sequence[Estimate], currency: Currency) -> _Table:
    """Words may be cut short, figures not."""
    cells = _compared_cells(rows, currency)
    figures = [line for line in cells if line[0] not in _WORDS]
    columns = [Column("", width=max(len(line[0]) for line in cells))]
    for place, row in enumerate(rows, start=1):
        least = max(len(line[place]) for line in figures)
        columns.append(Column(f"#{row.rank}", "right", width=max(_WIDEST_NAME, least), least=least))
    return columns, cells


def _compared_cells(rows: Sequence[Estimate], currency: Currency) -> list[list[str]]:
    cells = [[name, *(text(row) for row in rows)] for name, text in _FACTS]
    cells += _bills(rows, currency)
    cells += [[name, *(text(row) for row in rows)] for name, text in _AFTER_BILL]
    return [line for line in cells if any(cell not in (UNKNOWN, "") for cell in line[1:])]


def _bills(rows: Sequence[Estimate], currency: Currency) -> list[list[str]]:
    """Every line that any of the bills has, what compute was spent on below it, and the totals."""
    bills = [_bill(row, currency) for row in rows]
    lines = []
    for name, use in dict.fromkeys(key for bill in bills for key in bill):
        title = f"  {use}" if use else name
        lines.append([title, *(_amount(bill, (name, use), currency) for bill in bills)])
    totals = [sum(line.amount or 0 for (_, use), line in bill.items() if not use) for bill in bills]
    lines.append(
        ["total", *(f"{bound_mark(row)}{currency.exact(total)}" for row, total in zip(rows, totals, strict=True))]
    )
    spread = [format_span(row.cost_usd, currency.show) if row.cost_usd else UNKNOWN for row in rows]
    return [*lines, ["  P10–P90", *spread]]


_Key = tuple[str, str]


class _Line(NamedTuple):
    """Hundredths of the currency, None where nobody knows the price; ``at_most`` where it is only a bound."""

    amount: int | None
    at_most: bool = False


def _bill(row: Estimate, currency: Currency) -> dict[_Key, _Line]:
    """The bill by line, and by line and use."""
    known = [part for part in row.cost_parts if part.usd is not None]
    amounts = dict(zip((part.name for part in known), currency.bill([part.usd or 0.0 for part in known]), strict=True))
    bill: dict[_Key, _Line] = {}
    for part in row.cost_parts:
        bill[part.name, ""] = _Line(amounts.get(part.name), part.at_most)
        whole = sum(use.usd for use in part.parts)
        shares = [amounts.get(part.name, 0) * use.usd / whole for use in part.parts] if whole else []
        for use, share in zip(part.parts, in_whole(shares, amounts.get(part.name, 0)), strict=False):
            bill[part.name, use.name] = _Line(share)
    return bill


def _amount(bill: dict[_Key, _Line], key: _Key, currency: Currency) -> str:
    if key not in bill:
        return ""
    line = bill[key]
    return UNKNOWN if line.amount is None else bound_mark(line) + currency.exact(line.amount)


def _time(value: Interval | None) -> str:
    return format_duration(value.p50 if value is not None else None)


def _number(value: float | None, unit: str) -> str:
    return UNKNOWN if value is None else f"{value:,.3g} {unit}"


def _stops(row: Estimate) -> str:
    """Interruptions an hour from which on the same machine on demand is the cheaper."""
    even = row.spot.break_even_per_hour if row.spot else None
    return "" if not even else f"{even:,.3g}"


_Text = Callable[[Estimate], str]
_WORDS = ("machine", "where", "GPUs", "evidence")
"""Facts that are words, which may be cut short."""

_FACTS: tuple[tuple[str, _Text], ...] = (
    ("machine", machine_name),
    ("where", where_words),
    ("GPUs", gpus_words),
    ("bought", buy_word),
    ("batch per GPU", lambda row: UNKNOWN if row.batch_size_per_gpu is None else f"{row.batch_size_per_gpu:,}"),
    ("global batch", lambda row: UNKNOWN if row.global_batch_size is None else f"{row.global_batch_size:,}"),
    ("memory needed", lambda row: format_bytes(row.memory_required_bytes)),
    ("samples/s", lambda row: format_rate(row.samples_per_s.p50 if row.samples_per_s else None)),
    ("binds", lambda row: row.bound_by or UNKNOWN),
    ("evidence", lambda row: EVIDENCE_WORDS.get(row.evidence or "", UNKNOWN)),
    ("time", lambda row: _time(row.time_s)),
    (
        "  P10–P90",
        lambda row: format_span(row.time_s, format_duration) if row.time_s else UNKNOWN,
    ),
    ("done by", lambda row: f"{row.finish_at:%a %d %b %H:%M}" if row.finish_at else UNKNOWN),
    ("meets the limits", lambda row: UNKNOWN if row.p_meets is None else f"{row.p_meets:.0%}"),
)
_AFTER_BILL: tuple[tuple[str, _Text], ...] = (
    ("interruptions expected", lambda row: _number(row.spot.interruptions, "") if row.spot else ""),
    ("checkpoint every", lambda row: format_duration(row.spot.checkpoint_interval_s) if row.spot else ""),
    ("on demand equal at stops/h", _stops),
    ("energy", lambda row: _number(row.energy_kwh, "kWh")),
    ("CO2 equivalents", lambda row: _number(row.co2_kg, "kg")),
    ("price seen", lambda row: row.price_as_of or UNKNOWN),
)
