"""The whole run that ``explain`` shows: its parts in minutes and money, and what each lever would make of it."""

from collections.abc import Sequence
from typing import Any

from planner.cli.marks import marked
from planner.cli.money import Currency
from planner.cli.plan_json import cost_part_record, interval_record
from planner.cli.table import Column
from planner.plan.cost import COMPUTE
from planner.plan.lever_runs import LeverRun
from planner.plan.run_parts import IDLE
from planner.plan.whole_run import WholeRun
from planner.plan.words import bound_mark
from planner.units import UNKNOWN, format_duration

RUN_COLUMNS = (Column("part"), Column("time", "right"), Column("cost", "right"))
LEVER_COLUMNS = (
    Column("lever", width=34, least=16, wraps=True),
    Column("time", "right"),
    Column("of it", "right"),
    Column("cost", "right"),
    Column("memory", "right"),
    Column("note", width=200, least=12, wraps=True),
)


def run_record(run: WholeRun | None) -> dict[str, Any]:
    """The parts as a row of ``estimate`` has them; null where the experiment does not fit."""
    return {
        "time_parts": [part._asdict() for part in run.time_parts] if run else None,
        "cost_parts": [cost_part_record(part) for part in run.cost_parts] if run else None,
    }


def lever_records(levers: Sequence[LeverRun]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.lever.name,
            "time_factor": one.time_factor,
            "cost_factor": one.cost_factor,
            "sample_time_factor": one.lever.time_factor,
            "memory_factor": one.lever.memory_factor,
            "note": one.lever.note,
            "time_s": interval_record(one.run.time_s) if one.run else None,
            "cost_usd": interval_record(one.run.cost_usd) if one.run and one.run.cost_usd else None,
        }
        for one in levers
    ]


def run_cells(run: WholeRun | None, currency: Currency) -> list[list[str]]:
    """What takes time, each with its share of the machine's price, then what is paid beside it, then the sums."""
    if run is None:
        return []
    spent = {use.name: use.usd for part in run.cost_parts if part.name == COMPUTE for use in part.parts}
    unshared = 0.0 if spent else None
    lines = [(part.name, format_duration(part.seconds), spent.pop(part.name, unshared)) for part in run.time_parts]
    lines += [(f"{name} afterwards" if name == IDLE else name, "", usd) for name, usd in spent.items()]
    lines += [(part.name, "", part.usd) for part in run.cost_parts if part.name != COMPUTE or unshared is None]
    unknown = {part.name for part in run.cost_parts if part.usd is None}
    marks = {part.name: bound_mark(part) for part in run.cost_parts}
    cells = [
        [name, time, UNKNOWN if name in unknown else "" if usd is None else marks.get(name, "") + _exact(usd, currency)]
        for name, time, usd in lines
    ]
    total = UNKNOWN if run.cost_usd is None else bound_mark(run) + _exact(run.cost_usd.p50, currency)
    return [*cells, ["total", format_duration(run.time_s.p50), total]]


def lever_title(run: WholeRun | None, currency: Currency) -> str:
    """What the factors are factors of."""
    if run is None:
        return "Levers: the whole run with each"
    cost = "" if run.cost_usd is None else f" and {marked(run, run.cost_usd.p50, currency)}"
    return f"Levers: the whole run with each, against {format_duration(run.time_s.p50)}{cost}"


def lever_cells(levers: Sequence[LeverRun], currency: Currency) -> list[list[str]]:
    return [
        [
            one.lever.name,
            UNKNOWN if one.run is None else format_duration(one.run.time_s.p50),
            _factor(one.time_factor),
            UNKNOWN if one.run is None or one.run.cost_usd is None else marked(one.run, one.run.cost_usd.p50, currency),
            _factor(one.lever.memory_factor),
            one.lever.note,
        ]
        for one in levers
    ]


def _exact(usd: float, currency: Currency) -> str:
    """To the hundredth whatever the size: a bill must add up where it is read."""
    return currency.exact(currency.hundredths(usd))


def _factor(value: float | None) -> str:
    return UNKNOWN if value is None else f"x{value:.2f}"
