"""A lock's question asked again: with today's prices, tables and machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_type_hints

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.kinds import is_a
from planner.plan.question import Question
from planner.plan.search import Limits


def inputs_of(lock: Mapping[str, Any], now: datetime) -> tuple[ExperimentRequest, Question]:
    """What the lock asked; a deadline that has passed is asked no more.

    Raises InputError for a plan that is no lock, or one of a version that asked otherwise.
    """
    inputs = (lock.get("lock") or {}).get("inputs")
    if not isinstance(inputs, dict):
        raise InputError("only a lock can be asked again (export --lock); name a second plan to compare with")
    try:
        request = ExperimentRequest(**_read(ExperimentRequest, inputs["experiment"]))
        said = dict(inputs["question"]["limits"])
        deadline = datetime.fromisoformat(said["deadline"]) if said["deadline"] else None
        said["deadline"] = deadline if deadline is not None and deadline > now else None
        limits = Limits(**_read(Limits, said))
        return request, Question(**_read(Question, {**inputs["question"], "limits": limits}))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the lock asked what this version does not know ({error}); name a second plan") from error


def _read(record: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``record``, JSON's lists as the tuples they were. Raises TypeError for a value of another kind."""
    read = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    for name, kind in get_type_hints(record).items():
        if name in read and not is_a(read[name], kind):
            raise TypeError(f"{name} is {read[name]!r}")
    return read
