"""Hold exported tasks against the launchers' own loaders, for every accelerator that the snapshot rents out.

Usage:
    python tools/check_handoff.py write DIR              (in our environment: one file a launcher and kind of machine)
    python tools/check_handoff.py parse skypilot DIR     (where skypilot is installed)
    python tools/check_handoff.py parse dstack DIR       (where dstack is installed)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path


def write(folder: Path) -> int:
    """The first row of each provider, accelerator, count and purchase option, on one node and on two."""
    from planner.errors import InputError
    from planner.experiment.resolve import ExperimentRequest, resolve_experiment
    from planner.handoff.formats import FORMATS
    from planner.handoff.launch import launch
    from planner.plan.pick import Choice
    from planner.plan.planning import answer
    from planner.plan.question import Question
    from planner.plan.world import open_world
    from planner.profiler.this_machine import find_this_machine

    now = datetime.now().astimezone()
    world = open_world(find_this_machine())
    experiment = resolve_experiment(ExperimentRequest("resnet50", epochs=90))
    written = refused = 0
    for nodes in (None, 2):
        seen: set[object] = set()
        for rank, row in enumerate(answer(experiment, Question(num_nodes=nodes), world, now).ranking.rows, start=1):
            candidate = row.setting.candidate
            machine = candidate.machine
            kind = (candidate.provider, machine.accelerator.key, machine.num_gpus, candidate.purchase(row.offer))
            if candidate.free_tier is not None or kind in seen:
                continue
            seen.add(kind)
            for launcher in ("skypilot", "dstack"):
                try:
                    text = FORMATS[launcher](launch(experiment, Choice(candidate, row, rank), now))
                except InputError:
                    refused += 1
                    continue
                written += 1
                (folder / f"{written:04d}.{launcher}.yaml").write_text(text, encoding="utf-8")
    print(f"{written} files written, {refused} rows that a launcher cannot rent")
    return 0


def parse(launcher: str, folder: Path) -> int:
    loaders: dict[str, Callable[[Path], object]] = {"skypilot": _skypilot, "dstack": _dstack}
    failures = 0
    files = sorted(folder.glob(f"*.{launcher}.yaml"))
    for path in files:
        try:
            loaders[launcher](path)
        except Exception as error:
            failures += 1
            print(f"{path.name}: {type(error).__name__}: {error}")
    print(f"{launcher} {version(launcher)}: {len(files) - failures} of {len(files)} files parse")
    return 1 if failures or not files else 0


def _skypilot(path: Path) -> object:
    import sky  # type: ignore[import-not-found]

    return sky.Task.from_yaml(str(path))


def _dstack(path: Path) -> object:
    import yaml
    from dstack._internal.core.models.configurations import (  # type: ignore[import-not-found]
        parse_apply_configuration,
    )

    return parse_apply_configuration(yaml.safe_load(path.read_text(encoding="utf-8")))


def main() -> int:
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == "write":
        Path(words[1]).mkdir(parents=True, exist_ok=True)
        return write(Path(words[1]))
    if len(words) == 3 and words[0] == "parse" and words[1] in ("skypilot", "dstack"):
        return parse(words[1], Path(words[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
