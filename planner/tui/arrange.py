"""Which rows the table shows and in what order: filtered, sorted on raw values, grouped, pinned ones on top."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from planner.plan.plan import Estimate
from planner.plan.search import Limits, Sort
from planner.plan.words import EVIDENCE_MARKS, buy_word, gpus_words, machine_name, where_words

Key = tuple[object, ...]


class Rule(NamedTuple):
    """A line across the table with a title."""

    title: str


class Order(NamedTuple):
    """How the table stands. ``sort`` is a column; 'value', 'time' and 'cost' are orders of the planner itself."""

    sort: str = "value"
    backwards: bool = False
    group: str = ""
    words: str = ""
    pinned: tuple[Key, ...] = ()

    @property
    def of_planner(self) -> Sort:
        return "time" if self.sort == "time" else "cost" if self.sort == "cost" else "value"


SORTS = ("value", "time", "spread", "cost", "hourly", "machine", "where", "gpus", "buy", "binds", "evidence")
GROUPS = ("", "gpu", "provider", "place")

_EVIDENCE_ORDER = tuple(EVIDENCE_MARKS)
_RAW: dict[str, Callable[[Estimate], object]] = {
    "spread": lambda row: float("inf") if row.time_s is None else row.time_s.p90 / row.time_s.p10,
    "hourly": lambda row: float("inf") if row.usd_per_hour is None else row.usd_per_hour,
    "machine": lambda row: machine_name(row).lstrip("*").casefold(),
    "where": lambda row: where_words(row).casefold(),
    "gpus": lambda row: (row.accelerator, row.num_gpus * row.num_nodes),
    "buy": buy_word,
    "binds": lambda row: row.bound_by or "",
    "evidence": lambda row: _EVIDENCE_ORDER.index(row.evidence) if row.evidence else len(_EVIDENCE_ORDER),
}
_GROUP: dict[str, Callable[[Estimate], str]] = {
    "gpu": lambda row: row.accelerator_name,
    "provider": lambda row: row.provider or "own",
    "place": lambda row: row.place,
}


def key_of(row: Estimate) -> Key:
    """What makes a row the same row after the next question: the machine; its best offer may change."""
    return (row.name, row.provider, row.place, row.num_nodes)


def misses(row: Estimate, limits: Limits) -> bool:
    return limits.given and (row.p_meets is None or row.p_meets < limits.confidence)


class Missed(NamedTuple):
    """By how much a row's P50 is beyond the limits, in seconds and in USD; None for a limit that it keeps."""

    seconds: float | None
    usd: float | None


def missed_by(row: Estimate, limits: Limits) -> Missed:
    """A row may miss neither and still be too unlikely to meet them: its ``p_meets`` says so."""
    deadline, budget = limits.deadline, limits.budget_usd
    late = (row.finish_at - deadline).total_seconds() if row.finish_at is not None and deadline is not None else 0.0
    over = row.cost_usd.p50 - budget if row.cost_usd is not None and budget is not None else 0.0
    return Missed(late if late > 0 else None, over if over > 0 else None)


def arrange(rows: Sequence[Estimate], limits: Limits, order: Order, missed_title: str) -> list[Estimate | Rule]:
    """The lines of the table: rows of the plan in their order, or sorted, under rules where they are divided."""
    shown = [row for row in rows if _contains(row, order.words)]
    if order.sort in _RAW:
        raw = _RAW[order.sort]
        shown.sort(key=lambda row: raw(row), reverse=order.backwards)  # type: ignore[arg-type,return-value]
    elif order.backwards:
        shown.reverse()
    pinned = [row for key in order.pinned for row in rows if key_of(row) == key]
    lines: list[Estimate | Rule] = [*pinned, Rule("pinned above")] if pinned else []
    if order.group:
        return lines + _grouped(shown, _GROUP[order.group])
    if order.sort != "value" or order.backwards:
        return [*lines, *shown]
    met = [row for row in shown if not misses(row, limits)]
    missed = [row for row in shown if misses(row, limits)]
    return lines + ([*met, Rule(missed_title), *missed] if met and missed else [*met, *missed])


def _grouped(rows: Iterable[Estimate], name: Callable[[Estimate], str]) -> list[Estimate | Rule]:
    """Rows under a rule for each group; groups in the order of their first rows."""
    groups: dict[str, list[Estimate]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    lines: list[Estimate | Rule] = []
    for title, members in groups.items():
        lines += [Rule(f"{title} · {len(members)}"), *members]
    return lines


def _contains(row: Estimate, words: str) -> bool:
    """Whether every word stands somewhere in what the row shows."""
    if not words.strip():
        return True
    texts = (
        machine_name(row), where_words(row), row.place, gpus_words(row), row.accelerator_name,
        row.purchase, buy_word(row), row.bound_by or "", row.region or "",
    )  # fmt: skip
    text = " ".join(texts).casefold()
    return all(word in text for word in words.casefold().split())
