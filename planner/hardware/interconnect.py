"""Links between accelerators of one machine, and networks between machines."""

from functools import cache
from typing import Literal, NamedTuple, cast, get_args

from planner.errors import InputError, UnknownNameError, near_misses
from planner.hardware.accelerator import Accelerator
from planner.hardware.tables import read_rows

LinkKind = Literal[
    "none",
    "pcie3",
    "pcie4",
    "pcie5",
    "nvlink_bridge",
    "nvlink_mesh",
    "nvswitch",
    "xgmi",
    "ici",
    "neuronlink",
    "ethernet_on_chip",
]


class Link(NamedTuple):
    """The path between accelerators of one machine; bandwidth is per accelerator, one direction, by specification.

    ``measured_bytes_per_s`` is what a sum over ``num_measured`` accelerators made of it, where that was measured.
    """

    kind: LinkKind
    name: str
    bandwidth_bytes_per_s: float | None
    peer_access: bool
    measured_bytes_per_s: float | None = None
    num_measured: int = 0


class Network(NamedTuple):
    """The path between machines; bandwidth is per machine, one direction, by specification.

    ``rdma``: accelerators reach it without the CPU. ``flow_bytes_per_s`` is what the provider lets through one TCP
    connection, where it limits that.
    """

    name: str
    bandwidth_bytes_per_s: float | None
    rdma: bool
    flow_bytes_per_s: float | None = None


# From Turing on the driver refuses peer-to-peer copies over PCIe between GeForce cards, so they pass through host
# memory: 8.4 GB/s there against 18 GB/s between workstation cards of that generation (docs/model.md, "The prototype").
_NO_GEFORCE_PEER_ACCESS_FROM = (7, 5)
_PCIE: dict[int, LinkKind] = {3: "pcie3", 4: "pcie4", 5: "pcie5"}
_FABRICS: dict[str, tuple[LinkKind, str]] = {
    "rocm": ("xgmi", "AMD Infinity Fabric"),
    "hpu": ("ethernet_on_chip", "Gaudi's own Ethernet"),
    "xla": ("ici", "TPU inter-chip interconnect"),
    "neuron": ("neuronlink", "NeuronLink"),
}
_LINK_NAMES: dict[LinkKind, str] = {
    "nvlink_bridge": "NVLink bridge",
    "nvlink_mesh": "NVLink mesh",
    "nvswitch": "NVLink with NVSwitch",
    **dict(_FABRICS.values()),
}


def default_link(accelerator: Accelerator, count: float, *, bridge: bool = False) -> Link | None:
    """The link ``count`` such accelerators of one machine have as they are usually sold; None for one or for a CPU.

    Modules have their fabric, cards have PCIe; ``bridge`` puts an NVLink bridge on cards that take one.
    """
    if count <= 1 or accelerator.kind == "cpu" or accelerator.stack == "mps":
        return None
    if bridge:
        return link("nvlink_bridge", accelerator)
    if accelerator.stack in _FABRICS and accelerator.form_factor not in ("desktop", "workstation", "datacentre-PCIe"):
        return link(_FABRICS[accelerator.stack][0], accelerator)
    if accelerator.form_factor in ("SXM", "superchip"):
        meshed = accelerator.architecture in ("Pascal", "Volta") and "SXM3" not in accelerator.key
        return link("nvlink_mesh" if meshed else "nvswitch", accelerator)
    return pcie_link(accelerator)


def link(kind: str, accelerator: Accelerator) -> Link:
    """The link of a kind of ``LinkKind`` with the bandwidth the accelerator has on it.

    Raises UnknownNameError for a kind there is not, InputError where the accelerator has no such link.
    """
    if kind not in get_args(LinkKind):
        raise UnknownNameError("link", kind, near_misses(kind, get_args(LinkKind)))
    known = cast(LinkKind, kind)
    if known == "none":
        return Link("none", "no link", None, peer_access=False)
    if known in _PCIE.values():
        return _pcie(known, accelerator)
    if known == "nvlink_bridge" and not takes_bridge(accelerator):
        raise InputError(f"{accelerator.name} takes no NVLink bridge")
    if known in ("nvlink_mesh", "nvswitch") and accelerator.form_factor not in ("SXM", "superchip"):
        raise InputError(f"{accelerator.name} has no {_LINK_NAMES[known]}")
    return Link(known, _LINK_NAMES[known], accelerator.nvlink_bytes_per_s, peer_access=True)


def takes_bridge(accelerator: Accelerator) -> bool:
    """Whether the card has a connector for an NVLink bridge."""
    cards = ("desktop", "workstation", "datacentre-PCIe")
    return (
        accelerator.nvlink_bytes_per_s is not None and accelerator.form_factor in cards and accelerator.stack == "cuda"
    )


def pcie_link(accelerator: Accelerator) -> Link:
    """PCIe of the accelerator's own generation and width; a link of unknown speed where they are not known."""
    if accelerator.pcie_gen not in _PCIE:
        return Link("none", "unknown link", None, peer_access=False)
    return _pcie(_PCIE[accelerator.pcie_gen], accelerator)


def _pcie(kind: LinkKind, accelerator: Accelerator) -> Link:
    generation = int(kind[-1])
    lanes = accelerator.pcie_lanes
    full = _pcie_bytes_per_s()[generation]
    return Link(
        kind=kind,
        name=f"PCIe {generation}.0 x{lanes or 16}",
        bandwidth_bytes_per_s=full * (lanes or 16) / 16,
        peer_access=not _refuses_peers(accelerator),
    )


def _refuses_peers(accelerator: Accelerator) -> bool:
    capability = accelerator.compute_capability
    return "GeForce" in accelerator.name and capability is not None and capability >= _NO_GEFORCE_PEER_ACCESS_FROM


@cache
def _pcie_bytes_per_s() -> dict[int, float]:
    """PCIe generation -> bytes/s of 16 lanes in one direction."""
    return {int(row["name"].split()[1][0]): float(row["gb_s"]) * 1e9 for row in read_rows("links.csv")}


# InfiniBand generations, Gb/s of a four-lane port.
_INFINIBAND_GBIT_S = {"sdr": 10, "ddr": 20, "qdr": 40, "fdr": 56, "edr": 100, "hdr": 200, "ndr": 400, "xdr": 800}


def network(text: str) -> Network:
    """The network that people write: '100 Gb/s Ethernet', '25GbE', '8x400 NDR', 'InfiniBand HDR', '400 Gb/s EFA',
    or an instance type's name ('p4d.24xlarge'). Raises InputError on anything else."""
    words = _network_words(text)
    generation = next((word for word in words if word in _INFINIBAND_GBIT_S), None)
    rate = next((float(word) for word in words if _is_number(word)), None)
    if rate is None and generation is not None:
        rate = float(_INFINIBAND_GBIT_S[generation])
    if rate is None:
        return _named_network(text)
    if not 0 < rate < 1e6:
        raise InputError(f"the network speed in {text!r} must be greater than 0 and below 1e6 Gb/s")
    infiniband = generation is not None or any(word.startswith("infiniband") or word == "ib" for word in words)
    rdma = infiniband or bool({"efa", "roce", "rdma", "gpudirect", "gpudirectrdma"} & set(words))
    kind = "InfiniBand" if infiniband else "EFA" if "efa" in words else "RoCE" if "roce" in words else "Ethernet"
    ports = next((float(word[:-1]) for word in words if word.endswith("x") and _is_number(word[:-1])), 1.0)
    gbit_s = rate * ports
    return Network(f"{gbit_s:g} Gb/s {kind}", gbit_s * 1e9 / 8, rdma)


def _network_words(text: str) -> list[str]:
    """Lower-case words with the unit split from the number: '8x400gb/s ndr' -> ['8x', '400', 'ndr']."""
    spaced = (
        text.casefold().replace("gb/s", " ").replace("gbit/s", " ").replace("gbps", " ").replace("gbe", " ethernet ")
    )
    words: list[str] = []
    for word in spaced.replace(",", " ").replace("×", "x").split():
        count, cross, rest = word.partition("x")
        if word == "x" and words and _is_number(words[-1]):
            words[-1] += "x"
        elif cross and _is_number(count):
            words += [f"{count}x", rest] if rest else [f"{count}x"]
        else:
            words.append(word.removesuffix("g") if _is_number(word.removesuffix("g")) else word)
    return words


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


def _named_network(text: str) -> Network:
    named = _named_networks()
    found = named.get(text.strip().casefold())
    if found is None:
        raise UnknownNameError("network", text, near_misses(text, named), "write it as '100 Gb/s Ethernet'")
    return found


# Amazon EC2 user guide, "Amazon EC2 instance network bandwidth": 5 Gb/s for a single flow outside a cluster placement
# group, whatever the instance's own bandwidth. EFA is no such flow.
_ENA_FLOW_BYTES_PER_S = 5e9 / 8


def rented_network(protocol: str, gbit_s: float, rdma: bool) -> Network:
    """The network of a rented machine by its protocol's name ('ENA', 'EFA', 'gVNIC', 'GPUDirect-TCPX', '').

    GPUDirect over TCP, which Google's tables do not count as RDMA, passes the CPU by as well.
    """
    return Network(
        protocol or "network",
        gbit_s * 1e9 / 8,
        rdma or protocol.startswith("GPUDirect"),
        _ENA_FLOW_BYTES_PER_S if protocol == "ENA" else None,
    )


@cache
def _named_networks() -> dict[str, Network]:
    networks = {}
    for row in read_rows("networks.csv"):
        rented = rented_network(row["protocol"], float(row["gbit_s"]), row["rdma"] == "yes")
        built = rented._replace(name=f"{row['gbit_s']} Gb/s {row['protocol']}")
        networks[row["name"].casefold()] = built
        if row["instance_type"]:
            networks[row["instance_type"].casefold()] = built
    return networks
