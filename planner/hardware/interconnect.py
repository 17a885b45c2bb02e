"""Links between accelerators of one machine, and networks between machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LinkKind = Literal["none", "pcie3", "pcie4", "pcie5", "nvlink_bridge", "nvlink_mesh", "nvswitch", "xgmi", "ici", "neuronlink", "ethernet_on_chip"]


@dataclass(frozen=True, slots=True)
class Link:
    """The path between accelerators of one machine; bandwidth is per accelerator, one direction, by specification."""

    kind: LinkKind
    name: str
    bandwidth_bytes_per_s: float | None
    peer_access: bool


@dataclass(frozen=True, slots=True)
class Network:
    """The path between machines; bandwidth is per machine, one direction, by specification."""

    name: str
    bandwidth_bytes_per_s: float | None
    rdma: bool
