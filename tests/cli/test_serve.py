"""The bare command and `serve`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli.serve import HOST, app_command
from tests.cli.conftest import Run


def test_without_a_terminal_the_bare_command_helps(run: Run) -> None:
    result = run()
    assert result.code == 0
    assert "usage: gpuplanner" in result.out


@pytest.mark.parametrize("port", ["0", "65536", "many"])
def test_a_port_that_is_none(run: Run, port: str) -> None:
    result = run("serve", "--port", port)
    assert result.code == 2
    assert "--port" in result.err


def test_serving_stays_on_this_machine() -> None:
    assert HOST == "127.0.0.1"


def test_the_served_command_is_this_package_wherever_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "planner").mkdir()
    (tmp_path / "planner" / "__init__.py").write_text("raise SystemExit('the wrong package')")
    *command, code = shlex.split(app_command())
    assert command[0] == sys.executable
    imported = subprocess.run([*command, code.partition(";")[0]], cwd=tmp_path, capture_output=True, check=False)
    assert imported.returncode == 0
