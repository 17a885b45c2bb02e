"""A lock: what a plan answered and everything it rested on, so that it can be compared with a later one.

A lock is the plan's own JSON (so a later ``estimate -o json`` can stand in for one) with, under ``lock``, every
input, the exact prices, and the versions of the program and of its tables.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import planner
import pricing
from planner import __version__
from planner.experiment.resolve import ExperimentRequest
from planner.plan.config import Config
from planner.plan.planning import Answer
from planner.plan.question import Question
from pricing.offer import Offer

LOCK_VERSION = 1


def lock_record(
    plan: Mapping[str, Any],
    chosen: Mapping[str, Any] | None,
    request: ExperimentRequest,
    question: Question,
    config: Config,
    prices: Iterable[Offer],
) -> dict[str, Any]:
    """The lock of ``plan`` (its JSON record), in which the row ``chosen`` was taken; what has no rank is left out."""
    return {
        **{name: value for name, value in plan.items() if name != "unranked"},
        "lock": {
            "lock_version": LOCK_VERSION,
            "chosen": None if chosen is None else dict(chosen),
            "inputs": {
                "experiment": _plain(request),
                "question": _plain(question),
                "configuration": _plain(config),
            },
            "prices": [_price(offer) for offer in prices],
            "versions": versions(),
        },
    }


def prices_of(answered: Answer, plan: Mapping[str, Any]) -> list[Offer]:
    """The offers behind the plan's rows, each with its price as it was published."""
    shown = {_key(row) for row in plan["estimates"]}
    offers = (row.offer for row in answered.ranking.rows if row.offer is not None)
    return [offer for offer in offers if _key(offer._asdict()) in shown]


def versions() -> dict[str, Any]:
    """The program, the interpreter, and a digest of every shipped table."""
    folders = [Path(planner.__path__[0]) / "data", Path(pricing.__path__[0]) / "data"]
    tables = {
        f"{folder.parent.name}/data/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_file()
    }
    return {"gpuplanner": __version__, "python": platform.python_version(), "tables_sha256": tables}


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("provider", "instance_type", "region", "zone", "purchase"))


def _price(offer: Offer) -> dict[str, Any]:
    return {
        name: getattr(offer, name)
        for name in (
            "provider",
            "instance_type",
            "region",
            "zone",
            "purchase",
            "price",
            "price_as_of",
            "price_source",
        )
    }


def _plain(value: Any) -> Any:
    """Records, tuples and dates as JSON has them."""
    if hasattr(value, "_asdict"):
        return {key: _plain(inner) for key, inner in value._asdict().items()}
    if isinstance(value, tuple | list | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value
