"""Two plans compared, with figures that can be checked by eye."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.handoff.diff import compare, moved
from planner.handoff.lock import lock_record
from planner.handoff.plan_shape import checked
from planner.handoff.replay import inputs_of
from planner.plan.config import Config
from planner.plan.question import Question


def row(name: str, rank: int, hours: float, usd: float, hourly: float) -> dict[str, Any]:
    return {
        "rank": rank, "provider": "aws", "name": name, "instance_type": name, "region": "us-east-1", "zone": None,
        "purchase": "on_demand", "accelerator": "L4", "num_gpus": 1, "num_nodes": 1, "usd_per_hour": hourly,
        "time_s": {"p10": None, "p50": hours * 3600, "p90": None},
        "cost_usd": {"p10": None, "p50": usd, "p90": None},
    }  # fmt: skip


def plan(*rows: dict[str, Any], best: int | None = 1, epochs: float = 90) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "prices_as_of": "2026-11-01",
        "experiment": {"model": "resnet50", "epochs": epochs},
        "recommendation": None if best is None else {"rank": best, "sentence": "Run it."},
        "estimates": list(rows),
    }


A, B = row("a", 1, 10, 8.00, 0.80), row("b", 2, 5, 9.00, 1.80)


def test_a_plan_beside_itself_moves_nothing() -> None:
    difference = compare(plan(A, B), plan(A, B))
    assert difference.flips is False
    assert moved(difference.rows) == []
    assert (difference.inputs, difference.versions, difference.appeared, difference.gone) == ((), (), (), ())


def test_a_dearer_hour_moves_the_cost_and_flips_the_choice() -> None:
    dearer = row("a", 2, 10, 12.00, 1.20)
    difference = compare(plan(A, B), plan(dearer, row("b", 1, 5, 9.00, 1.80)))
    assert difference.flips is True
    assert difference.sentence == (
        "The choice flips: from aws a in us-east-1, on demand, which would now be 10h00 for $12.00 (before 10h00 for "
        "$8.00), to aws b in us-east-1, on demand: 5h00 for $9.00."
    )
    (first, *_) = moved(difference.rows)
    assert first.row["name"] == "a"
    assert (first.cost_usd.old, first.cost_usd.new) == (8.00, 12.00)
    assert (first.usd_per_hour.old, first.usd_per_hour.new) == (0.80, 1.20)


def test_a_cheaper_hour_of_the_same_choice_stands() -> None:
    difference = compare(plan(A, B), plan(row("a", 1, 10, 6.00, 0.60), B))
    assert difference.flips is False
    assert difference.sentence == (
        "The choice stands: aws a in us-east-1, on demand, 10h00 for $6.00 (before 10h00 for $8.00)."
    )


def test_rows_that_come_and_go_are_named() -> None:
    difference = compare(plan(A, B), plan(A, row("c", 2, 1, 2, 2)))
    assert [found["name"] for found in difference.appeared] == ["c"]
    assert [found["name"] for found in difference.gone] == ["b"]


def test_a_choice_that_left_says_so() -> None:
    difference = compare(plan(A, B), plan(row("b", 1, 5, 9.00, 1.80)))
    assert difference.flips is True
    assert "is no longer among the rows" in difference.sentence


def test_another_question_is_said() -> None:
    difference = compare(plan(A), plan(A, epochs=30))
    assert [(change.name, change.old, change.new) for change in difference.inputs] == [("experiment.epochs", 90, 30)]


def test_a_lock_counts_by_the_row_that_was_taken_and_tells_versions() -> None:
    def locked(version: str) -> dict[str, Any]:
        return {**plan(A, B), "lock": {"chosen": B, "inputs": {}, "versions": {"gpuplanner": version}}}

    difference = compare(locked("0.1.0"), locked("0.2.0"))
    assert difference.new_choice == B
    assert [(change.name, change.old, change.new) for change in difference.versions] == [
        ("gpuplanner", "0.1.0", "0.2.0")
    ]


@pytest.mark.parametrize(("old", "new", "words"), [(None, 1, "A choice appeared"), (1, None, "has no choice")])
def test_a_missing_choice_is_not_a_flip(old: int | None, new: int | None, words: str) -> None:
    difference = compare(plan(A, best=old), plan(A, best=new))
    assert difference.flips is None
    assert words in difference.sentence


def test_two_plans_without_a_choice_say_so() -> None:
    assert compare(plan(A, best=None), plan(A, best=None)).sentence == "The old plan had no choice."


@pytest.mark.parametrize("record", [{}, {"schema_version": 1}, {"schema_version": 2, "estimates": []}, []])
def test_what_is_no_plan_is_refused(record: Any) -> None:
    with pytest.raises(InputError):
        compare(record if isinstance(record, dict) else {"schema_version": 1, "estimates": [1]}, plan(A))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a JSON record stands, containers included."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _leaves(one, (*path, key))


def _with(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(record)
    if not path:
        return value
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


LOCKED = {
    **plan(A, B),
    "lock": {
        "chosen": A,
        "inputs": {"experiment": {}, "question": {}, "configuration": {}},
        "versions": {"gpuplanner": "1", "python": "3", "tables_sha256": {"a.csv": "12"}},
    },
}


@pytest.mark.parametrize("value", ["x", 3, True, None, [], {}, [1], {"p50": "x"}], ids=repr)
def test_no_value_of_another_kind_gets_past_the_check(value: Any) -> None:
    """Whatever stands anywhere in a plan: it is compared, or refused in one sentence."""
    for path in _leaves(LOCKED):
        changed = _with(LOCKED, path, value)
        with contextlib.suppress(InputError):
            checked(changed)
            json.dumps(compare(changed, LOCKED), allow_nan=False)
            moved(compare(LOCKED, changed).rows)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("estimates", 0, "time_s"), "x", "estimates 1.time_s must be a record, not 'x'"),
        (("estimates", 1, "cost_usd", "p50"), "x", "estimates 2.cost_usd.p50 must be a number, not 'x'"),
        (("estimates",), None, "neither a lock nor the JSON of gpuplanner estimate"),
        (("estimates", 0), None, "estimates 1 must be a record, not None"),
        (("lock", "versions"), 3, "lock.versions must be a record, not 3"),
    ],
)
def test_what_is_of_another_kind_is_named(path: tuple[Any, ...], value: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        checked(_with(LOCKED, path, value))


def test_a_question_of_another_kind_is_not_asked_again() -> None:
    request, question = ExperimentRequest("resnet50", epochs=3), Question()
    now = datetime.now().astimezone()
    lock = json.loads(json.dumps(lock_record({}, None, request, question, Config(), ())))
    assert inputs_of(lock, now) == (request, question)
    for path in _leaves(lock["lock"]["inputs"]["experiment"]):
        with pytest.raises(InputError, match="the lock asked what this version does not know"):
            inputs_of(_with(lock, ("lock", "inputs", "experiment", *path), {"x": 1}), now)
    with pytest.raises(InputError, match="regions is 'us'"):
        inputs_of(_with(lock, ("lock", "inputs", "question", "regions"), "us"), now)


def dated(row: dict[str, Any], day: str) -> dict[str, Any]:
    return {**row, "price_as_of": day}


def test_rows_that_one_plan_does_not_show_have_not_come_or_gone() -> None:
    whole = {**plan(dated(A, "2026-11-05"), dated(B, "2026-10-01")), "ranked_count": 2, "prices_as_of": "2026-10-01"}
    first = {**plan(dated(A, "2026-11-05")), "ranked_count": 2, "prices_as_of": "2026-11-05"}
    for old, new in ((whole, first), (first, whole)):
        difference = compare(old, new)
        assert (difference.appeared, difference.gone, difference.versions) == ((), (), ())
        assert moved(difference.rows) == []
        assert difference.cut_off == 1


def test_a_row_that_a_whole_plan_has_no_more_is_gone() -> None:
    difference = compare({**plan(A, B), "ranked_count": 2}, {**plan(A), "ranked_count": 1})
    assert [row["name"] for row in difference.gone] == ["b"]
    assert difference.cut_off == 0


def test_prices_seen_on_another_day_are_another_version() -> None:
    difference = compare(plan(dated(A, "2026-11-05")), plan(dated(A, "2026-11-20")))
    assert [tuple(change) for change in difference.versions] == [("prices_as_of", "2026-11-05", "2026-11-20")]


def test_a_choice_that_is_cut_off_is_not_said_to_be_gone() -> None:
    for ranked_count, words in ((2, "which is not among the rows shown"), (1, "which is no longer among the rows")):
        assert words in compare(plan(A), {**plan(row("b", 1, 5, 9.00, 1.80)), "ranked_count": ranked_count}).sentence
