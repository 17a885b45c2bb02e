"""What AWS's DescribeInstanceTypes says of a machine, where it can be believed, beside what our table knows.

The table knows what the API does not say: the form factor of the accelerator, the link, the CPU family. The API counts
for what it measures well: accelerators, vCPUs, memory, network, local disks. What it is known to get wrong is in
``aws_overrides.csv``; memory of an accelerator is the table's wherever the table has it, because the API states the
usable MiB of some parts (22,888 for a 24 GB L4).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pricing.errors import PricingError
from pricing.offer import InstanceType

PROVIDER = "aws"
SOURCE = "Amazon EC2 DescribeInstanceTypes"
OVERRIDES = Path(__file__).parent.parent / "data" / "aws_overrides.csv"
NOMINAL_GIB = {22888: 24.0, 45776: 48.0}


def instance_type(described: Mapping[str, Any], known: InstanceType | None) -> InstanceType | None:
    """The machine as described and overridden; None for one without accelerators that no table has.

    Raises LookupError, TypeError or ValueError where the description is not of the documented shape.
    """
    name = str(described["InstanceType"])
    label, count, memory_mib = _accelerators(described)
    overrides = _overrides().get(name, {})
    count = overrides.get("num_gpus", count)
    if known is None and not count:
        return None
    base = known or _unknown(name, label, memory_mib)
    network = described["NetworkInfo"]
    return base._replace(
        num_gpus=count or base.num_gpus,
        vcpus=float(described["VCpuInfo"]["DefaultVCpus"]),
        memory_gib=described["MemoryInfo"]["SizeInMiB"] / 1024,
        network_gbit_s=_gbit_s(network) or base.network_gbit_s,
        network=base.network or ("EFA" if network.get("EfaSupported") else "ENA"),
        local_disk_gb=float(described.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0)),
        source=f"{base.source}; {SOURCE}" if SOURCE not in base.source else base.source,
    )


def _accelerators(described: Mapping[str, Any]) -> tuple[str, float, float]:
    """(name, how many, MiB of each): whole GPUs, shares of one, or Neuron chips."""
    for gpu in described.get("GpuInfo", {}).get("Gpus", ()):
        share = float(gpu.get("GpuPartitionSize", 1.0))
        count = gpu.get("LogicalGpuCount", gpu["Count"]) * share if 0 < share < 1 else float(gpu["Count"])
        return str(gpu.get("Name", "")), count, float(gpu["MemoryInfo"]["SizeInMiB"])
    for chip in described.get("NeuronInfo", {}).get("NeuronDevices", ()):
        return str(chip.get("Name", "")), float(chip["Count"]), float(chip["MemoryInfo"]["SizeInMiB"])
    return "", 0.0, 0.0


def _gbit_s(network: Mapping[str, Any]) -> float | None:
    """'3200 Gigabit' -> 3200, '8x 100 Gigabit' -> 800, 'Up to 10 Gigabit' -> what the card sustains; else None."""
    text = str(network.get("NetworkPerformance", ""))
    found = re.fullmatch(r"(?:(\d+)x )?(\d+(?:\.\d+)?) Gigabit", text)
    if found:
        return float(found[1] or 1) * float(found[2])
    cards = network.get("NetworkCards") or [{}]
    sustained = cards[0].get("BaselineBandwidthInGbps")
    return float(sustained) if sustained else None


def _unknown(name: str, label: str, memory_mib: float) -> InstanceType:
    """A machine that no table has: kept and shown, never ranked, so that news is seen and not lost."""
    return InstanceType(
        provider=PROVIDER,
        instance_type=name,
        accelerator=label,
        num_gpus=0.0,
        memory_gib_per_gpu=NOMINAL_GIB.get(int(memory_mib), memory_mib / 1024),
        link="",
        network_gbit_s=None,
        network="",
        vcpus=None,
        cpu="",
        memory_gib=None,
        local_disk_gb=None,
        unranked=f"new at the provider: the form factor of {label or 'its accelerator'} is not in our table yet",
        source=SOURCE,
    )


@cache
def _overrides() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    try:
        with OVERRIDES.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["instance_type"], {})[row["field"]] = float(row["value"])
    except (OSError, KeyError, ValueError) as error:
        raise PricingError(f"the table of overrides {OVERRIDES} cannot be read: {error}") from error
    return found
