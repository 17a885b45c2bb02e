"""A sweep written down: a TOML or YAML file with the grid, the pool and what all experiments share.

model = "resnet50"                  # estimate's flags, with _ for -
epochs = 90
pool = ["this machine", "aws:g6e.xlarge:spot=4"]
max_rentals = 4

[grid]
lr = [0.1, 0.01]
seed = "1..4"

[[experiment]]                      # single ones beside the grid
name = "long"
epochs = 300
repeat = 2
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, near_misses
from planner.experiment.recipes.safe_yaml import load_yaml
from planner.experiment.resolve import ExperimentRequest
from planner.plan.sweep_grid import Axis, Variant, axis, is_setting, setting_name, variants, with_settings

_TOP = ("pool", "max_rentals", "grid", "experiment")


class SweepFile(NamedTuple):
    """What the file says; ``singles`` are (name, settings, repeat) of its [[experiment]] tables."""

    settings: Mapping[str, str]
    axes: tuple[Axis, ...]
    singles: tuple[tuple[str, Mapping[str, str], int], ...]
    pool: tuple[str, ...]
    max_rentals: int | None

    @property
    def free_names(self) -> tuple[str, ...]:
        """Settings of single experiments that are the user's own and change no time."""
        return tuple(name for _, settings, _ in self.singles for name in settings if not is_setting(name))

    def variants(self, request: ExperimentRequest, axes: tuple[Axis, ...], repeat: int) -> list[Variant]:
        """The grid's experiments, then the single ones; a file without a grid has only the latter.

        An axis of the command line stands for the file's of the same name.
        """
        said = {one.name for one in axes}
        grid = (*(one for one in self.axes if one.name not in said), *axes)
        found = variants(request, grid, repeat) if grid or not self.singles or repeat > 1 else []
        for name, settings, times in self.singles:
            changed = with_settings(request, settings)
            found += [Variant(f"{name} #{copy}" if times > 1 else name, changed) for copy in range(1, times + 1)]
        return found


EMPTY = SweepFile({}, (), (), (), None)


def read_sweep(name: str) -> SweepFile:
    """The sweep in the file. Raises InputError with the file's name and what is wrong in it."""
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the sweep {name}: {reason}") from error
    table = load_yaml(text, f"the sweep {name}") if name.lower().endswith((".yaml", ".yml")) else _toml(name, text)
    try:
        return _sweep(table)
    except InputError as error:
        raise InputError(f"in the sweep {name}: {error}") from error


def _toml(name: str, text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the sweep {name} is not valid TOML: {error}") from error


def _sweep(table: Any) -> SweepFile:
    if not isinstance(table, dict):
        raise InputError("it must have names and values, such as model = 'resnet50'")
    grid = table.get("grid", {})
    if not isinstance(grid, dict):
        raise InputError("grid must be a table of names and values, written as [grid]")
    singles = table.get("experiment", [])
    if not isinstance(singles, list) or not all(isinstance(entry, dict) for entry in singles):
        raise InputError("experiment must be written as [[experiment]], once for each")
    settings = {_shared_name(name): value for name, value in table.items() if name not in _TOP}
    return SweepFile(
        settings=_texts(settings),
        axes=tuple(axis(name, _values(name, values)) for name, values in grid.items()),
        singles=tuple(_single(entry, number) for number, entry in enumerate(singles, start=1)),
        pool=tuple(_values("pool", table["pool"])) if "pool" in table else (),
        max_rentals=_whole("max_rentals", table["max_rentals"]) if "max_rentals" in table else None,
    )


def _shared_name(name: str) -> str:
    """A setting that holds for all experiments. Raises InputError for any other name."""
    near = near_misses(name, _TOP, 1)
    if near:
        raise InputError(f"{name} is not a setting; did you mean {near[0]}?")
    folded = setting_name(name)
    if not is_setting(folded):
        raise InputError(f"{name} is not a setting; hyperparameters go under [grid] or [[experiment]]")
    return folded


def _single(entry: Mapping[str, Any], number: int) -> tuple[str, Mapping[str, str], int]:
    repeat = _whole(f"repeat of experiment {number}", entry.get("repeat", 1))
    settings = {setting_name(name): value for name, value in entry.items() if name not in ("name", "repeat")}
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    return str(entry.get("name") or words or f"experiment {number}"), _texts(settings), repeat


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    for name, value in settings.items():
        if isinstance(value, dict | list):
            raise InputError(f"{name} has several values: put it under [grid]")
    return {name: str(value) for name, value in settings.items()}


def _values(name: str, values: Any) -> list[str]:
    """A list of values, or one text with commas."""
    if isinstance(values, dict):
        raise InputError(f"{name} must be a value or a list of values")
    if isinstance(values, list):
        return [str(value) for value in values]
    return str(values).split(",")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2000:
        raise InputError(f"{name} must be a whole number from 1 to 2,000, not {value!r}")
    return value
