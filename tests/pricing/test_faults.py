"""Every fault at every stage: the last good prices stay, the report is clear, and nothing hangs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pricing.offer import Offer
from pricing.providers.base import Known, Source, name_of
from pricing.sanity import PURCHASES
from pricing.store import open_store
from tests.pricing.feeds import ADVISOR, AZURE, KEY, SKUS, SPOT, TPUS, bulk_path, serve_all, sources
from tests.pricing.loopback import Answer, Loopback, Reply, Request, loopback
from tests.pricing.reading import QUICK, laid_over, refresh

BULK = bulk_path("us-east-1")

# Stage -> which source it belongs to, the path, and the request of that path that is struck (by number).
STAGES = {
    "AWS price file": (2, BULK, 0),
    "AWS spot advisor": (0, ADVISOR, 0),
    "AWS spot prices": (1, SPOT, 0),
    "Azure, first page": (3, AZURE, 0),
    "Azure, last page": (3, AZURE, 1),
    "GCP, first page": (4, SKUS, 0),
    "GCP, fifth page": (4, SKUS, 4),
    "GCP, older TPUs": (4, TPUS, 0),
}
FAULTS = {
    "server error": Reply(b"", 500),
    "asks to wait for hours": Reply(b"", 429, {"Retry-After": "7200"}),
    "forbidden": Reply(b"", 403),
    "portal instead": Reply(b"<html>please sign in</html>\n" * 40),
    "nothing": Reply(b""),
    "broken off": Reply(b'{"Items": [], "skus": []}' * 10, fault="broken off"),
    "reset": Reply(fault="reset before the answer"),
    "silent": Reply(b"{}" * 100, fault="silent in the body"),
    "not compressed as it says": Reply(b"plain", headers={"Content-Encoding": "gzip"}),
}
IMPATIENT = QUICK._replace(silence_s=0.15, tries=2)


@pytest.fixture(scope="module")
def whole_server() -> Iterator[Loopback]:
    with loopback() as server:
        server.silence_s = 1.0
        yield server


@pytest.fixture(scope="module")
def good_store(whole_server: Loopback, known: Known, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "prices.sqlite"
    serve_all(whole_server)
    assert refresh(path, *sources(whole_server, known)).is_complete
    return path


def struck(usual: Answer, number: int, fault: Reply) -> Answer:
    """The usual answers up to the request ``number``, from then on the fault."""
    seen = [0]

    def answer(request: Request) -> Reply:
        seen[0] += 1
        return usual(request) if seen[0] <= number else fault

    return answer


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_nothing_but_news(
    stage: str, fault: str, whole_server: Loopback, good_store: Path, known: Known, tmp_path: Path
) -> None:
    number, path, request = STAGES[stage]
    store = tmp_path / "prices.sqlite"
    shutil.copyfile(good_store, store)
    before = laid_over(store).offers(PURCHASES)
    serve_all(whole_server)
    whole_server.answers[path] = struck(whole_server.answers[path], request, FAULTS[fault])
    source = sources(whole_server, known)[number]
    started = time.monotonic()
    summary = refresh(store, source, secrets=(KEY,), limits=IMPATIENT)
    assert time.monotonic() - started < 8
    _clearly_failed(summary.outcomes[0].problem, source, store)
    assert laid_over(store).offers(PURCHASES) == before


def _clearly_failed(problem: str, source: Source, store: Path) -> None:
    assert 10 < len(problem) < 200
    assert "\n" not in problem
    assert "Error:" not in problem
    assert KEY not in problem
    with open_store(store) as opened:
        noted = [reading for reading in opened.readings() if reading.problem]
    assert [(reading.feed, reading.region) for reading in noted] == [(source.feed, source.region or "")]
    assert noted[0].problem == problem
    assert name_of(source)


def test_a_store_that_cannot_be_written_is_one_sentence(
    whole_server: Loopback, good_store: Path, known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    from pricing.store import Store

    def full(self: Store, *arguments: object) -> object:
        raise sqlite3.OperationalError("database or disk is full")

    store = tmp_path / "prices.sqlite"
    shutil.copyfile(good_store, store)
    before: list[Offer] = laid_over(store).offers()
    serve_all(whole_server)
    monkeypatch.setattr(Store, "apply", full)
    monkeypatch.setattr(Store, "note_failure", full)
    (outcome,) = refresh(store, sources(whole_server, known)[2]).outcomes
    assert outcome.problem.startswith("the store of prices cannot be written: database or disk is full; and")
    assert laid_over(store).offers() == before
