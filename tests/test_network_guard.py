"""The guard itself: it stops a socket beyond loopback and lets loopback through."""

from __future__ import annotations

import socket

import pytest

from tests.conftest import OutsideConnectionError


def test_outside_is_refused() -> None:
    with socket.socket() as client, pytest.raises(OutsideConnectionError):
        client.connect(("192.0.2.1", 80))
    with pytest.raises(OutsideConnectionError):
        socket.getaddrinfo("example.com", 80)
    with socket.socket(type=socket.SOCK_DGRAM) as client, pytest.raises(OutsideConnectionError):
        client.sendto(b"x", ("192.0.2.1", 53))
    with socket.socket() as client, pytest.raises(OutsideConnectionError):
        client.connect_ex(("192.0.2.1", 80))


def test_loopback_is_let_through() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
