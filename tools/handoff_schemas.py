"""Write the schemas that the tests hold exported files against, from the installed launchers themselves.

Usage, each in an environment that has the package (pip install skypilot, pip install dstack):
    python tools/handoff_schemas.py skypilot > tests/handoff/schemas/skypilot.json
    python tools/handoff_schemas.py dstack > tests/handoff/schemas/dstack.json

SkyPilot (Apache-2.0): ``sky.utils.schemas``, the task with its resources; its own keyword ``case_insensitive_enum`` is
written as a pattern. dstack (MPL-2.0): the task configuration of its published schema, without descriptions.
Keys are sorted, so that the same version gives the same bytes.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any


def skypilot() -> dict[str, Any]:
    from sky.utils import schemas  # type: ignore[import-not-found]

    task = schemas.get_task_schema()
    task["properties"]["resources"] = schemas.get_resources_schema()
    plain: dict[str, Any] = _plain(task)
    return plain


def dstack() -> dict[str, Any]:
    from dstack._internal.core.models.configurations import TaskConfiguration  # type: ignore[import-not-found]

    plain: dict[str, Any] = _plain(TaskConfiguration.model_json_schema())
    return plain


def _plain(value: Any) -> Any:
    """Without words for people, and with standard keywords only."""
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    # Under "properties" the keys are names, among which a field may itself be called "title" or "description".
    plain = {
        key: {name: _plain(inner) for name, inner in item.items()} if key == "properties" else _plain(item)
        for key, item in value.items()
        if not (key in ("description", "title") and isinstance(item, str))
    }
    choices = plain.pop("case_insensitive_enum", None)
    if choices is not None:
        plain["pattern"] = f"^(?i:{'|'.join(choices)})$"
    return plain


def main() -> int:
    builders = {"skypilot": skypilot, "dstack": dstack}
    if len(sys.argv) != 2 or sys.argv[1] not in builders:
        print("usage: handoff_schemas.py skypilot|dstack", file=sys.stderr)
        return 2
    name = sys.argv[1]
    schema = {"$comment": f"{name} {version(name)}, by tools/handoff_schemas.py", **builders[name]()}
    print(json.dumps(schema, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
