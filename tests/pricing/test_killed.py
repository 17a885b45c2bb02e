"""A refresh killed at any point loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fifty_refreshes_killed_at_random_leave_whole_regions_only(tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_loop.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "prices.sqlite"), "52"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    killed, newest = done.stdout.split()
    assert killed == "52"
    assert int(newest) > 10, "no killed refresh ever got as far as writing"
