"""Put the real output of the commands shown in README.md and docs/*.md into them.

Usage: python tools/update_readme.py

A block that begins ```console and whose first line is `$ gpuplanner ...` is replaced by that line and what the command
prints at 100 columns. Answers change with the day and the machine: rerun it when the tables change.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```console\n\$ (gpuplanner [^\n]*)\n.*?```", re.DOTALL)


def output(command: str) -> str:
    """What the command prints; it must succeed, or find that nothing fits (3)."""
    script = shutil.which("gpuplanner") or str(Path(sys.executable).with_name("gpuplanner"))
    words = [script, *shlex.split(command)[1:]]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    result = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if result.returncode not in (0, 3):
        raise SystemExit(f"{command}: {result.stderr}")
    return result.stdout.rstrip()


def main() -> int:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        filled = BLOCK.sub(lambda match: f"```console\n$ {match[1]}\n{output(match[1])}\n```", text)
        if filled != text:
            path.write_text(filled, encoding="utf-8")
            print(f"filled {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
