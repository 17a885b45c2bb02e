"""Build the table of instance types, which says what machine each cloud name is.

``instance_type_rules.csv`` says, by name pattern, which accelerator *in which form factor* a machine has, its link and
CPU family, and why it can never be ranked; the first rule that fits wins. ``instance_type_facts.csv`` holds per-size
figures (network, local disk) from the providers' own descriptions; ``links.csv`` of the collection has more networks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from price_snapshot.rows import Row
from pricing.offer import InstanceType


@dataclass(frozen=True, slots=True)
class Rule:
    """What every machine of a name pattern is; ``label`` narrows it to rows whose source names that accelerator."""

    provider: str
    pattern: str
    label: str
    accelerator: str
    link: str
    cpu: str
    network: str
    unranked: str
    source: str

    def fits(self, provider: str, instance_type: str, label: str) -> bool:
        return (
            self.provider in ("*", provider)
            and self.label in ("", label)
            and any(fnmatchcase(instance_type, pattern) for pattern in self.pattern.split("|"))
        )


@dataclass(frozen=True, slots=True)
class Fact:
    """Figures of one instance type; None where not known. ``source`` is empty where there are none."""

    num_gpus: float | None = None
    vcpus: float | None = None
    memory_gib: float | None = None
    network_gbit_s: float | None = None
    network: str = ""
    rdma: bool = False
    local_disk_gb: float | None = None
    source: str = ""


NO_FACT = Fact()
_SHORT_NAMES = {"KARPAWS": "aws/karpenter-provider-aws", "STASNET": "stas00/ml-engineering network/README.md"}


def read_rules(path: Path) -> list[Rule]:
    with path.open(encoding="utf-8", newline="") as file:
        return [Rule(**row) for row in csv.DictReader(file)]


def read_facts(path: Path) -> dict[tuple[str, str], Fact]:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["provider"], row["instance_type"]): Fact(
                num_gpus=_number(row["num_gpus"]),
                vcpus=_number(row["vcpus"]),
                memory_gib=_number(row["memory_gib"]),
                network_gbit_s=_number(row["network_gbit_s"]),
                network=row["network"],
                rdma=row["network"].startswith("InfiniBand"),
                local_disk_gb=_number(row["local_disk_gb"]),
                source=row["source"],
            )
            for row in csv.DictReader(file)
        }


def read_links(path: Path) -> dict[tuple[str, str], Fact]:
    """Networks by (provider, instance type); what the table itself calls low confidence is left unknown."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"].startswith("cloud-")]
    links = {}
    for row in rows:
        trusted = row["confidence"] != "low"
        links[row["kind"].removeprefix("cloud-"), row["instance_or_part"]] = Fact(
            num_gpus=_number(row["gpus_per_node"]),
            network_gbit_s=_number(row["gbit_s_per_node"]) if trusted else None,
            network=row["protocol"] if trusted else "",
            rdma=trusted and row["gpudirect"].startswith(("yes", "RDMA")),
            source=_readable(row["source"]) if trusted else "",
        )
    return links


def read_nominal_memory(path: Path) -> dict[str, float]:
    """Memory in GiB of one whole accelerator, by its key in ``accelerators.csv``."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["key"]: float(row["memory_gb"]) for row in csv.DictReader(file) if row["memory_gb"]}


def build_types(
    rows: Iterable[Row],
    rules: list[Rule],
    facts: dict[tuple[str, str], Fact],
    links: dict[tuple[str, str], Fact],
    nominal_memory: dict[str, float],
) -> list[InstanceType]:
    """One type for each machine offered, and for those the facts know although no price of theirs is known."""
    machines: dict[tuple[str, str], Row] = {}
    for row in rows:
        first = machines.setdefault((row.provider, row.instance_type), row)
        if (first.label, first.num_gpus, first.vcpus) != (row.label, row.num_gpus, row.vcpus):
            raise ValueError(f"{row.provider} {row.instance_type} is two machines: {first} and {row}")
    for key, fact in [*facts.items(), *links.items()]:
        if key not in machines and fact.num_gpus is not None and "*" not in key[1]:
            machines[key] = _unpriced(key, fact)
    return [
        _instance_type(row, find_rule(rules, row), facts.get(key, NO_FACT), links.get(key, NO_FACT), nominal_memory)
        for key, row in sorted(machines.items())
    ]


def find_rule(rules: list[Rule], row: Row) -> Rule:
    """The first rule that fits. A machine that no rule knows keeps its source's label, unranked: never lost."""
    for rule in rules:
        if rule.fits(row.provider, row.instance_type, row.label):
            return rule
    return Rule(
        provider=row.provider,
        pattern=row.instance_type,
        label=row.label,
        accelerator=row.label,
        link="none" if row.num_gpus <= 1 else "",
        cpu="",
        network="",
        unranked=f"the accelerator {row.label!r} is not in the table" if row.label else "",
        source="the price row",
    )


def _unpriced(key: tuple[str, str], fact: Fact) -> Row:
    return Row(
        provider=key[0],
        instance_type=key[1],
        label="",
        num_gpus=fact.num_gpus or 0.0,
        memory_gib_per_gpu=None,
        vcpus=fact.vcpus,
        memory_gib=fact.memory_gib,
        region="",
        zone=None,
        on_demand="",
        spot="",
        source="",
        source_date="",
    )


def _instance_type(row: Row, rule: Rule, fact: Fact, link: Fact, nominal_memory: dict[str, float]) -> InstanceType:
    from_link = fact.network_gbit_s is None or (link.rdma and not fact.rdma)
    sources = [rule.source, fact.source, link.source if from_link else ""]
    return InstanceType(
        provider=row.provider,
        instance_type=row.instance_type,
        accelerator=rule.accelerator,
        num_gpus=row.num_gpus,
        memory_gib_per_gpu=_memory(row, nominal_memory.get(rule.accelerator)),
        link="none" if row.num_gpus <= 1 else rule.link,
        network_gbit_s=link.network_gbit_s if fact.network_gbit_s is None else fact.network_gbit_s,
        network=fact.network or link.network or rule.network,
        vcpus=row.vcpus,
        cpu=rule.cpu,
        memory_gib=row.memory_gib,
        local_disk_gb=fact.local_disk_gb,
        unranked=rule.unranked,
        source="; ".join(dict.fromkeys(source for source in sources if source)),
        rdma=fact.rdma or link.rdma,
    )


def _memory(row: Row, nominal: float | None) -> float | None:
    """Memory of one accelerator: the table's for whole ones, the source's for a share of one."""
    if row.num_gpus == 0:
        return None
    if 0 < row.num_gpus < 1 or nominal is None:
        return row.memory_gib_per_gpu
    return nominal


def _readable(source: str) -> str:
    """The source with its abbreviations written out, without the numbers under which copies were stored."""
    for short, long in _SHORT_NAMES.items():
        source = source.replace(short, long)
    return re.sub(r"\(?\b\d{10,}\)?;? ?", "", source).strip(" ;")


def _number(text: str) -> float | None:
    return float(text) if text else None
