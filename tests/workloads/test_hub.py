"""The hub, played by a transport: fetched once, only by a name, and what it refuses is told."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from planner.errors import InputError, PlannerError
from planner.workloads.catalog import load_workload
from planner.workloads.hub import fetched_config

GPT2 = (Path(__file__).parent / "configs" / "gpt2.json").read_bytes()


def hub(status: int = 200, content: bytes = GPT2) -> tuple[httpx.MockTransport, list[str]]:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(status, content=content)

    return httpx.MockTransport(answer), asked


def test_a_configuration_is_fetched_once(tmp_path: Path) -> None:
    transport, asked = hub()
    folder = fetched_config("openai-community/gpt2", cache=tmp_path, transport=transport)
    assert fetched_config("openai-community/gpt2", cache=tmp_path, transport=transport) == folder
    assert asked == ["https://huggingface.co/openai-community/gpt2/resolve/main/config.json"]
    assert load_workload(str(folder)).parameters == 124_439_808


@pytest.mark.parametrize("name", ["gpt2", "../secret/x", "a/../b", "a/b/c", "a b/c", "", "http://x/y", "a/b\0"])
def test_only_names_are_asked_for(tmp_path: Path, name: str) -> None:
    transport, asked = hub()
    with pytest.raises(InputError, match="OWNER/NAME"):
        fetched_config(name, cache=tmp_path, transport=transport)
    assert not asked


@pytest.mark.parametrize(
    ("status", "content", "kind", "sentence"),
    [
        (401, b"", InputError, "does not show"),
        (404, b"", InputError, "has no config.json"),
        (500, b"", PlannerError, "cannot be read"),
        (200, b"<html>", InputError, "is not JSON"),
        (200, b"\xff", InputError, "not UTF-8"),
        (200, b" " * (5 << 20), InputError, "more than 4,194,304 bytes"),
    ],
)
def test_what_the_hub_refuses_is_told_and_not_kept(
    tmp_path: Path, status: int, content: bytes, kind: type[PlannerError], sentence: str
) -> None:
    transport, _ = hub(status, content)
    with pytest.raises(kind, match=sentence):
        fetched_config("owner/name", cache=tmp_path, transport=transport)
    assert not list(tmp_path.rglob("config.json"))


def test_no_network(tmp_path: Path) -> None:
    def unreachable(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route to host", request=request)

    with pytest.raises(PlannerError, match="cannot be read: no route to host"):
        fetched_config("owner/name", cache=tmp_path, transport=httpx.MockTransport(unreachable))
