"""Two plans of one question compared: what was asked, what moved, and whether the choice flips.

A plan is the JSON of ``estimate -o json`` or a lock. Rows are the same when they are the same machine in the same place
under the same purchase option, whatever their rank or price.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planner.handoff.plan_shape import checked
from planner.plan.plan import COST_BOUNDED
from planner.plan.words import at_most_words, place_of_offer, purchase_words
from planner.units import format_duration, format_money

Key = tuple[Any, ...]

_IDENTITY = ("provider", "name", "region", "zone", "purchase", "accelerator", "num_gpus", "num_nodes")


class Change(NamedTuple):
    """A value before and after; None is unknown or absent."""

    name: str
    old: Any
    new: Any


class RowChange(NamedTuple):
    """One way to run in both plans: rank, USD an hour, P50 seconds and P50 USD, before and after."""

    before: Mapping[str, Any]
    row: Mapping[str, Any]
    rank: Change
    usd_per_hour: Change
    time_s: Change
    cost_usd: Change

    @property
    def figures(self) -> tuple[Change, ...]:
        return self.rank, self.usd_per_hour, self.time_s, self.cost_usd

    @property
    def moved(self) -> bool:
        return any(change.old != change.new for change in self.figures)


class PlanDiff(NamedTuple):
    """``flips`` is None where a plan has no choice; ``sentence`` says what became of the old one.

    ``cut_off`` rows stand in one plan only, because the other does not show all that it ranked (-n).
    """

    inputs: tuple[Change, ...]
    versions: tuple[Change, ...]
    rows: tuple[RowChange, ...]
    appeared: tuple[Mapping[str, Any], ...]
    gone: tuple[Mapping[str, Any], ...]
    old_choice: Mapping[str, Any] | None
    new_choice: Mapping[str, Any] | None
    flips: bool | None
    sentence: str
    cut_off: int = 0


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> PlanDiff:
    """What changed from ``old`` to ``new``. Raises InputError for a record that is no plan."""
    before, after = _rows(old), _rows(new)
    old_choice, new_choice = _choice(old), _choice(new)
    appeared = tuple(row for name, row in after.items() if name not in before)
    gone = tuple(row for name, row in before.items() if name not in after)
    appeared_cut, gone_cut = _is_cut_off(old), _is_cut_off(new)
    flips = None if old_choice is None or new_choice is None else key(old_choice) != key(new_choice)
    return PlanDiff(
        inputs=tuple(_changes(_inputs(old), _inputs(new))),
        versions=tuple(_changes(_versions(old, before, after), _versions(new, after, before))),
        rows=tuple(_row_change(before[name], after[name]) for name in after if name in before),
        appeared=() if appeared_cut else appeared,
        gone=() if gone_cut else gone,
        old_choice=old_choice,
        new_choice=new_choice,
        flips=flips,
        sentence=_sentence(old_choice, new_choice, after, new_is_cut=gone_cut),
        cut_off=len(appeared) * appeared_cut + len(gone) * gone_cut,
    )


def key(row: Mapping[str, Any]) -> Key:
    """What makes a row the same way to run in two plans."""
    return tuple(row.get(name) for name in _IDENTITY)


def row_words(row: Mapping[str, Any]) -> str:
    """'aws p5en.48xlarge in eu-south-2, spot', 'DGX H100, to be bought', or an owned machine's name."""
    hypothetical = row.get("hypothetical") is True
    bought = purchase_words(str(row.get("purchase")), hypothetical=hypothetical)
    if row.get("provider") is None:
        return f"{row.get('name')}, {bought}" if hypothetical else str(row.get("name"))
    place = place_of_offer(row.get("region"), row.get("zone"))
    return f"{row['provider']} {row.get('instance_type')} in {place}, {bought}"


def taken_by_hand(plan: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The row that was taken instead of the plan's own recommendation; None where it was that one."""
    taken, best = _choice(plan), recommended(plan)
    return None if taken is None or (best is not None and key(taken) == key(best)) else taken


def _rows(plan: Mapping[str, Any]) -> dict[Key, Mapping[str, Any]]:
    """The plan's rows, with the one that was chosen or recommended where it is not among those shown."""
    found = {key(row): row for row in checked(plan)["estimates"]}
    chosen = _choice(plan)
    return found if chosen is None or key(chosen) in found else {**found, key(chosen): chosen}


def _is_cut_off(plan: Mapping[str, Any]) -> bool:
    """Whether the plan ranked more than it shows; an older JSON does not say."""
    ranked = plan.get("ranked_count")
    return isinstance(ranked, int) and ranked > len(plan["estimates"])


def _choice(plan: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The row that was taken: a lock's, else the recommended one."""
    lock = plan.get("lock")
    if isinstance(lock, dict) and isinstance(lock.get("chosen"), dict):
        chosen: Mapping[str, Any] = lock["chosen"]
        return chosen
    return recommended(plan)


def recommended(plan: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The recommended row of a plan's record; an older JSON names it by its rank only."""
    named = plan.get("recommendation")
    if not isinstance(named, dict):
        return None
    estimate = named.get("estimate")
    if isinstance(estimate, dict):
        return estimate
    return next((row for row in plan["estimates"] if row.get("rank") == named.get("rank")), None)


def _inputs(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, flat; a lock knows the question too."""
    flat = {f"experiment.{name}": value for name, value in (plan.get("experiment") or {}).items()}
    asked = (plan.get("lock") or {}).get("inputs") or {}
    for part in ("question", "configuration"):
        flat.update(_flat(part, asked.get(part) or {}))
    return flat


def _flat(prefix: str, record: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat.update(_flat(f"{prefix}.{name}", value))
        else:
            flat[f"{prefix}.{name}"] = value
    return flat


def _versions(
    plan: Mapping[str, Any], own: Mapping[Key, Mapping[str, Any]], other: Mapping[Key, Mapping[str, Any]]
) -> dict[str, Any]:
    """Program and tables, of which a digest's beginning is enough to tell them apart; prices by the rows of both."""
    versions = (plan.get("lock") or {}).get("versions") or {}
    days = [row["price_as_of"] for name, row in own.items() if name in other and row.get("price_as_of")]
    flat = {"prices_as_of": min(days, default=plan.get("prices_as_of"))}
    flat.update({name: versions[name] for name in ("gpuplanner", "python") if name in versions})
    for table, digest in (versions.get("tables_sha256") or {}).items():
        flat[table] = str(digest)[:12]
    return flat


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Values of names that both sides know and that differ."""
    return [Change(name, old[name], new[name]) for name in old if name in new and old[name] != new[name]]


def _row_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> RowChange:
    return RowChange(
        old,
        new,
        Change("rank", old.get("rank"), new.get("rank")),
        Change("usd_per_hour", old.get("usd_per_hour"), new.get("usd_per_hour")),
        Change("time_s", p50(old, "time_s"), p50(new, "time_s")),
        Change("cost_usd", p50(old, "cost_usd"), p50(new, "cost_usd")),
    )


def p50(row: Mapping[str, Any], name: str) -> float | None:
    value = (row.get(name) or {}).get("p50")
    return None if value is None else float(value)


def _sentence(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
    after: Mapping[Key, Mapping[str, Any]],
    *,
    new_is_cut: bool,
) -> str:
    if old is None:
        return "The old plan had no choice." if new is None else f"A choice appeared: {_with_figures(new)}."
    if new is None:
        return f"The new plan has no choice; the old one was {_with_figures(old)}."
    if key(old) == key(new):
        return f"The choice stands: {row_words(new)}, {_move(old, new)}."
    there = after.get(key(old))
    missing = "is not among the rows shown" if new_is_cut else "is no longer among the rows"
    became = missing if there is None else f"would now be {_move(old, there)}"
    return f"The choice flips: from {row_words(old)}, which {became}, to {_with_figures(new)}."


def _with_figures(row: Mapping[str, Any]) -> str:
    return f"{row_words(row)}: {_figures(row)}"


def _move(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """'2h02 for $13.90 (before 2h10 for $15.00)', or 'unchanged at ...'."""
    then, now = _figures(old), _figures(new)
    return f"unchanged at {now}" if then == now else f"{now} (before {then})"


def _figures(row: Mapping[str, Any]) -> str:
    return f"{format_duration(p50(row, 'time_s'))} for {at_most_words(Cost(row))}{format_money(p50(row, 'cost_usd'))}"


class Cost(NamedTuple):
    """A row as something that has a cost."""

    row: Mapping[str, Any]

    @property
    def at_most(self) -> bool:
        """Whether the cost is only a bound."""
        return COST_BOUNDED in (self.row.get("flags") or ())


def moved(rows: Sequence[RowChange]) -> list[RowChange]:
    """The rows of which something moved, the largest relative move of cost first."""

    def size(change: RowChange) -> float:
        old, new = change.cost_usd.old, change.cost_usd.new
        return abs(new / old - 1) if old and new is not None else 0.0

    return sorted((row for row in rows if row.moved), key=size, reverse=True)
