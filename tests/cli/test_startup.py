"""What a start costs: the hot path imports nothing heavy, and works beside a stranger's `planner` package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("textual", "boto3", "botocore", "httpx", "pydantic", "torch", "numpy", "pandas", "rich", "asyncio")
UNASKED = (
    "planner.throughput.backtest",
    "planner.throughput.measured",
    "planner.plan.ledger",
    "planner.profiler.watch",
)
CODE = """
import sys
from planner.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(",".join(sorted(set(sys.modules) & set({heavy!r}))), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [("estimate", "-m", "resnet50", "-e", "90", "--offline"), ("--help",), ("gpus",)])
def test_nothing_heavy_is_imported(arguments: tuple[str, ...]) -> None:
    code = CODE.format(heavy=HEAVY + UNASKED)
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout
    assert result.stderr.strip() == ""


def test_a_folder_with_its_own_planner_package(tmp_path: Path) -> None:
    for package in ("planner", "pricing"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('the wrong package')")
    script = Path(sys.executable).with_name("gpuplanner")
    result = subprocess.run(
        [script, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0
    assert result.stdout.startswith("gpuplanner ")
