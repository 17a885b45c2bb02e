"""What the app is to its screens: the question, its answer, and what can be asked of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rich.text import Text

from planner.tui.host import Host

if TYPE_CHECKING:
    from planner.plan.buy_or_rent import Terms
    from planner.plan.plan import Estimate
    from planner.throughput.levers import Lever
    from planner.tui.arrange import Order
    from planner.tui.asked import Values
    from planner.tui.changes import Changes
    from planner.tui.profile_control import ProfileControl
    from planner.tui.refresh_control import RefreshControl
    from planner.tui.sweep_form import SweepForm
    from planner.tui.theme import Palette


class Planner(Host, Protocol):
    """``values`` are the form's, ``ranked`` the last answer, ``chosen`` the row under the plan's cursor.

    ``cursor_moved`` says that a person put it there, ``problem`` why the form has no answer, and of which fields.
    ``sweep_form``, ``buying`` and ``last_answers`` are kept here for tabs that are closed meanwhile.
    """

    values: Values
    order: Order
    chosen: Estimate | None
    cursor_moved: bool
    problem: str
    problem_fields: Sequence[str]
    problem_in_form: bool
    levers: Sequence[Lever]
    changes: Changes
    sweep_form: SweepForm | None
    buying: Terms | None
    last_answers: dict[str, tuple[Values, Any, Any]]
    refresh_control: RefreshControl
    profile_control: ProfileControl

    @property
    def palette(self) -> Palette: ...

    @property
    def outdated(self) -> str: ...

    @property
    def answer_is_old(self) -> bool: ...

    @property
    def tried(self) -> str: ...

    def action_go(self, mode: str) -> None: ...

    def ask(self, values: Values) -> None: ...

    def change_question(self, values: Values, *, same_row: bool = False) -> None: ...

    def take_back(self) -> None: ...

    def remember(self) -> None: ...

    def reorder(self, order: Order) -> None: ...

    def step(self, by: int) -> None: ...

    def row_changed(self) -> None: ...

    def find_levers(self, row: Estimate) -> None: ...

    def try_lever(self, lever: Lever) -> None: ...

    def find_largest_batch(self, row: Estimate) -> None: ...

    def price_state(self) -> tuple[Text, Text]: ...
