"""Guards that hold for every test: no network beyond loopback, no state of the person who runs the tests."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")

LOOPBACK = ("127.", "localhost", "::1")


class OutsideConnectionError(RuntimeError):
    """A test tried to open a socket beyond loopback."""


def _refuse_outside(address: Any) -> None:
    host = address[0] if isinstance(address, tuple) else ""
    if isinstance(host, str) and host and not host.startswith(LOOPBACK):
        raise OutsideConnectionError(f"a test tried to reach {host}: only loopback is allowed")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto
    resolve = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _refuse_outside(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_outside(address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        _refuse_outside(rest[-1])
        return sendto(self, data, *rest)

    def guarded_resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_outside((host.decode() if isinstance(host, bytes) else host or "",))
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket.socket, "sendto", guarded_sendto)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_resolve)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home: configuration and cache of the person running the tests stay out of sight."""
    directory = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA"):
        monkeypatch.setenv(name, str(directory))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "GPUPLANNER_CONFIG", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return directory
