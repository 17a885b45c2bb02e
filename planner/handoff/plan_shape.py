"""The shape of a plan that was read from a file: what ``diff`` relies on, checked once, so that nothing else has to.

A plan is the JSON of ``estimate -o json`` or a lock; keys that are missing are unknown, and keys that nobody reads are
not looked at.
"""

from collections.abc import Callable, Mapping
from typing import Any

from planner.errors import InputError

_Check = Callable[[str, Any], None]


def checked(plan: Any) -> dict[str, Any]:
    """The plan, in which every value that is read is of its kind. Raises InputError with the first that is not."""
    if not isinstance(plan, dict):
        raise InputError("it is not a JSON object")
    if plan.get("schema_version") != 1 or not isinstance(plan.get("estimates"), list):
        raise InputError("it is neither a lock nor the JSON of gpuplanner estimate (schema_version 1, estimates)")
    _record(_PLAN)("", plan)
    return plan


def _text(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} must be a text, not {value!r}")


def _texts(name: str, value: Any) -> None:
    if value is not None and not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
        raise InputError(f"{name} must be a list of texts, not {value!r}")


def _number(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InputError(f"{name} must be a number, not {value!r}")


def _anything(name: str, value: Any) -> None:
    """Only compared for being the same."""


def _record(checks: Mapping[str, _Check]) -> _Check:
    """A check of a record, or none, by those of its keys."""

    def check(name: str, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, dict):
            raise InputError(f"{name} must be a record, not {value!r}")
        for key, of_key in checks.items():
            of_key(f"{name}.{key}".lstrip("."), value.get(key))

    return check


def _rows(name: str, value: Any) -> None:
    for number, row in enumerate(value, start=1):
        if row is None:
            raise InputError(f"{name} {number} must be a record, not None")
        _ROW(f"{name} {number}", row)


_INTERVAL = _record({"p50": _number})
_ROW = _record(
    {
        **dict.fromkeys(("provider", "name", "instance_type", "region", "zone", "purchase", "accelerator"), _text),
        **dict.fromkeys(("num_gpus", "num_nodes", "rank", "usd_per_hour"), _number),
        **dict.fromkeys(("time_s", "cost_usd"), _INTERVAL),
        "price_as_of": _text,
        "flags": _texts,
    }
)
_PLAN: Mapping[str, _Check] = {
    "estimates": _rows,
    "ranked_count": _number,
    "prices_as_of": _text,
    "experiment": _record({}),
    "recommendation": _record({"rank": _number, "estimate": _ROW}),
    "lock": _record(
        {
            "chosen": _ROW,
            "inputs": _record({"question": _record({}), "configuration": _record({})}),
            "versions": _record({"gpuplanner": _anything, "python": _anything, "tables_sha256": _record({})}),
        }
    ),
}
