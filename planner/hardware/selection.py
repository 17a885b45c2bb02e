"""Which machines a person wants: 'H100:8', '80GB+:8', '24GB..80GB', several of them separated by commas."""

from typing import NamedTuple

from planner.errors import InputError
from planner.hardware.accelerator import GIB
from planner.hardware.catalog import MEMORY_TOLERANCE, Resolution, resolve
from planner.hardware.machine import Machine

_MEMORY_UNITS = ("gib", "gb", "g")


class Wanted(NamedTuple):
    """One alternative of a selection: the accelerators (empty: any), a range of memory in GiB, a count (None: any)."""

    keys: frozenset[str]
    min_gib: float
    max_gib: float
    num_gpus: float | None

    def matches(self, machine: Machine) -> bool:
        """Whether the machine has such accelerators, in this number per node."""
        device = machine.accelerator
        if self.num_gpus is not None and machine.num_gpus != self.num_gpus:
            return False
        if self.keys:
            return device.key in self.keys
        if device.kind == "cpu" or device.memory_bytes is None:
            return False
        gib = device.memory_bytes / GIB * min(machine.num_gpus, 1.0)
        return self.min_gib * (1 - MEMORY_TOLERANCE) <= gib <= self.max_gib * (1 + MEMORY_TOLERANCE)


class Selection(NamedTuple):
    """The machines that match one of the alternatives; ``assumptions`` are the sentences to show about the names."""

    alternatives: tuple[Wanted, ...]
    assumptions: tuple[str, ...]

    def matches(self, machine: Machine) -> bool:
        return any(wanted.matches(machine) for wanted in self.alternatives)

    def names(self, machine: Machine) -> bool:
        """Whether it matches by its accelerators' name, not only by how much memory they have."""
        return any(wanted.keys and wanted.matches(machine) for wanted in self.alternatives)


def parse_selection(text: str) -> Selection:
    """The selection that ``text`` writes. A name of several parts selects all of them. Raises InputError."""
    alternatives, assumptions = [], []
    for item in text.split(","):
        wanted, assumption = _parse_item(item.strip(), text)
        alternatives.append(wanted)
        if assumption:
            assumptions.append(assumption)
    return Selection(tuple(alternatives), tuple(assumptions))


def resolve_count(text: str) -> tuple[Resolution, int]:
    """An accelerator and how many: 'H100:8', '8xH100', '2x RTX 3090', 'A100'. Raises InputError."""
    name, count = _split_count(text)
    return resolve(name), count or 1


def _parse_item(item: str, text: str) -> tuple[Wanted, str | None]:
    name, count = _split_count(item)
    if not name:
        raise InputError(f"cannot read the GPUs {text!r}; write them as H100:8, 80GB+:8 or 24GB..80GB")
    low, dots, high = name.partition("..")
    if dots:
        least, most = _memory(low), _memory(high)
        if least is None or most is None or least > most:
            raise InputError(f"cannot read the memory range {name!r}; write it as 24GB..80GB")
        return Wanted(frozenset(), least, most, count), None
    if name.endswith("+"):
        least = _memory(name[:-1])
        if least is None:
            raise InputError(f"cannot read the memory size {name!r}; write it as 80GB+")
        return Wanted(frozenset(), least, float("inf"), count), None
    exact = _memory(name)
    if exact is not None:
        return Wanted(frozenset(), exact, exact, count), None
    if name.casefold() == "cpu":
        raise InputError("a CPU is no GPU: leave --gpus away, CPUs are always among the candidates")
    resolution = resolve(name)
    keys = frozenset((resolution.accelerator.key, *resolution.alternatives))
    return Wanted(keys, 0.0, float("inf"), count), _several(name, resolution)


def _several(name: str, resolution: Resolution) -> str | None:
    if not resolution.alternatives:
        return resolution.assumption
    return f"GPU {name!r} selects {', '.join((resolution.accelerator.key, *resolution.alternatives))}"


def _split_count(text: str) -> tuple[str, int | None]:
    """('H100', 8) for 'H100:8' and '8xH100'; the count is None where none is written. Raises InputError."""
    stripped = text.strip()
    name, colon, count = stripped.rpartition(":")
    if colon:
        if not count.strip().isdecimal() or not 0 < int(count) <= 1024:
            raise InputError(f"the number of GPUs in {text!r} must be a whole number from 1 to 1024")
        return name.strip(), int(count)
    count, cross, name = stripped.partition("x")
    if cross and count.strip().isdecimal() and 0 < int(count) <= 1024 and name.strip():
        return name.strip(), int(count)
    return stripped, None


def _memory(text: str) -> float | None:
    """GiB in '80GB' or '80'; None where it is no memory size."""
    word = text.strip().casefold()
    for unit in _MEMORY_UNITS:
        if word.endswith(unit):
            word = word.removesuffix(unit).strip()
            break
    else:
        return None
    try:
        size = float(word)
    except ValueError:
        return None
    return size if 0 < size < float("inf") else None
