"""Refreshing the prices: progress by provider, what failed, stopping, and asking before much is read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import cast

import pytest
from textual.pilot import Pilot

from planner.errors import DataError
from planner.tui.app import PlannerApp
from planner.tui.core import LiveCore, Prices
from planner.tui.refresh_control import RefreshControl
from planner.tui.refreshing import LiveRefreshing, Refreshing, RefreshState
from planner.tui.theme import DARK
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.refresh_pane import failures_of, refresh_text
from pricing.errors import PricingError
from pricing.live import LiveRefresh
from pricing.providers.base import Progress, Report
from pricing.refresh import Summary
from pricing.store import Reading
from tests.tui.conftest import Open, settled
from tests.tui.refreshes import REFUSED, SOURCES, SampleRefreshing, outcomes
from tests.tui.samples import CannedCore


class RefreshingCore(CannedCore):
    """Refreshes as its ``sample`` does."""

    def __init__(self, sample: SampleRefreshing) -> None:
        super().__init__()
        self.sample = sample

    def refreshing(self, providers: Sequence[str]) -> Refreshing:
        self.refreshes.append(tuple(providers))
        return self.sample


def pane(app: PlannerApp, name: str) -> str:
    return str(app.screen.query_one(f"#{name}", FactsPane).query_one("Static").render())


async def refreshed(app: PlannerApp, pilot: Pilot[None]) -> None:
    for _ in range(100):
        if not app.refresh_control.busy:
            break
        await pilot.pause(0.05)
    await pilot.pause(0.3)
    await settled(app, pilot)


async def test_progress_is_shown_by_provider_while_it_runs(open_app: Open) -> None:
    go = Event()
    core = RefreshingCore(SampleRefreshing(outcomes(), go))
    async with open_app(core) as (app, pilot):
        await pilot.press("4")
        await settled_screen(pilot)
        await pilot.press("r")
        await pilot.pause(0.5)
        shown = pane(app, "refresh")
        assert "AWS price list us-east-1: 120 MB" in shown
        assert "Azure retail prices eastus: page 34" in shown
        assert "left" in shown
        assert "live" in app.price_state()[0].plain
        go.set()
        await refreshed(app, pilot)
        assert "prices changed: 1, new: 0" in pane(app, "refresh")
        assert core.reopened == 1
        assert len(core.asked) == 2  # ranked anew with the new prices


async def settled_screen(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


class FailedBefore(CannedCore):
    """Its store says that a feed could not be read, in a session before this one."""

    def prices(self) -> Prices:
        failed = Reading("AWS price list", "aws", "eu-west-1", "2026-11-29T09:00:00", "", "timed out", 0, "")
        return super().prices()._replace(readings=(failed,))


async def test_failures_of_an_earlier_session_are_said_to_be_that(open_app: Open) -> None:
    async with open_app(FailedBefore()) as (app, pilot):
        assert "offline" in app.price_state()[0].plain  # as long as nobody has asked how the last refresh went
        await pilot.press("4")
        await settled(app, pilot)
        assert "✗ last refresh failed" in app.price_state()[0].plain
        assert app.screen.query_one("#failures").border_title == "1 failure of an earlier refresh"
        assert "timed out" in pane(app, "failures")


async def test_a_failure_stays_in_its_pane_and_is_tried_again(open_app: Open) -> None:
    core = RefreshingCore(SampleRefreshing(outcomes(REFUSED)))
    async with open_app(core) as (app, pilot):
        await pilot.press("4", "r")
        await refreshed(app, pilot)
        assert REFUSED in pane(app, "failures")
        assert "refresh failed" in app.price_state()[0].plain
        await pilot.press("1", "4")
        await settled(app, pilot)
        assert REFUSED in pane(app, "failures")
        core.sample = SampleRefreshing(outcomes())
        await pilot.press("R")
        await refreshed(app, pilot)
        assert core.refreshes == [(), ("gcp",)]
        assert "live" in app.price_state()[0].plain


async def test_a_narrow_screen_gives_its_place_back_to_the_offer_once_the_refresh_was_read(open_app: Open) -> None:
    async with open_app(RefreshingCore(SampleRefreshing(outcomes(REFUSED))), size=(80, 24)) as (app, pilot):
        await pilot.press("4", "r")
        await refreshed(app, pilot)
        assert not app.screen.query_one("#offer").display
        assert app.screen.query_one("#refresh").border_subtitle == "r refresh · Esc closes"
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.query_one("#offer").display
        assert app.screen is not app.plan_screen
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.plan_screen


async def test_escape_stops_it_and_what_was_read_is_kept(open_app: Open) -> None:
    core = RefreshingCore(SampleRefreshing(outcomes(), Event()))
    async with open_app(core) as (app, pilot):
        await pilot.press("4", "r")
        await pilot.pause(0.3)
        await pilot.press("escape")
        await refreshed(app, pilot)
        assert core.sample.stopped
        assert "stopped; what was read is kept" in pane(app, "refresh")
        assert core.reopened == 1


async def test_much_is_read_only_where_it_is_said_twice(open_app: Open) -> None:
    core = RefreshingCore(SampleRefreshing(outcomes(), size=2_500_000_000))
    async with open_app(core) as (app, pilot):
        await pilot.press("4", "r")
        await refreshed(app, pilot)
        assert "2.3 GiB would be read" in pane(app, "refresh")
        await pilot.press("escape")
        assert "would be read" not in pane(app, "refresh")
        await pilot.press("r")
        await refreshed(app, pilot)
        await pilot.press("r")
        await refreshed(app, pilot)
        assert "prices changed" in pane(app, "refresh")


async def test_a_store_that_cannot_be_used_is_said(open_app: Open) -> None:
    core = RefreshingCore(SampleRefreshing(DataError("the store cannot be written")))
    async with open_app(core) as (app, pilot):
        await pilot.press("4", "r")
        await refreshed(app, pilot)
        assert "the store cannot be written" in pane(app, "refresh")


def test_the_time_left_follows_the_pace() -> None:
    times = iter([0.0, 10.0, 10.0])
    state = RefreshState({"a": "aws", "b": "aws"}, lambda: next(times))
    state.heard(Progress("a", 1, 1, "pages"))
    assert state.share == 0.5
    assert state.left_s == 10.0
    (provider,) = state.providers()
    assert (provider.finished, provider.sources, provider.doing) == (1, 2, "")


def test_nothing_is_said_of_the_time_left_at_the_start() -> None:
    state = RefreshState(SOURCES)
    assert state.left_s is None
    state.ended(Summary(outcomes(REFUSED), ()))
    assert [one.provider for one in state.providers()] == ["aws", "azure", "gcp"]
    assert state.share == 1.0


class SlowLive:
    """What LiveRefreshing asks of a LiveRefresh; its run lasts until it is cancelled."""

    sources: Mapping[str, str] = {"AWS spot advisor": "aws"}

    def __init__(self, error: PricingError | None = None) -> None:
        self._error = error
        self.began = Event()

    async def large_bytes(self) -> int:
        if self._error is not None:
            raise self._error
        return 1234

    async def run(self, report: Report) -> Summary:
        if self._error is not None:
            raise self._error
        report(Progress("AWS spot advisor", 1, None, "pages"))
        self.began.set()
        await asyncio.sleep(30)
        raise AssertionError("nobody stopped it")


def test_a_real_refresh_is_stopped_from_another_thread() -> None:
    live = SlowLive()
    refreshing = LiveRefreshing(cast(LiveRefresh, live))
    state = RefreshState(refreshing.sources)
    ended: list[type[BaseException]] = []

    def run() -> None:
        try:
            refreshing.run(state.heard)
        except BaseException as error:
            ended.append(type(error))

    worker = Thread(target=run)
    worker.start()
    assert live.began.wait(10)
    refreshing.stop()
    worker.join(10)
    assert ended == [asyncio.CancelledError]
    assert state.share == 0.5
    refreshing.stop()  # it has ended: there is nothing to stop


def test_a_refresh_that_cannot_be_written_is_an_error_of_the_data() -> None:
    refreshing = LiveRefreshing(cast(LiveRefresh, SlowLive(PricingError("the store is full"))))
    assert refreshing.large_bytes() == 0
    with pytest.raises(DataError, match="the store is full"):
        refreshing.run(lambda progress: None)
    assert LiveRefreshing(cast(LiveRefresh, SlowLive())).large_bytes() == 1234


def test_the_core_makes_ready_what_needs_no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    core = LiveCore()
    refreshing = core.refreshing(("azure",))
    assert set(refreshing.sources.values()) == {"azure"}
    with pytest.raises(DataError, match="nowhere"):
        core.refreshing(("nowhere",))
    core.prices_changed()
    prices = core.prices()
    assert not prices.readings
    assert not prices.changes


def test_before_a_refresh_the_last_readings_are_told() -> None:
    control = RefreshControl(cast(PlannerApp, None))
    assert "Never refreshed" in refresh_text(control, (), DARK, 39).plain
    readings = [
        Reading("AWS price list", "aws", "us-east-1", "2026-11-28T09:00:00", "2026-11-28T09:00:00", "", 12, ""),
        Reading("AWS price list", "aws", "eu-west-1", "2026-11-29T09:00:00", "", "timed out", 0, ""),
        Reading("Azure retail prices", "azure", "eastus", "2026-11-28T09:00:00", "2026-11-27T09:00:00", "", 4, ""),
    ]
    lines = [line.split() for line in refresh_text(control, readings, DARK, 39).plain.split("\n")]
    assert lines == [["aws", "read", "28", "Nov,", "1", "of", "2", "failed"], ["azure", "read", "27", "Nov"]]
    assert failures_of(None, readings) == [("AWS price list eu-west-1", "timed out")]
