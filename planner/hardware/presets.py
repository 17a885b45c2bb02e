"""Machines described in words: what the user's configuration says, and the hypothetical ones that ship with prices."""

from functools import cache
from typing import Literal, NamedTuple, cast

from planner.errors import InputError, UnknownNameError, near_misses
from planner.hardware import interconnect
from planner.hardware.accelerator import GIB, Accelerator
from planner.hardware.catalog import resolve
from planner.hardware.cpus import cpus, family_key, resolve_cpu
from planner.hardware.interconnect import Link, LinkKind
from planner.hardware.machine import Cpu, Machine, cpu_machine
from planner.hardware.tables import read_rows

_NO_GPU = ("cpu", "none", "no")
_LINK_KINDS: dict[str, LinkKind] = {
    "none": "none",
    "pcie3": "pcie3",
    "pcie4": "pcie4",
    "pcie5": "pcie5",
    "nvlinkbridge": "nvlink_bridge",
    "bridge": "nvlink_bridge",
    "nvlinkmesh": "nvlink_mesh",
    "nvswitch": "nvswitch",
    "xgmi": "xgmi",
    "infinityfabric": "xgmi",
}


def machine_from_spec(
    name: str,
    gpu: str,
    count: int = 1,
    nodes: int = 1,
    link: str | None = None,
    network: str | None = None,
    vcpus: float | None = None,
    ram_gb: float | None = None,
    cpu: str | None = None,
) -> Machine:
    """A machine as its owner describes it: ``count`` GPUs a node, ``nodes`` nodes; ``gpu`` "none" trains on the CPU.

    Raises InputError with one sentence that says what is wrong and how to write it.
    """
    for what, number in (("count", count), ("nodes", nodes), ("vcpus", vcpus), ("ram_gb", ram_gb)):
        if number is not None and not 0 < number < 1e6:
            raise InputError(f"{what} of machine {name!r} must be greater than 0, not {number:g}")
    host = described_cpu(cpu) if cpu else None
    ram_bytes = ram_gb * GIB if ram_gb else None
    if gpu.strip().casefold() in _NO_GPU:
        if host is None or vcpus is None:
            raise InputError(f"machine {name!r} has no GPU: say its cpu and its vcpus")
        return cpu_machine(host, vcpus, ram_bytes, name=name, whole_socket=True)
    if nodes > 1 and network is None:
        raise InputError(f"machine {name!r} has {nodes} nodes: say its network, for instance '100 Gb/s Ethernet'")
    accelerator = resolve(gpu, memory_gib=_shared_memory(gpu, ram_gb)).accelerator
    return Machine(
        name=name,
        accelerator=accelerator,
        num_gpus=count,
        num_nodes=nodes,
        link=described_link(link, accelerator, count),
        network=interconnect.network(network) if network is not None else None,
        cpu=host,
        vcpus=vcpus,
        ram_bytes=ram_bytes,
    )


def described_cpu(text: str) -> Cpu:
    """The CPU family of a key ('Zen3-Milan') or a model name ('EPYC 7763'). Raises UnknownNameError."""
    by_folded = {key.casefold(): family for key, family in cpus().items()}
    family = by_folded.get(text.strip().casefold())
    if family is not None:
        return family
    if family_key(text) is None:
        raise UnknownNameError("CPU", text, near_misses(text, cpus()), "write a family or a model such as 'EPYC 7763'")
    return resolve_cpu(text).cpu


def described_link(text: str | None, accelerator: Accelerator, count: float) -> Link | None:
    """The link of ``count`` accelerators in words ('PCIe 4', 'NVLink bridge'); without words the usual one."""
    if text is None or count <= 1:
        return interconnect.default_link(accelerator, count)
    word = "".join(character for character in text.casefold().replace(".0", "") if character.isalnum())
    if word == "pcie":
        return interconnect.pcie_link(accelerator)
    if word == "nvlink":
        usual = interconnect.default_link(accelerator, count)
        if usual is not None and usual.kind in ("nvlink_mesh", "nvswitch"):
            return usual
        return interconnect.link("nvlink_bridge", accelerator)
    if word not in _LINK_KINDS:
        raise InputError(f"unknown link {text!r}; write PCIe, NVLink, NVLink bridge, NVSwitch, Infinity Fabric or none")
    return interconnect.link(_LINK_KINDS[word], accelerator)


def _shared_memory(gpu: str, ram_gb: float | None) -> float | None:
    """Apple's GPU has the machine's memory: what the owner says of it counts."""
    return ram_gb if ram_gb is not None and resolve(gpu).accelerator.stack == "mps" else None


class Preset(NamedTuple):
    """A machine nobody said they own. ``purchase_usd`` is for all nodes, ``host_usd`` of it beside the priced parts;
    ``host_power_w`` is what one node draws at the wall beside its accelerators; ``price_source`` says where the price
    stands and what in it is assumed."""

    name: str
    place: Literal["laptop", "workstation", "cluster"]
    machine: Machine
    purchase_usd: float
    price_source: str
    price_as_of: str
    host_power_w: float
    note: str
    host_usd: float = 0.0


@cache
def presets() -> tuple[Preset, ...]:
    """The shipped hypothetical machines, in the table's order."""
    return tuple(_preset(row) for row in read_rows("presets.csv"))


def _preset(row: dict[str, str]) -> Preset:
    return Preset(
        name=row["name"],
        place=cast(Literal["laptop", "workstation", "cluster"], row["place"]),
        machine=machine_from_spec(
            row["name"],
            row["gpu"],
            int(row["count"]),
            int(row["nodes"]),
            link=row["link"] or None,
            network=row["network"] or None,
            vcpus=float(row["vcpus"]),
            ram_gb=float(row["ram_gib"]),
            cpu=row["cpu"],
        ),
        purchase_usd=float(row["part_usd"]) * int(row["part_count"]) + float(row["host_usd"]),
        price_source=_price_source(row),
        price_as_of=row["price_as_of"],
        host_power_w=float(row["host_power_w"]),
        note=row["note"],
        host_usd=float(row["host_usd"]),
    )


def _price_source(row: dict[str, str]) -> str:
    count, host_usd = int(row["part_count"]), float(row["host_usd"])
    source = f"{count} x {row['part_source']}" if count > 1 else row["part_source"]
    return f"{source}; the rest of the machine {host_usd:,.0f} USD (assumption)" if host_usd else source
