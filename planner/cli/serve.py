"""``gpuplanner serve``: the app in a browser, on loopback only."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys

from planner.errors import InputError, PlannerError
from planner.values import whole

HOST = "127.0.0.1"
DEFAULT_PORT = 8266


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Only browsers on this machine can reach it; from elsewhere: ssh -L 8266:127.0.0.1:8266 HOST"
    parser.add_argument("--port", type=whole, default=DEFAULT_PORT, metavar="N", help=f"port ({DEFAULT_PORT})")


def run(arguments: argparse.Namespace) -> int:
    """Serves until interrupted. Raises PlannerError where the extra is not installed."""
    if not 1 <= arguments.port <= 65535:
        raise InputError(f"--port must be from 1 to 65,535, not {arguments.port}")
    if importlib.util.find_spec("textual_serve") is None:
        raise PlannerError("serving needs the extra 'serve': pip install 'gpuplanner[serve]'")
    from textual_serve.server import Server

    Server(app_command(), host=HOST, port=arguments.port, title="gpuplanner").serve()
    return 0


def app_command() -> str:
    """The command that opens the app under the same interpreter, whatever folder the server was started in."""
    code = "from planner.tui.app import PlannerApp; PlannerApp().run()"
    return shlex.join([sys.executable, "-P", "-c", code])
