"""What screens know of the app is what the app has."""

from __future__ import annotations

from planner.tui.app import PlannerApp
from planner.tui.planner import Planner
from planner.tui.settings import Settings
from tests.tui.samples import CannedCore


def test_the_app_is_a_planner() -> None:
    planner: Planner = PlannerApp(CannedCore(), Settings())  # mypy compares the members
    members = {*Planner.__annotations__, *(name for name in vars(Planner) if not name.startswith("_"))}
    assert {name for name in members if not hasattr(planner, name)} == set()
