"""Fetching: what is tried again, what is not, how long anything may take, and where secrets must not show."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import time
import traceback
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, TypeVar

import httpx
import pytest

from pricing.endpoints import Endpoints, endpoints
from pricing.errors import FeedError, OfflineError
from pricing.http import Http, Limits, NotModified, parse_json
from pricing.redact import redact
from tests.pricing.loopback import Answer, Loopback, Reply, Request, json_reply
from tests.pricing.reading import QUICK, plain_transport

T = TypeVar("T")
KEY = "planted/key+1"


def run(action: Callable[[Http], Coroutine[Any, Any, T]], limits: Limits = QUICK, **options: Any) -> T:
    async def whole() -> T:
        async with Http(limits, **{"transport": plain_transport()} | options) as http:
            return await action(http)

    return asyncio.run(whole())


def get(server: Loopback, limits: Limits = QUICK, **options: Any) -> Any:
    return run(lambda http: http.json(f"{server.url}/x", **options), limits)[0]


def in_turn(*replies: Reply) -> Answer:
    left = list(replies)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


GOOD = json_reply({"good": 1})


@pytest.mark.parametrize(
    "bad",
    [
        Reply(b"", 429),
        Reply(b"", 500),
        Reply(b"", 503, {"Retry-After": "0"}),
        Reply(b'{"good": 1}', fault="broken off", stated=11),
        Reply(b'{"good": 1}', fault="reset in the body"),
        Reply(fault="reset before the answer"),
        Reply(b'{"good": 1}', fault="silent in the body"),
        Reply(b'{"good": 1}', fault="silent before the answer"),
    ],
    ids=lambda reply: reply.fault or str(reply.status),
)
def test_what_may_pass_is_tried_again(server: Loopback, bad: Reply) -> None:
    server.answers["/x"] = in_turn(bad, GOOD)
    assert get(server) == {"good": 1}
    assert server.count("/x") == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_what_will_not_pass_is_not(server: Loopback, status: int) -> None:
    server.answers["/x"] = lambda request: Reply(b"", status)
    with pytest.raises(FeedError, match=str(status)) as raised:
        get(server)
    assert server.count("/x") == 1
    assert raised.value.status == status


def test_retries_end(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"", 503)
    with pytest.raises(FeedError, match=r"/x: answers 503 \(2 tries\)"):
        get(server)
    assert server.count("/x") == 2


def test_retry_after_is_honoured(server: Loopback) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    for header in ("0.3", "0", at):
        server.answers["/x"] = in_turn(Reply(b"", 429, {"Retry-After": header}), GOOD)
        started = time.monotonic()
        assert get(server, QUICK._replace(longest_wait_s=2.0)) == {"good": 1}
        assert time.monotonic() - started < 3
    server.answers["/x"] = in_turn(Reply(b"", 429, {"Retry-After": "1"}), GOOD)
    started = time.monotonic()
    assert get(server, QUICK._replace(longest_wait_s=2.0)) == {"good": 1}
    assert time.monotonic() - started >= 1


def test_a_wait_of_hours_is_an_answer(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"", 429, {"Retry-After": "7200"})
    with pytest.raises(FeedError, match="asks to wait 7200 s"):
        get(server)
    assert server.count("/x") == 1


def test_what_drips_is_given_up(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"[" + b" " * 200 + b"]", fault="dripping")
    with pytest.raises(FeedError, match="sends too slowly"):
        get(server, QUICK._replace(grace_s=0.2, least_bytes_per_s=1e6))


def test_a_body_of_another_size_is_bounded(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b'"' + b"a" * 3_000_000 + b'"')
    with pytest.raises(FeedError, match="larger than 2 MiB"):
        get(server, QUICK._replace(document_bytes=2 << 20))


def test_a_bomb_is_bounded_by_what_it_becomes(server: Loopback) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    server.answers["/x"] = lambda request: Reply(bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(FeedError, match="larger than 2 MiB"):
        get(server, QUICK._replace(document_bytes=2 << 20))


def test_a_body_not_compressed_as_it_says_is_one_sentence(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"plain", headers={"Content-Encoding": "gzip"})
    with pytest.raises(FeedError, match="not compressed as it says"):
        get(server)


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"{", b"[" * 200_000, b"NaN", b"\xff\xfe", b'{"a": 1e', b"Infinity"]
)
def test_what_is_no_json_is_one_sentence(content: bytes) -> None:
    with pytest.raises(FeedError, match="the answer is not JSON"):
        parse_json(content, "a feed")


def test_a_mark_that_holds_is_no_reading(server: Loopback) -> None:
    def answer(request: Request) -> Reply:
        return Reply(b"", 304) if request.headers.get("If-None-Match") == '"1"' else json_reply([], ETag='"1"')

    server.answers["/x"] = answer
    assert run(lambda http: http.json(f"{server.url}/x")) == ([], '"1"')
    with pytest.raises(NotModified):
        get(server, etag='"1"')


# --- redirects ---


def test_redirects_are_followed_on_the_same_host(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"", 302, {"Location": "/y"})
    server.answers["/y"] = lambda request: GOOD
    assert get(server, credentials=True) == {"good": 1}


def test_redirects_end(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"", 302, {"Location": "/x"})
    with pytest.raises(FeedError, match="more than 5 redirects"):
        get(server)


def test_credentials_do_not_go_to_another_host(server: Loopback) -> None:
    seen: list[httpx.Request] = []

    def elsewhere(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(307, headers={"Location": "https://evil.example/collect"})

    transport = httpx.MockTransport(elsewhere)
    with pytest.raises(FeedError, match=r"redirects to evil\.example, which is not followed"):
        run(
            lambda http: http.json("https://good.example/x", {"key": KEY}, credentials=True),
            transport=transport,
            secrets=(KEY,),
        )
    assert [request.url.host for request in seen] == ["good.example"]


def test_without_credentials_another_host_is_followed_but_never_without_encryption() -> None:
    def moved(request: httpx.Request) -> httpx.Response:
        target = {"good.example": "https://mirror.example/x", "open.example": "http://mirror.example/x"}
        where = target.get(request.url.host)
        return httpx.Response(302, headers={"Location": where}) if where else httpx.Response(200, json=5)

    transport = httpx.MockTransport(moved)
    assert run(lambda http: http.json("https://good.example/x"), transport=transport)[0] == 5
    with pytest.raises(FeedError, match="is not followed"):
        run(lambda http: http.json("https://open.example/x"), transport=transport)


# --- no network ---


def failing(error: Exception) -> httpx.MockTransport:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    return httpx.MockTransport(fail)


@pytest.mark.parametrize(
    "cause", [socket.gaierror(-2, "unknown"), OSError(101, "unreachable"), OSError(113, "no route")]
)
def test_no_network_is_said_at_once(cause: OSError) -> None:
    """karpenter-aws#3527: a private network without a way out must not wait for timeouts."""
    error = httpx.ConnectError("failed")
    error.__cause__ = cause
    calls = []

    def fail(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        raise error

    with pytest.raises(OfflineError, match=r"there is no network to nowhere\.example"):
        run(lambda http: http.json("https://nowhere.example/x"), transport=httpx.MockTransport(fail))
    assert len(calls) == 1
    with pytest.raises(OfflineError):
        run(lambda http: http.size("https://nowhere.example/x"), transport=failing(error))


def test_a_closed_port_is_tried_again_and_named() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    with pytest.raises(FeedError, match=r"127\.0\.0\.1/x: cannot be reached \(ConnectError\) \(2 tries\)"):
        run(lambda http: http.json(f"http://127.0.0.1:{port}/x"))


@pytest.mark.parametrize("url", ["ftp://host/x", "nonsense", "http://a\x00b/"])
def test_an_address_that_is_none_is_one_sentence(url: str) -> None:
    with pytest.raises(FeedError) as raised:
        run(lambda http: http.json(url))
    assert "\n" not in str(raised.value)


def test_a_certificate_that_cannot_be_trusted_is_said() -> None:
    error = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    with pytest.raises(FeedError, match="certificate that cannot be trusted"):
        run(lambda http: http.json("https://host.example/x"), transport=failing(error))


# --- streams ---


def collected(server: Loopback, limits: Limits = QUICK) -> tuple[int | None, bytes]:
    async def action(http: Http) -> tuple[int | None, bytes]:
        async with http.stream(f"{server.url}/x") as body:
            return body.total, b"".join([chunk async for chunk in body.chunks])

    return run(action, limits)


def test_a_stream_tells_its_size(server: Loopback) -> None:
    server.answers["/x"] = in_turn(Reply(b"", 503), Reply(b"abc" * 1000))
    assert collected(server) == (3000, b"abc" * 1000)
    server.answers["/x"] = lambda request: Reply(gzip.compress(b"abc"), headers={"Content-Encoding": "gzip"})
    assert collected(server) == (None, b"abc")


@pytest.mark.parametrize("fault", ["broken off", "reset in the body", "silent in the body"])
def test_a_stream_that_breaks_off_may_be_read_again(server: Loopback, fault: str) -> None:
    server.answers["/x"] = lambda request: Reply(b"abc" * 1000, fault=fault)
    with pytest.raises(FeedError) as raised:
        collected(server)
    assert raised.value.again


def test_the_size_is_asked_for_without_the_body(server: Loopback) -> None:
    server.answers["/x"] = lambda request: Reply(b"abc" * 1000)
    assert run(lambda http: http.size(f"{server.url}/x")) == 3000
    assert run(lambda http: http.size(f"{server.url}/none")) is None
    assert run(lambda http: http.size("http://127.0.0.1:1/x")) is None


# --- secrets ---


def test_a_secret_is_in_no_message_log_or_traceback(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    for reply in (Reply(b"", 403), Reply(b"no"), Reply(b"", 503), Reply(fault="reset before the answer")):
        server.answers["/x"] = lambda request, reply=reply: reply  # type: ignore[misc]
        with pytest.raises(FeedError) as raised:
            run(lambda http: http.json(f"{server.url}/x", {"key": KEY}, credentials=True), secrets=(KEY,))
        said.append("".join(traceback.format_exception(raised.value)))
    assert "planted" not in "".join(said)
    assert server.requests[0].query == {"key": KEY}
    assert "key=***" in caplog.text
    assert "planted" not in caplog.text


def test_redaction_knows_how_secrets_are_written() -> None:
    assert redact("a?key=a%2Fb%2B1&x=a/b+1", ["a/b+1", ""]) == "a?key=***&x=***"


def test_the_logger_is_left_as_it_was(server: Loopback) -> None:
    server.answers["/x"] = lambda request: GOOD
    get(server)
    assert logging.getLogger("httpx").filters == []


# --- where feeds are ---


def test_addresses_come_from_the_environment() -> None:
    assert endpoints({}) == Endpoints()
    changed = endpoints(
        {
            "GPUPLANNER_AWS_BULK_URL": "http://127.0.0.1:1/",
            "GPUPLANNER_AWS_SPOT_ADVISOR_URL": "http://127.0.0.1:2/a.json",
            "GPUPLANNER_AWS_SPOT_PRICE_URL": "http://127.0.0.1:3/s.js",
            "GPUPLANNER_GCP_BILLING_URL": "http://127.0.0.1:4",
            "GPUPLANNER_AZURE_RETAIL_URL": "http://127.0.0.1:5/p",
        }
    )
    assert changed[:4] == (
        "http://127.0.0.1:1",
        "http://127.0.0.1:2/a.json",
        "http://127.0.0.1:3/s.js",
        "http://127.0.0.1:4",
    )
    assert changed.azure_retail == "http://127.0.0.1:5/p"
