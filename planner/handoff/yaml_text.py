"""Text as a YAML scalar: a JSON string is one."""

from __future__ import annotations


def quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)
