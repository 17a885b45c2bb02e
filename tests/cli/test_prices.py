"""The prices commands in this process, the refresh against a loopback server."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.cli.progress import ProgressBars
from planner.profiler.this_machine import store_path
from pricing.published import open_catalog
from tests.cli.conftest import Run
from tests.pricing.feeds import AZURE, KEY, SKUS, bulk_path, environment, serve_all
from tests.pricing.loopback import Loopback, Reply, Request, loopback

PART = ("--provider", "azure", "--region", "eastus")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Loopback]:
    with loopback() as running:
        serve_all(running)
        for name, value in environment(running, home).items():
            monkeypatch.setenv(name, value)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield running


# --- list ---


def test_list_shows_the_cheapest_first_with_their_days(run: Run) -> None:
    result = run("prices", "list", "--gpus", "H100:8", "-n", "5", "-o", "json")
    prices = [offer["usd_per_hour"] for offer in result.record["offers"]]
    assert result.code == 0
    assert prices == sorted(prices)
    assert {offer["num_gpus"] for offer in result.record["offers"]} == {8}
    assert result.record["prices_as_of"] == min(offer["price_as_of"] for offer in result.record["offers"])
    assert "are old" in result.err


def test_the_keys_of_a_row_are_as_documented(run: Run) -> None:
    """docs/json.md promises these; more may come, none may go."""
    record = run("prices", "list", "-n", "1", "-o", "json").record
    promised = {"provider", "instance_type", "region", "zone", "purchase", "usd_per_hour", "accelerator", "num_gpus"}
    promised |= {"memory_gib_per_gpu", "vcpus", "memory_gib", "flags", "price_as_of", "price_source"}
    assert promised <= set(record["offers"][0])
    assert promised | {"reason"} <= set(record["quarantined"][0])
    assert record["schema_version"] == 1


@pytest.mark.parametrize(
    ("arguments", "key", "allowed"),
    [
        (("--provider", "gcp"), "provider", {"gcp"}),
        (("--provider", "gcp,azure"), "provider", {"gcp", "azure"}),
        (("--spot",), "purchase", {"spot"}),
        (("--on-demand",), "purchase", {"on_demand"}),
        (("--purchase", "reserved"), "purchase", {"reserved"}),
        (("--region", "eu-west-1"), "region", {"eu-west-1"}),
        (("--num-gpus", "4"), "num_gpus", {4}),
    ],
)
def test_filters(run: Run, arguments: tuple[str, ...], key: str, allowed: set[object]) -> None:
    offers = run("prices", "list", *arguments, "-n", "0", "-o", "json").record["offers"]
    assert {offer[key] for offer in offers} == allowed


def test_memory_and_price_bound_the_rows(run: Run) -> None:
    offers = run("prices", "list", "--min-memory", "80", "--max-price", "10", "-n", "0", "-o", "json").record["offers"]
    assert offers
    assert all(offer["memory_gib_per_gpu"] >= 80 and offer["usd_per_hour"] <= 10 for offer in offers)


def test_sorted_by_the_price_of_one_accelerator(run: Run) -> None:
    """skypilot#3111: the cheapest spot region is not the cheapest on-demand region; each is sorted by itself."""
    for option in ("--spot", "--on-demand"):
        arguments = ("--gpus", "A100", option, "--sort", "usd_per_gpu_hour", "-n", "30", "-o", "json")
        each = [offer["usd_per_gpu_hour"] for offer in run("prices", "list", *arguments).record["offers"]]
        assert each == sorted(each)
    days = [
        offer["price_as_of"] for offer in run("prices", "list", "--sort", "price_as_of", "-o", "json").record["offers"]
    ]
    assert days == sorted(days)


def test_spot_never_shows_an_on_demand_price(run: Run) -> None:
    """skypilot#847."""
    by_price = {}
    for option in ("--spot", "--on-demand"):
        arguments = ("--provider", "gcp", "--gpus", "A100:8", "--region", "us-central1", option, "-o", "json")
        by_price[option] = {offer["usd_per_hour"] for offer in run("prices", "list", *arguments).record["offers"]}
    assert by_price["--spot"].isdisjoint(by_price["--on-demand"])


def test_tables_and_csv(run: Run) -> None:
    table = run("prices", "list", "-n", "3").out.splitlines()
    assert table[0].startswith("provider")
    assert table[-1].startswith("3 of ")
    assert run("prices", "list", "-n", "3", "-o", "markdown").out.startswith("| provider |")
    rows = list(csv.DictReader(io.StringIO(run("prices", "list", "-n", "3", "-o", "csv").out)))
    assert len(rows) == 3
    assert float(rows[0]["usd_per_hour"]) > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to do with prices"),
        (("list", "--provider", "amazom"), "provider"),
        (("list", "--region", "us-esat-1"), "us-east-1"),
        (("list", "--max-price", "-1"), "--max-price"),
        (("list", "--gpus", "H1OO"), "H1OO"),
        (("list", "--spot", "--on-demand"), "not allowed"),
        (("refresh", "--provider", "amazom"), "did you mean"),
        (("refresh", "--region", "nowhere!"), "nowhere!"),
        (("history", "--since", "yesterday"), "--since takes a day"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, server: Loopback, arguments: tuple[str, ...], said: str) -> None:
    result = run("prices", *arguments)
    assert result.code == 2
    assert said in result.err
    assert result.err.count("\n") == 1


# --- refresh ---


def test_a_refresh_is_seen_by_list_status_history_and_estimate(run: Run, server: Loopback) -> None:
    result = run("prices", "refresh", *PART)
    assert result.code == 0, result.err
    assert "ok   azure retail prices eastus: 1 prices" in result.out
    assert "changed" in result.out
    where = ("--provider", "azure", "--region", "eastus", "--gpus", "A100-80GB-PCIe:1", "--on-demand")
    (offer,) = run("prices", "list", *where, "-o", "json").record["offers"]
    assert (offer["usd_per_hour"], offer["flags"]) == (4.0, [])
    status = run("prices", "status", "-o", "json").record
    (reading,) = status["readings"]
    assert (reading["feed"], reading["region"], reading["problem"]) == ("azure retail prices", "eastus", "")
    (change,) = run("prices", "history", "-o", "json").record["changes"]
    assert (change["old_usd_per_hour"], change["new_usd_per_hour"]) == (3.673, 4.0)
    assert run("prices", "history", "--since", "last", "-o", "json").record["changes"] == [change]
    assert run("prices", "history", "A100", "--provider", "aws", "-o", "json").record["changes"] == []
    plan = run(
        *("estimate", "-m", "resnet50", "-e", "1", "--where", "azure", "--region", "eastus"),
        *("--gpus", "A100-80GB-PCIe:1", "--on-demand", "-o", "json"),
    ).record
    assert plan["estimates"][0]["usd_per_hour"] == 4.0


def test_everything_without_set_up_is_read(run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPLANNER_GCP_API_KEY", "")
    config = Path(store_path() or "").parent / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('aws_regions = "us-east-1"')
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(config))
    result = run("prices", "refresh", "-o", "json")
    assert result.code == 0, result.err
    assert "GCP prices need an API key" in result.err
    assert {source["provider"] for source in result.record["sources"]} == {"aws", "azure"}
    assert server.count(bulk_path("us-east-1")) == 1


def test_what_was_asked_for_and_cannot_be_read_is_a_failure(
    run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPUPLANNER_GCP_API_KEY")
    result = run("prices", "refresh", "--provider", "gcp")
    assert result.code == 1
    assert "FAIL gcp: GCP prices need an API key" in result.out


def test_one_failure_is_exit_1_and_the_rest_is_kept(run: Run, server: Loopback) -> None:
    server.answers[SKUS] = lambda request: Reply(b"", 403)
    result = run("prices", "refresh", "--provider", "gcp", "--provider", "azure", "--region", "*us*")
    assert result.code == 1
    assert "FAIL gcp price list" in result.out
    assert "ok   13 sources of azure (azure retail prices australiacentral ...): 13 prices" in result.out
    assert KEY not in result.out + result.err
    assert "403" in run("prices", "status").out


def test_more_than_a_gigabyte_asks(run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    small = server.answers[bulk_path("us-east-1")]

    def answer(request: Request) -> Reply:
        return Reply(b"", stated=1_500_000_000) if request.method == "HEAD" else small(request)

    server.answers[bulk_path("us-east-1")] = answer
    part = ("--provider", "aws", "--region", "us-east-1")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    result = run("prices", "refresh", *part)
    assert result.code == 2
    assert "large files to read: 1.4 GiB" in result.err
    assert "prices refresh -y" in result.err
    assert server.count(bulk_path("us-east-1")) == 0
    assert run("prices", "refresh", *part, "-y").code == 0
    for typed, code in (("n\n", 2), ("y\n", 0)):
        terminal = io.StringIO(typed)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", terminal)
        assert run("prices", "refresh", *part).code == code


def test_a_refresh_tells_its_changes_in_every_format(run: Run, server: Loopback) -> None:
    assert run("prices", "refresh", *PART, "-o", "csv").out.startswith("at,provider")
    server.answers[AZURE] = lambda request: Reply(b"{}")
    failed = run("prices", "refresh", *PART, "-o", "json")
    assert failed.code == 1
    assert failed.record["complete"] is False
    serve_all(server)
    assert "0 prices changed" in run("prices", "refresh", *PART, "-o", "markdown").out


def test_estimate_refreshes_first_and_goes_on_where_that_fails(run: Run, server: Loopback) -> None:
    server.answers[SKUS] = lambda request: Reply(b"", 500, {"Retry-After": "7200"})
    result = run("estimate", "-m", "resnet50", "-e", "1", "--refresh", "-o", "json")
    assert result.code == 0
    assert "gcp price list: 127.0.0.1" in result.err
    assert "prices refreshed:" in result.err
    assert result.record["estimates"]


def test_offline_and_refresh_exclude_each_other(run: Run) -> None:
    result = run("estimate", "-m", "resnet50", "--offline", "--refresh")
    assert result.code == 2


# --- status, history, damage ---


def test_before_any_refresh(run: Run) -> None:
    status = run("prices", "status")
    assert status.code == 0
    assert "nothing was refreshed on this machine yet" in status.out
    assert "set apart, never ranked" in status.out
    assert run("prices", "history", "-o", "json").record["changes"] == []
    assert run("prices", "history").out.endswith("0 of 0 changes of prices\n")
    assert run("prices", "status", "-o", "csv").code == 0
    assert run("prices", "status", "-o", "markdown").out.count("| ---") >= 1


def test_a_damaged_store_is_said_and_the_packaged_prices_answer(run: Run, server: Loopback) -> None:
    run("prices", "refresh", *PART)
    path = store_path()
    assert path is not None
    path.write_bytes(b"no database" * 1000)
    result = run("estimate", "-m", "resnet50", "-e", "1", "-o", "json")
    assert result.code == 0
    assert any("was damaged" in warning for warning in result.record["warnings"])
    path.write_bytes(b"no database" * 1000)
    assert "was damaged" in run("prices", "list", "-n", "1").err
    path.write_bytes(b"no database" * 1000)
    assert "was damaged" in run("prices", "status").err


def test_without_a_cache_directory_there_is_no_refresh(
    run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.cli.prices_refresh.store_path", lambda: None)
    assert "no cache directory" in run("prices", "refresh", *PART).err
    monkeypatch.setattr("planner.cli.prices_history.store_path", lambda: None)
    assert run("prices", "history").code == 0


# --- bars ---


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_are_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ticks = iter(range(1000))
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        bars = ProgressBars(lambda: float(next(ticks)))
        bars.update("one", 5_000_000, 10_000_000, "bytes")
        bars.update("two", 1, None, "pages")
        bars.update("one", 10_000_000, 10_000_000, "bytes")
        bars.close()
        assert ("one" in stream.getvalue()) is shown
    drawn = Terminal()
    monkeypatch.setattr(sys, "stderr", drawn)
    bars = ProgressBars(lambda: float(next(ticks)))
    for number in range(30):
        bars.update(f"source {number}", 1, 4, "pages")
    assert max(len(line) for line in drawn.getvalue().splitlines()) < 80
    assert "source 29" not in drawn.getvalue()


def test_the_packaged_prices_are_what_is_listed_without_a_store(run: Run) -> None:
    started = time.monotonic()
    offers = run("prices", "list", "-n", "0", "-o", "json").record["offers"]
    assert len(offers) == len(open_catalog().offers())
    assert time.monotonic() - started < 20
