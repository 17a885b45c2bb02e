"""A server on this machine that speaks the providers' formats, and breaks in every way a network can."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes


class Reply(NamedTuple):
    """What the server answers. ``stated`` is a Content-Length other than the body's; ``fault`` breaks the sending."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    stated: int | None = None
    fault: str = ""
    stream: Iterable[bytes] | None = None


Answer = Callable[[Request], Reply]


def json_reply(document: object, **headers: str) -> Reply:
    return Reply(json.dumps(document).encode(), headers={"Content-Type": "application/json", **headers})


class Loopback:
    """``answers`` by path; every request is kept in ``requests``. Unknown paths answer 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[Request] = []
        self.silence_s = 3.0
        self.url = ""

    def count(self, path: str) -> int:
        return sum(request.path == path and request.method != "HEAD" for request in self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    loopback: Loopback

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Nothing: the tests read ``requests``."""

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            self.command, parts.path, dict(parse_qsl(parts.query)), dict(self.headers), self.rfile.read(length)
        )
        self.loopback.requests.append(request)
        answer = self.loopback.answers.get(parts.path)
        reply = Reply(b"not here", 404) if answer is None else answer(request)
        try:
            self._send(reply)
        except OSError:
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        if reply.fault == "silent before the answer":
            time.sleep(self.loopback.silence_s)
        if reply.fault == "reset before the answer":
            self._reset()
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        length = reply.stated if reply.stated is not None else len(reply.body)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command == "HEAD":
            return
        half = reply.body[: len(reply.body) // 2]
        match reply.fault:
            case "silent in the body":
                self._write(half)
                time.sleep(self.loopback.silence_s)
                self.close_connection = True
            case "broken off":
                self._write(half)
                self.close_connection = True
            case "reset in the body":
                self._write(half)
                self._reset()
            case "dripping":
                for byte in reply.body:
                    self._write(bytes([byte]))
                    time.sleep(0.02)
            case _:
                for chunk in reply.stream or [reply.body]:
                    self._write(chunk)

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)
        self.wfile.flush()

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no news."""


@contextmanager
def loopback() -> Iterator[Loopback]:
    state = Loopback()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"loopback": state}))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
