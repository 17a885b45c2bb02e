"""What the panes tell the screens, and what the core, in its worker threads, tells the app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from planner.plan.plan import Estimate
from planner.tui.asked import Values

if TYPE_CHECKING:
    from planner.throughput.levers import Lever
    from planner.tui.core import Ranked


@dataclass
class FormChanged(Message):
    """A field of the form was changed by a person."""

    values: Values


@dataclass
class RowChosen(Message):
    """The table's cursor stands on this row; None where it has no rows."""

    estimate: Estimate | None


@dataclass
class SortAsked(Message):
    """A click on the header of a column."""

    sort: str


@dataclass
class Answered(Message):
    """The core has ranked the question."""

    ranked: Ranked


@dataclass
class Completed(Message):
    """The core has written out the rows that were still missing."""

    ranked: Ranked


@dataclass
class Unanswerable(Message):
    """The question cannot be answered as it stands.

    ``faults`` are sentences by the form's field at fault (None: no one field), ``in_form`` says whether it can be
    mended there at all.
    """

    faults: Mapping[str | None, str]
    in_form: bool


@dataclass
class LeversFound(Message):
    """What would change the row, in the answer of this number."""

    number: int
    row: Estimate
    levers: Sequence[Lever]


@dataclass
class BatchFound(Message):
    """The largest batch per GPU that fits a row's machine; 0 or None where there is none, or none is known."""

    row: Estimate
    largest: int | None
