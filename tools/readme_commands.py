"""Print one of the README's two set-up commands, so that CI runs what a newcomer copies.

Usage: python tools/readme_commands.py run|test
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def commands(readme: str) -> dict[str, str]:
    """The fenced blocks that follow the markers ``<!-- command: run -->`` and ``<!-- command: test -->``."""
    blocks = re.findall(r"<!-- command: (\w+) -->\s*```\w*\n(.*?)```", readme, flags=re.DOTALL)
    return {name: text.strip() for name, text in blocks}


def main() -> int:
    found = commands(README.read_text(encoding="utf-8"))
    wanted = sys.argv[1] if len(sys.argv) == 2 else ""
    if wanted not in found:
        print(f"usage: readme_commands.py {'|'.join(sorted(found))}", file=sys.stderr)
        return 2
    print(found[wanted])
    return 0


if __name__ == "__main__":
    sys.exit(main())
