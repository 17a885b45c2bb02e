"""Which arrangement an experiment needs: no GPU, a modest one, one strong machine, or a cluster."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from planner.hardware.machine import Machine
from planner.plan.search import ORDINARY_STACKS, Row, Setting
from planner.plan.tail import is_sound
from planner.plan.words import at_most_words
from planner.units import GIB, MoneyFormat, format_duration, format_money

MODEST_MEMORY_BYTES = 24.5 * GIB
"""A modest GPU has up to the 24 GB of a large desktop card."""

PAUSE_S = 3600.0
"""A run so short is not worth setting a GPU up for (assumption)."""


class Arrangement(NamedTuple):
    """``patience_s`` is the longest run that people put up with on it, where they set no deadline (assumption)."""

    name: str
    patience_s: float
    short: str


ARRANGEMENTS = (
    Arrangement("no GPU needed", 12 * 3600.0, "a CPU"),
    Arrangement("one modest GPU", 3 * 86400.0, "one GPU of up to 24 GB"),
    Arrangement("a workstation or one cloud machine", 14 * 86400.0, "one machine"),
    Arrangement("a cluster", float("inf"), "a cluster"),
)


NOTHING = "nothing"
"""Named in place of an arrangement where none ends in time."""


class Tier(NamedTuple):
    """``arrangement`` is the least that ends in time; ``sentence`` says so with the figures of all that were ranked."""

    arrangement: str
    sentence: str


def tier_of(rows: Sequence[Row], deadline_s: float | None = None, money: MoneyFormat = format_money) -> Tier | None:
    """The first arrangement that ends within its patience, or the deadline. None without rows."""
    best = _best(rows, deadline_s)
    known = [(level, best[level]) for level in sorted(best)]
    if not known:
        return None
    in_time = [level for level, row in known if row.time_s <= _limit_s(level, deadline_s)]
    if not in_time:
        figures = "; ".join(_figures(ARRANGEMENTS[level].short, row, money) for level, row in known)
        limit = f"in {format_duration(deadline_s)}" if deadline_s is not None else "in a time that people put up with"
        return Tier(NOTHING, f"{_capital(NOTHING)} that is left ends {limit}: {figures}.")
    chosen = next((level for level in in_time if level > 0 or not _beaten(best[0], best)), known[-1][0])
    figures = "; ".join(
        _figures("it" if len(known) == 1 else ARRANGEMENTS[level].short, row, money) for level, row in known
    )
    limit_s = _limit_s(chosen, deadline_s)
    within = f" within {format_duration(limit_s)}" if best[chosen].time_s <= limit_s < float("inf") else ""
    return Tier(ARRANGEMENTS[chosen].name, f"{_capital(ARRANGEMENTS[chosen].name)}{within}: {figures}.")


def _beaten(cpu: Row, best: Mapping[int, Row]) -> bool:
    """Whether a GPU is called for though the CPU ends in time: it is cheaper and sooner, and by more than a pause."""
    return cpu.time_s > PAUSE_S and any(
        row.time_s < cpu.time_s and row.cost_usd < cpu.cost_usd for level, row in best.items() if level > 0
    )


def _best(rows: Iterable[Row], deadline_s: float | None) -> dict[int, Row]:
    """Of each arrangement the cheapest row in time, or the quickest where none is, of those with ordinary PyTorch.

    A price or a spot run that nobody is advised to rely on does not stand for its arrangement.
    """
    limits_s = [_limit_s(level, deadline_s) for level in range(len(ARRANGEMENTS))]
    levels: dict[Setting, int | None] = {}
    in_time: dict[int, Row] = {}
    late: dict[int, Row] = {}
    for row in rows:
        setting, time_s = row.setting, row.time_s
        if setting not in levels:
            candidate = setting.candidate
            levels[setting] = arrangement_of(candidate.machine) if candidate.tariff.complete else None
        level = levels[setting]
        if level is None:
            continue
        if time_s <= limits_s[level]:
            if (level not in in_time or row.cost_usd < in_time[level].cost_usd) and is_sound(row):
                in_time[level] = row
        elif (level not in late or time_s < late[level].time_s) and is_sound(row):
            late[level] = row
    return late | in_time


def arrangement_of(machine: Machine) -> int | None:
    """The index of the least arrangement that the machine is; None where the code must be ported first."""
    if machine.accelerator.stack not in ORDINARY_STACKS:
        return None
    if machine.num_nodes > 1:
        return 3
    if machine.num_gpus == 0:
        return 0
    memory_bytes = machine.accelerator.memory_bytes
    return 1 if machine.num_gpus <= 1 and (memory_bytes or 0.0) <= MODEST_MEMORY_BYTES else 2


def _limit_s(level: int, deadline_s: float | None) -> float:
    return ARRANGEMENTS[level].patience_s if deadline_s is None else deadline_s


def _figures(subject: str, row: Row, money: MoneyFormat) -> str:
    return f"{subject} takes {format_duration(row.time_s)} for {at_most_words(row)}{money(row.cost_usd)}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
