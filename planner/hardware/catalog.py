"""The accelerators that are known, and finding one by the name a driver, a cloud or a person gives it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

from planner.errors import UnknownNameError, near_misses
from planner.hardware.accelerator import GIB, Accelerator, Kind, Stack
from planner.hardware.names import NameParts, read_name, split_form
from planner.hardware.tables import number, read_lines, read_rows, split_line, whole

MEMORY_TOLERANCE = 0.08
"""How far a stated memory size may be from the nominal one: drivers show up to 7 % less where ECC takes its part."""

_MOBILE_FORMS = frozenset({"laptop", "maxq"})
# The share of a Mac's memory that its GPU may have: two thirds up to 36 GB, three quarters above (RULE-APPLE).
_APPLE_SMALL_GIB, _APPLE_SMALL_SHARE, _APPLE_SHARE = 36.0, 2 / 3, 3 / 4


class Resolution(NamedTuple):
    """What a name was taken to mean; ``assumption`` is the sentence to show where it could mean something else."""

    accelerator: Accelerator
    assumption: str | None
    alternatives: tuple[str, ...]


class _Candidate(NamedTuple):
    key: str
    forms: frozenset[str]


class _Table(Mapping[str, Accelerator]):
    """key -> Accelerator in the table's order; a row is parsed when it is first asked for."""

    def __init__(self, lines: list[str]) -> None:
        self._columns = split_line(lines[0])
        self._lines = {line[: line.index(",")]: line for line in lines[1:]}
        self._parsed: dict[str, Accelerator] = {}

    def __getitem__(self, key: str) -> Accelerator:
        if key not in self._parsed:
            self._parsed[key] = _parse(dict(zip(self._columns, split_line(self._lines[key]), strict=True)))
        return self._parsed[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """All accelerators by key, in the table's order."""
    return _Table(read_lines("accelerators.csv"))


def accelerator(key: str) -> Accelerator:
    """The accelerator with exactly this key. Raises UnknownNameError with the nearest keys."""
    table = accelerators()
    if key not in table:
        raise UnknownNameError("accelerator", key, near_misses(key, table))
    return table[key]


def resolve(name: str, *, memory_gib: float | None = None) -> Resolution:
    """The accelerator that ``name`` means; ``memory_gib`` per device tells versions apart where it is known.

    A name of several parts gives the likeliest, with an assumption sentence; a key of the table means itself, its
    namesakes are the alternatives. Raises UnknownNameError with suggestions, or with the reason where the name stands
    on the list of names that are known to mean nothing we can plan for.
    """
    reason = _unresolved().get(name.strip().casefold())
    if reason is not None:
        raise UnknownNameError("accelerator", name, (), reason)
    folded = name.strip().casefold()
    exact = _exact_names().get(folded)
    if exact is not None and memory_gib is None:
        return _as_written(name, accelerators()[exact])
    parts, candidates = _find(name)
    if not candidates:
        raise UnknownNameError("accelerator", name, _suggestions(parts))
    return _narrow(name, parts, candidates, memory_gib if memory_gib is not None else parts.memory_gib)


def resolve_each(names: Sequence[str]) -> list[Accelerator]:
    """Each name's accelerator once, in their order; [] where the first is none, as when all are words of one name.

    Raises UnknownNameError for a later one that is none.
    """
    devices: list[Accelerator] = []
    for name in names:
        try:
            devices.append(resolve(name).accelerator)
        except UnknownNameError:
            if not devices:
                return []
            raise
    return list(dict.fromkeys(devices))


def _as_written(name: str, device: Accelerator) -> Resolution:
    """A key or a driver's own name: no doubt about the device, but others may go by the same model name."""
    parts, candidates = _find(name)
    namesakes = _narrow(name, parts, candidates, parts.memory_gib) if candidates else None
    keys = (namesakes.accelerator.key, *namesakes.alternatives) if namesakes is not None else ()
    assumption = _shared_memory_assumption(name, device, None)
    return Resolution(device, assumption, tuple(key for key in keys if key != device.key))


def same_name(name: str) -> tuple[Accelerator, ...]:
    """Every accelerator that goes by this model name in any form, laptop parts included; () where none does."""
    _, candidates = _find(name)
    return tuple(accelerators()[candidate.key] for candidate in candidates)


def with_memory(device: Accelerator, memory_gib: float) -> Accelerator:
    """The device with another memory size: a Mac's, whose GPU has a share of the machine's memory."""
    if device.stack == "mps":
        share = _APPLE_SMALL_SHARE if memory_gib <= _APPLE_SMALL_GIB else _APPLE_SHARE
    elif device.memory_bytes is not None and device.usable_memory_bytes is not None:
        share = device.usable_memory_bytes / device.memory_bytes
    else:
        share = 1.0
    return device._replace(memory_bytes=memory_gib * GIB, usable_memory_bytes=memory_gib * share * GIB)


def _parse(row: dict[str, str]) -> Accelerator:
    major, _, minor = row["compute_capability"].partition(".")
    fabric = number(row["fabric_gb_s"], 1e9)
    return Accelerator(
        key=row["key"],
        name=row["name"],
        kind=cast(Kind, row["kind"]),
        vendor=row["vendor"],
        architecture=row["architecture"],
        form_factor=row["form_factor"],
        stack=cast(Stack, row["stack"]),
        trains=row["trains"] == "yes",
        note=row["note"],
        compute_capability=(int(major), int(minor)) if major else None,
        release_year=whole(row["release_year"]),
        sm_count=whole(row["sm_count"]),
        boost_hz=number(row["boost_mhz"], 1e6),
        boost_min_hz=number(row["boost_min_mhz"], 1e6),
        fp32_flops_per_s=number(row["fp32_tflops"], 1e12),
        tf32_flops_per_s=number(row["tf32_tflops"], 1e12),
        fp16_flops_per_s=number(row["fp16_tflops"], 1e12),
        bf16_flops_per_s=number(row["bf16_tflops"], 1e12),
        fp8_flops_per_s=number(row["fp8_tflops"], 1e12),
        measured_bf16_flops_per_s=number(row["measured_bf16_tflops"], 1e12),
        memory_bytes=number(row["memory_gib"], GIB),
        usable_memory_bytes=number(row["usable_memory_gib"], GIB),
        bandwidth_bytes_per_s=number(row["bandwidth_gb_s"], 1e9),
        power_w=number(row["power_w"]),
        power_min_w=number(row["power_min_w"]),
        pcie_gen=whole(row["pcie_gen"]),
        pcie_lanes=whole(row["pcie_lanes"]),
        nvlink_bytes_per_s=fabric / 2 if fabric is not None else None,
        launch_price_usd=number(row["launch_price_usd"]),
    )


@cache
def _aliases() -> dict[str, str]:
    """Model name -> its line of the alias table; lines are split when they are asked for."""
    return {line[: line.index(",")]: line for line in read_lines("accelerator_aliases.csv")[1:]}


@cache
def _exact_names() -> dict[str, str]:
    """Folded key, or a driver's name that only one part has -> key."""
    names = {key.casefold(): key for key in accelerators()}
    for line in read_lines("driver_names.csv")[1:]:
        name, key = line.split(",")
        names[name.casefold()] = key
    return names


@cache
def _unresolved() -> dict[str, str]:
    return {row["name"].casefold(): row["reason"] for row in read_rows("unresolved_accelerators.csv")}


def _candidates(core: str) -> list[_Candidate]:
    line = _aliases().get(core)
    if line is None:
        return []
    _, forms, keys = line.split(",")
    return [
        _Candidate(key, frozenset(words.split())) for key, words in zip(keys.split(), forms.split("|"), strict=True)
    ]


def _find(name: str) -> tuple[NameParts, list[_Candidate]]:
    """The name's parts and the candidates of its model: as written, without a remark in brackets, with the form
    factor split off, or with a last bare number read as memory (for a TPU slice: as its size)."""
    parts = read_name(name)
    readings = [parts]
    if "(" in name:
        readings.append(read_name(name.partition("(")[0]))
    for reading in tuple(readings):
        split = split_form(reading.core)
        if split is not None:
            readings.append(reading._replace(model=(split[0],), forms=reading.forms | {split[1]}))
        if len(reading.model) > 1 and reading.model[-1].isdecimal():
            is_slice = reading.model[0].startswith(("tpu", "v5litepod"))
            memory = None if is_slice else float(reading.model[-1])
            readings.append(reading._replace(model=reading.model[:-1], memory_gib=memory))
    for reading in readings:
        candidates = _candidates(reading.core)
        if candidates:
            return reading, candidates
    return parts, []


def _narrow(name: str, parts: NameParts, candidates: list[_Candidate], memory_gib: float | None) -> Resolution:
    """The likeliest candidate that has what the name states; what no candidate has is said, not ignored."""
    table = accelerators()
    pool = _of_mobility(parts, candidates)
    missing = ["laptop"] if parts.forms & _MOBILE_FORMS and not pool[0].forms & _MOBILE_FORMS else []
    for form in sorted(parts.forms - _MOBILE_FORMS):
        having = [candidate for candidate in pool if form in candidate.forms]
        if having:
            pool = having
        elif any(candidate.forms for candidate in pool):
            missing.append(form.upper())
    shares_memory = table[pool[0].key].stack == "mps"
    if memory_gib is not None and not shares_memory:
        having = [candidate for candidate in pool if _has_memory(table[candidate.key], memory_gib)]
        if having:
            pool = having
        else:
            missing.append(f"{memory_gib:g} GB")
    chosen = table[pool[0].key]
    alternatives = tuple(candidate.key for candidate in pool[1:])
    sentences = []
    if alternatives:
        sentences.append(f"GPU {name!r} is taken as {chosen.key}; it may also be {' or '.join(alternatives)}")
    if missing:
        sentences.append(f"no {' '.join(missing)} version of {name!r} is in the table, {chosen.key} is taken")
    if shares_memory and memory_gib is not None:
        chosen = with_memory(chosen, memory_gib)
    shared = _shared_memory_assumption(name, chosen, memory_gib)
    if shared is not None:
        sentences.append(shared)
    return Resolution(chosen, "; ".join(sentences) or None, alternatives)


def _of_mobility(parts: NameParts, candidates: list[_Candidate]) -> list[_Candidate]:
    """Laptop parts for a name that says laptop or Max-Q, the others for a name that does not; all where none is left.

    From the RTX 30 series on "Max-Q" is no part of its own but a laptop part with a low power limit.
    """
    said = parts.forms & _MOBILE_FORMS
    for wanted in (_MOBILE_FORMS, {"maxq"}, {"laptop"}) if "maxq" in said else (said,):
        pool = [candidate for candidate in candidates if candidate.forms & _MOBILE_FORMS == wanted]
        if pool:
            return pool
    return candidates


def _has_memory(device: Accelerator, memory_gib: float) -> bool:
    nominal = device.memory_bytes
    return nominal is not None and abs(memory_gib * GIB - nominal) <= MEMORY_TOLERANCE * nominal


def _shared_memory_assumption(name: str, device: Accelerator, memory_gib: float | None) -> str | None:
    if device.stack != "mps" or memory_gib is not None or device.memory_bytes is None:
        return None
    return f"{name!r} is taken with {device.memory_bytes / GIB:g} GB of shared memory, the most it was sold with"


def _suggestions(parts: NameParts) -> list[str]:
    names = near_misses(parts.core, _aliases()) or [name for name in _aliases() if name[:2] == parts.core[:2]][:3]
    return list(dict.fromkeys(_candidates(name)[0].key for name in names))
