"""Links inside a machine and networks between machines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.hardware.catalog import accelerator, accelerators
from planner.hardware.cpus import cpu
from planner.hardware.interconnect import default_link, link, network
from planner.hardware.machine import cpu_machine
from planner.hardware.tables import read_rows


@pytest.mark.parametrize(
    ("key", "kind", "gb_s", "peers"),
    [
        ("P100-SXM2-16GB", "nvlink_mesh", 80, True),
        ("V100-SXM2-16GB", "nvlink_mesh", 150, True),
        ("V100-SXM3-32GB", "nvswitch", 150, True),
        ("A100-40GB-SXM", "nvswitch", 300, True),
        ("A800-80GB-SXM", "nvswitch", 200, True),
        ("H100-SXM", "nvswitch", 450, True),
        ("B200", "nvswitch", 900, True),
        ("GB200", "nvswitch", 900, True),
        ("RTX3090", "pcie4", 31.5, False),
        ("RTX4060", "pcie4", 15.75, False),
        ("RTX2080Ti", "pcie3", 15.75, False),
        ("RTX5090", "pcie5", 63, False),
        ("GTX1080Ti", "pcie3", 15.75, True),
        ("RTXA6000", "pcie4", 31.5, True),
        ("RTX4000-Ada", "pcie4", 31.5, True),
        ("A100-40GB-PCIe", "pcie4", 31.5, True),
        ("RX7900XTX", "pcie4", 31.5, True),
        ("MI300X", "xgmi", 448, True),
        ("Gaudi2", "ethernet_on_chip", 262.5, True),
        ("TPUv5e", "ici", 200, True),
        ("Trainium", "neuronlink", 192, True),
    ],
)
def test_usual_links(key: str, kind: str, gb_s: float, peers: bool) -> None:
    usual = default_link(accelerator(key), 8)
    assert usual is not None
    assert usual.kind == kind
    assert usual.bandwidth_bytes_per_s == pytest.approx(gb_s * 1e9)
    assert usual.peer_access == peers


def test_one_device_a_cpu_and_a_mac_have_no_link() -> None:
    assert default_link(accelerator("H100-SXM"), 1) is None
    assert default_link(accelerator("A10"), 0.5) is None
    assert default_link(cpu_machine(cpu("Zen3-Milan"), 8, None).accelerator, 2) is None
    assert default_link(accelerator("M2-Ultra-76c"), 2) is None


def test_a_bridge_between_cards_that_take_one() -> None:
    bridge = default_link(accelerator("RTX3090"), 2, bridge=True)
    assert bridge is not None
    assert bridge.kind == "nvlink_bridge"
    assert bridge.bandwidth_bytes_per_s == 56.25e9
    with pytest.raises(InputError, match="RTX 4090 takes no NVLink bridge"):
        default_link(accelerator("RTX4090"), 2, bridge=True)


def test_links_by_kind() -> None:
    assert link("none", accelerator("T4")).peer_access is False
    assert link("pcie3", accelerator("RTX3090")).bandwidth_bytes_per_s == 15.75e9
    with pytest.raises(InputError, match="has no NVLink with NVSwitch"):
        link("nvswitch", accelerator("T4"))
    with pytest.raises(InputError, match="did you mean nvswitch"):
        link("nvswitsch", accelerator("H100-SXM"))


def test_a_device_without_known_lanes_has_a_link_of_unknown_speed() -> None:
    unknown = default_link(accelerator("GB10"), 2)
    assert unknown is not None
    assert unknown.bandwidth_bytes_per_s is None


def test_every_accelerator_has_a_usual_link() -> None:
    for device in accelerators().values():
        usual = default_link(device, 2)
        assert usual is not None or device.stack == "mps"


@pytest.mark.parametrize(
    ("text", "gbit_s", "rdma"),
    [
        ("100 Gb/s Ethernet", 100, False),
        ("25GbE", 25, False),
        ("10 Gbps", 10, False),
        ("10G ethernet", 10, False),
        ("InfiniBand HDR", 200, True),
        ("8x400 NDR", 3200, True),
        ("8x 400 Gb/s InfiniBand", 3200, True),
        ("400 Gb/s EFA", 400, True),
        ("4 x 200 Gb/s RoCE", 800, True),
        ("p4d.24xlarge", 400, True),
        ("AWS p3.16xlarge", 25, False),
        ("100 GbE", 100, False),
    ],
)
def test_networks_in_words(text: str, gbit_s: float, rdma: bool) -> None:
    found = network(text)
    assert found.bandwidth_bytes_per_s == pytest.approx(gbit_s * 1e9 / 8)
    assert found.rdma is rdma


@pytest.mark.parametrize("text", ["", "fast", "0 Gb/s", "9999999 Gb/s", "ethernet", "p4d.24xlarg"])
def test_networks_that_mean_nothing(text: str) -> None:
    with pytest.raises(InputError) as failure:
        network(text)
    assert "\n" not in str(failure.value)


@given(st.floats(0.1, 900_000), st.sampled_from(["Gb/s Ethernet", "Gbps", "GbE", "Gb/s InfiniBand"]))
def test_any_speed_is_read(gbit_s: float, unit: str) -> None:
    assert network(f"{gbit_s:.3f} {unit}").bandwidth_bytes_per_s == pytest.approx(round(gbit_s, 3) * 1e9 / 8)


def test_every_row_has_a_source() -> None:
    for table in ("links.csv", "networks.csv"):
        assert all(len(row["source"]) > 3 for row in read_rows(table))
