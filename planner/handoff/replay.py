"""A lock's question asked again: with today's prices, tables and machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
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
        if name in read and not _is_a(read[name], kind):
            raise TypeError(f"{name} is {read[name]!r}")
    return read


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated kind: a union, a tuple of one kind, a literal, or a class."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_is_a(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_a(one, arguments[0]) for one in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
