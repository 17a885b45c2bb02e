"""python .../user_trace/__main__.py REQUEST.json RESULT.json: trace what the request names, in this interpreter."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "gpuplanner_workloads"


def child_main() -> None:
    """Import this folder's modules under a name of their own: the user may have a ``planner`` or ``datasets`` too."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    folder = HERE.parent
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    importlib.import_module(f"{PACKAGE}.user_trace.child").main(*sys.argv[1:])


if __name__ == "__main__":
    child_main()
