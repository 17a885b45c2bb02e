"""CPU families: what one core computes in a clock, what a socket's memory delivers, and whose name means which."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from planner.errors import UnknownNameError, near_misses
from planner.hardware.machine import Cpu
from planner.hardware.tables import number, read_rows

# A CPU that is in no table: two 8-wide fused multiply-adds a clock (AVX2), the commonest design of the last decade
# (Haswell and later, Zen 2 and later: stackoverflow.com/questions/15655835), two channels of DDR4-3200.
GENERIC_CLOCK_HZ = 2.5e9
GENERIC_BANDWIDTH_BYTES_PER_S = 51.2e9
_FLOP_PER_CYCLE_BY_FLAG = {"avx512f": 64.0, "avx2": 32.0, "avx": 16.0, "sve": 32.0, "asimd": 16.0, "sse2": 8.0}
_FLOP_PER_CYCLE_OF_NO_FLAG = 32.0
"""Where a system shows no flags, as macOS and Windows: AVX2, which x86 has had since 2013."""


class CpuResolution(NamedTuple):
    """What a CPU's model name was taken to mean; ``assumption`` is the sentence to show where it was not certain."""

    cpu: Cpu
    assumption: str | None


@cache
def cpus() -> dict[str, Cpu]:
    """All CPU families by key."""
    families = (
        Cpu(
            key=row["key"],
            name=row["name"],
            vendor=row["vendor"],
            fp32_flop_per_cycle_core=float(row["fp32_flop_per_cycle_core"]),
            clock_hz=float(row["clock_ghz"]) * 1e9,
            bandwidth_bytes_per_s=number(row["bandwidth_gb_s"], 1e9),
            vcpus_per_core=int(row["vcpus_per_core"]),
            cores_per_socket=int(row["cores_per_socket"]),
        )
        for row in read_rows("cpus.csv")
    )
    return {family.key: family for family in families}


def cpu(key: str) -> Cpu:
    """The CPU family with exactly this key. Raises UnknownNameError with the nearest keys."""
    if key not in cpus():
        raise UnknownNameError("CPU family", key, near_misses(key, cpus()))
    return cpus()[key]


def resolve_cpu(
    model_name: str, flags: Iterable[str] = (), clock_hz: float | None = None, identity: str = ""
) -> CpuResolution:
    """The family of a CPU as the system names it ('Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz').

    ``identity`` is what the chip says where a cloud hides the name: 'intel 6 85' (vendor, family and model number).
    A name in no table gives a generic CPU by its instruction set ``flags`` and ``clock_hz``, said as an assumption;
    never fails.
    """
    key = family_key(model_name) or _aliases().get(identity)
    if key is not None:
        return CpuResolution(cpus()[key], None)
    named = set(flags)
    per_cycle = next(
        (rate for flag, rate in _FLOP_PER_CYCLE_BY_FLAG.items() if flag in named), _FLOP_PER_CYCLE_OF_NO_FLAG
    )
    generic = Cpu(
        key=f"generic-{per_cycle:g}",
        name=model_name.strip() or "unknown CPU",
        vendor="",
        fp32_flop_per_cycle_core=per_cycle,
        clock_hz=clock_hz or GENERIC_CLOCK_HZ,
        bandwidth_bytes_per_s=GENERIC_BANDWIDTH_BYTES_PER_S,
        vcpus_per_core=1 if named & {"sve", "asimd"} else 2,
        cores_per_socket=8,
    )
    sentence = (
        f"CPU {generic.name!r} is in no table: taken as {per_cycle:g} FLOP a clock and core at "
        f"{generic.clock_hz / 1e9:.1f} GHz, {GENERIC_BANDWIDTH_BYTES_PER_S / 1e9:g} GB/s of memory"
    )
    return CpuResolution(generic, sentence)


def family_key(model_name: str) -> str | None:
    """The key of the family a model name belongs to; None where the name is in no table and fits no vendor's scheme."""
    words = model_name.casefold().replace("(r)", " ").replace("(tm)", " ").replace("@", " ").replace("-", " ").split()
    aliases = _aliases()
    for width in (3, 2, 1):
        for start in range(len(words) - width + 1):
            key = aliases.get(" ".join(words[start : start + width]))
            if key is not None:
                return key
    return _by_scheme(words)


@cache
def _aliases() -> dict[str, str]:
    return {row["name"]: row["key"] for row in read_rows("cpu_aliases.csv")}


# Xeon Scalable: the second digit of the number is the generation ('8259CL' is the second: Cascade Lake).
_XEON_GENERATION = {
    "1": "Skylake-SP",
    "2": "CascadeLake",
    "3": "IceLake-SP",
    "4": "SapphireRapids",
    "5": "EmeraldRapids",
}
# EPYC: the last digit of the number is the generation ('7763' is the third: Milan).
_EPYC_GENERATION = {"1": "Zen1-Naples", "2": "Zen2-Rome", "3": "Zen3-Milan", "4": "Zen4-Genoa", "5": "Zen5-Turin"}


def _by_scheme(words: list[str]) -> str | None:
    for word in words:
        digits = word[:4]
        if len(digits) == 4 and digits.isdecimal():
            if "xeon" in words and digits[0] in "34568" and digits[1] in _XEON_GENERATION:
                return _XEON_GENERATION[digits[1]]
            if "epyc" in words and digits[0] in "79" and digits[3] in _EPYC_GENERATION:
                return _EPYC_GENERATION[digits[3]]
            if "ryzen" in words and digits[0] in "789":
                return "Client-Zen4/5"
            if "core" in words and "intel" in words and digits[:2] in ("12", "13", "14"):
                return "Client-Intel-hybrid"
    return None
