"""The refresh as the app runs it, over the real sources, against a server that speaks the providers' formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

from planner.profiler.this_machine import store_path
from planner.tui.app import PlannerApp
from planner.tui.core import LiveCore, Prices, seen_by_refreshes
from planner.tui.refreshing import Refreshing
from planner.tui.settings import Settings
from planner.tui.widgets.offers_table import OffersTable
from tests.pricing.feeds import KEY, SKUS, bulk_path, environment, serve_all
from tests.pricing.loopback import Loopback, Reply, Request, json_reply, loopback
from tests.tui.conftest import Open, settled, shown
from tests.tui.samples import NOW, CannedCore
from tests.tui.test_refresh import pane, refreshed

IN_AZURE = {
    "model": "resnet50", "epochs": "1", "where": "azure", "region": "eastus", "gpus": "A100-80GB-PCIe:1",
    "buy": "on-demand",
}  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Loopback]:
    """All feeds; of AWS's regions, the configuration asks for one."""
    config = home / "config.toml"
    config.write_text('aws_regions = "us-east-1"', encoding="utf-8")
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(config))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with loopback() as running:
        serve_all(running)
        for name, value in environment(running, home).items():
            monkeypatch.setenv(name, value)
        yield running


class ReadingCore(CannedCore):
    """Refreshes AWS and Google Cloud for real; the offers that it shows are samples, which no snapshot changes."""

    def refreshing(self, providers: Sequence[str]) -> Refreshing:
        self.refreshes.append(tuple(providers))
        return LiveCore(lambda: NOW).refreshing(providers or ("aws", "gcp"))

    def prices(self) -> Prices:
        readings, changes = seen_by_refreshes(store_path())
        return super().prices()._replace(readings=readings, changes=changes)


def held(server: Loopback, page: str) -> Event:
    """Google Cloud's answer for this page does not come before the event is set."""
    go, answer = Event(), server.answers[SKUS]

    def wait(request: Request) -> Reply:
        if request.query.get("pageToken") == page:
            go.wait(20)
        return answer(request)

    server.answers[SKUS] = wait
    return go


def refused(request: Request) -> Reply:
    error = {"code": 403, "message": f"the key {KEY} lacks cloudbilling.services.list", "status": "PERMISSION_DENIED"}
    return json_reply({"error": error})._replace(status=403)


async def until(pilot: Pilot[None], app: PlannerApp, words: str) -> None:
    for _ in range(400):
        if app.screen.query("#refresh Static") and words in pane(app, "refresh"):
            return
        await pilot.pause(0.05)
    raise AssertionError(f"{words!r} never came: {pane(app, 'refresh')}")


async def test_refreshed_prices_are_ranked_shown_and_remembered(open_app: Open, server: Loopback) -> None:
    async with open_app(LiveCore(lambda: NOW), Settings(IN_AZURE)) as (app, pilot):
        assert app.ranked is not None
        assert app.ranked.plan.estimates[0].usd_per_hour == pytest.approx(3.673)
        await pilot.press("4", "r")
        await refreshed(app, pilot)
        state = app.refresh_control.state
        assert state is not None
        assert state.failures == []
        assert server.count(bulk_path("us-east-1")) == 1
        assert [(one.provider, one.finished == one.sources) for one in state.providers()] == [
            ("aws", True), ("azure", True), ("gcp", True),
        ]  # fmt: skip
        assert app.ranked.plan.estimates[0].usd_per_hour == 4.0
        assert app.ranked.plan.prices_as_of == "2026-11-30"
        assert "● live  prices from 30 Nov, today" in shown(app)
        await pilot.press("slash", *"a100_v4", "space", *"eastus", "space", "o", "n", "underscore", "d", "enter")
        await settled(app, pilot)
        line = app.screen.query_one(OffersTable).chosen
        assert line is not None
        assert (line.offer.price, line.days) == ("4", 0)
        assert "2 prices since 30 Nov" in shown(app)


async def test_each_provider_says_how_far_it_is(open_app: Open, server: Loopback) -> None:
    go = held(server, "3")
    async with open_app(ReadingCore()) as (app, pilot):
        await pilot.press("4", "r")
        await until(pilot, app, "page 3")
        await until(pilot, app, "✓ aws")
        assert "▸ gcp" in pane(app, "refresh")
        assert "refreshing 1 of 2" in shown(app)
        go.set()
        await refreshed(app, pilot)
        assert "✓ gcp" in pane(app, "refresh")
        assert not app.screen.query_one("#failures").display


async def test_one_provider_refuses_and_the_others_count(open_app: Open, server: Loopback) -> None:
    answer = server.answers[SKUS]
    server.answers[SKUS] = refused
    core = ReadingCore()
    async with open_app(core) as (app, pilot):
        await pilot.press("4", "r")
        await refreshed(app, pilot)
        assert "✓ aws" in pane(app, "refresh")
        assert "✗ gcp" in pane(app, "refresh")
        failures = pane(app, "failures")
        assert "403" in failures
        assert "What was known stays in use." in failures
        assert KEY not in failures
        assert "✗ refresh failed" in shown(app)
        server.answers[SKUS] = answer
        await pilot.press("R")
        await refreshed(app, pilot)
        assert core.refreshes == [(), ("gcp",)]
        assert server.count(bulk_path("us-east-1")) == 1
        assert "● live" in shown(app)


async def test_stopped_half_way_it_keeps_what_it_has_read(open_app: Open, server: Loopback) -> None:
    go = held(server, "3")
    async with open_app(ReadingCore()) as (app, pilot):
        await pilot.press("4", "r")
        await until(pilot, app, "page 3")
        await until(pilot, app, "✓ aws")
        await pilot.press("escape")
        go.set()
        await refreshed(app, pilot)
        assert "stopped; what was read is kept" in pane(app, "refresh")
        readings, _ = seen_by_refreshes(store_path())
        assert {reading.provider for reading in readings if not reading.problem} == {"aws"}


Compare = Callable[..., bool]


@pytest.mark.parametrize("size", [(130, 36), (80, 24)], ids=["wide", "narrow"])
@pytest.mark.parametrize("state", ["progress", "success", "failure"])
def test_pictures(snap_compare: Compare, tmp_path: Path, server: Loopback, size: tuple[int, int], state: str) -> None:
    go = held(server, "3") if state == "progress" else Event()
    if state == "failure":
        server.answers[SKUS] = refused

    async def refresh(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        app.refresh_control.clock = lambda: 0.0
        await settled(app, pilot)
        await pilot.press("4", "r")
        if state == "progress":
            await until(pilot, app, "page 3")
            await until(pilot, app, "✓ aws")
        else:
            await refreshed(app, pilot)

    try:
        app = PlannerApp(ReadingCore(), Settings(), tmp_path)
        assert snap_compare(app, terminal_size=size, run_before=refresh)
    finally:
        go.set()
