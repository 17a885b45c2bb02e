"""What surrounds the accelerators: CPU families, links inside a machine, networks between machines."""

from __future__ import annotations

from pathlib import Path

from hardware_tables.specifications import Row, read_table

HERE = Path(__file__).resolve().parent
CPU_COLUMNS = (
    "key",
    "name",
    "vendor",
    "isa",
    "fp32_flop_per_cycle_core",
    "clock_ghz",
    "bandwidth_gb_s",
    "vcpus_per_core",
    "cores_per_socket",
    "source",
)
# Vector units and their fused multiply-adds a cycle, by microarchitecture.
FLOP_PER_CYCLE_SOURCE = "stackoverflow.com/questions/15655835 and wikichip.org/wiki/flops (units x width x 2)"
LINK_COLUMNS = ("name", "gb_s", "source")
NETWORK_COLUMNS = ("name", "instance_type", "protocol", "gbit_s", "rdma", "source")


def build_cpus(shared: Path) -> list[Row]:
    """CPU families; the clock is the lower end of the all-core range."""
    mends = {(row["key"], row["column"]): row for row in read_table(HERE / "cpu_mends.csv")}
    rows = []
    for gathered in read_table(shared / "data" / "cpus.csv"):
        row = {
            "key": gathered["key"],
            "name": f"{gathered['vendor']} {gathered['microarch']}",
            "vendor": gathered["vendor"],
            "isa": gathered["isa"],
            "fp32_flop_per_cycle_core": gathered["fp32_flop_per_cycle_core"],
            "clock_ghz": gathered["all_core_ghz"].split("-")[0],
            "bandwidth_gb_s": gathered["mem_gb_s_per_socket"],
            "vcpus_per_core": gathered["smt_vcpus_per_core"],
            "cores_per_socket": gathered["cores_per_socket_typ"],
        }
        sources = {
            "FLOP a cycle": FLOP_PER_CYCLE_SOURCE,
            "clock_ghz": gathered["clock_note"].replace("memory", "assumption"),
            "bandwidth": f"{gathered['mem_channels']} channels x 8 B x {gathered['mem_type']}",
        }
        for column in CPU_COLUMNS:
            mend = mends.pop((row["key"], column), None)
            if mend is not None:
                row[column], sources[column] = mend["value"], mend["source"]
        if not row["bandwidth_gb_s"]:
            del sources["bandwidth"]
        rows.append({**row, "source": "; ".join(f"{what}: {where}" for what, where in sources.items())})
    if mends:
        raise ValueError(f"cpu_mends.csv names unknown CPUs: {sorted(mends)}")
    return rows


def build_links(shared: Path) -> list[Row]:
    """PCIe generations with 16 lanes, GB/s in one direction; a device's own fabric stands in its accelerator row."""
    return [
        {"name": row["name"], "gb_s": row["gb_s_uni"], "source": row["source"].partition(";")[0]}
        for row in read_table(shared / "data" / "links.csv")
        if row["kind"] == "pcie"
    ]


def build_networks(shared: Path) -> list[Row]:
    """Networks of instance types and nodes, Gb/s per node and direction; figures from memory are left out."""
    rows = []
    for gathered in read_table(shared / "data" / "links.csv"):
        if not gathered["kind"].startswith(("cloud", "node", "ethernet")) or gathered["kind"] == "ethernet-onchip":
            continue
        if gathered["confidence"] == "low" or gathered["source"] == "memory" or not gathered["gbit_s_per_node"]:
            continue
        direct = gathered["gpudirect"].casefold()
        rows.append(
            {
                "name": gathered["name"],
                "instance_type": gathered["instance_or_part"],
                "protocol": gathered["protocol"] or "Ethernet",
                "gbit_s": gathered["gbit_s_per_node"],
                "rdma": "yes" if direct.startswith(("yes", "rdma")) else "no",
                "source": gathered["source"],
            }
        )
    return rows
