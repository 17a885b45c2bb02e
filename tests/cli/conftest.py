"""Running the command line in this process, with what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from planner.cli.main import main


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("estimate", "-m", "resnet50")`` -> exit code, stdout, stderr."""

    def call(*argv: str) -> Result:
        try:
            code = main(argv)
        except SystemExit as stop:  # argparse's --help and --version
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
