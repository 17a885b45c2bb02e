"""What the panes tell the screens."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from planner.plan.plan import Estimate
from planner.tui.asked import Values


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
