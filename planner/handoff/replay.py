"""A lock's question asked again: with today's prices, tables and machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

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
        request = ExperimentRequest(**_tuples(inputs["experiment"]))
        asked = _tuples(inputs["question"])
        limits = dict(inputs["question"]["limits"])
        deadline = datetime.fromisoformat(limits["deadline"]) if limits["deadline"] else None
        limits["deadline"] = deadline if deadline is not None and deadline > now else None
        return request, Question(**{**asked, "limits": Limits(**limits)})
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the lock asked what this version does not know ({error}); name a second plan") from error


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    """JSON's lists as the tuples they were."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
