"""A look at recorded machines."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from planner.hardware.accelerator import GIB
from planner.profiler.detect import LocalMachine, Sources, quick_look
from planner.profiler.local_facts import GpuFacts
from planner.profiler.nvml import Nvml
from tests.profiler import trees
from tests.profiler.trees import RecordedNvml, memory, several, write


def look(
    root: str,
    nvml: Nvml | None = None,
    *,
    cpus: int | None = None,
    environ: Mapping[str, str] | None = None,
    cache_dir: Path | None = None,
) -> LocalMachine:
    sources = Sources("linux", root, environ or {}, cpus, lambda: nvml)
    return quick_look(cache_dir, sources, wait_s=None)


def test_eight_h100_in_the_cloud(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.XEON_8480}, memory(2048), trees.AWS_DMI, trees.DRIVER)
    nvml = several(8, "NVIDIA H100 80GB HBM3", 81559, 700.0, 16896, bridged=True)
    local = look(root, nvml, cpus=192)
    machine = local.machine()
    assert nvml.closed
    assert local.place == "cloud"
    assert local.driver_version == "550.90.07"
    assert machine.accelerator.key == "H100-SXM"
    assert machine.num_gpus == 8
    assert machine.link is not None
    assert machine.link.kind == "nvswitch"
    assert machine.accelerator.usable_memory_bytes == pytest.approx((81559 / 1024 - 0.31) * GIB)
    assert machine.cpu is not None
    assert machine.cpu.key == "SapphireRapids"
    assert machine.vcpus == 192
    assert machine.ram_bytes == 2048 * GIB
    assert local.notes == ("this machine is a virtual machine: AWS",)


def test_two_bridged_3090_under_the_desk(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64), trees.DRIVER)
    bridged = look(root, several(2, "NVIDIA GeForce RTX 3090", 24576, 350.0, 10496, bridged=True), cpus=32)
    assert bridged.place == "workstation"
    assert bridged.machine().link is not None
    assert bridged.machine().link.kind == "nvlink_bridge"  # type: ignore[union-attr]
    assert bridged.machine().accelerator.usable_memory_bytes == pytest.approx(23.69 * GIB)
    assert bridged.host.physical_cores == 16
    apart = look(root, several(2, "NVIDIA GeForce RTX 3090", 24576, 280.0, 10496), cpus=32)
    assert apart.machine().link.kind == "pcie4"  # type: ignore[union-attr]
    assert apart.machine().accelerator.power_w == 280


def test_a_laptop_whose_gpu_has_the_desktop_name(tmp_path: Path) -> None:
    battery = {
        "sys/class/power_supply/BAT0/type": "Battery\n",
        "sys/class/power_supply/AC/type": "Mains\n",
    }
    root = write(tmp_path, {"proc/cpuinfo": trees.CORE_I7_8750H}, memory(16), trees.DRIVER, battery)
    local = look(root, several(1, "NVIDIA GeForce GTX 1060", 6144, None, 1280), cpus=12)
    assert local.place == "laptop"
    assert local.machine().accelerator.key == "GTX1060-Laptop"
    assert any("i7-8750H" in note for note in local.notes)


@pytest.mark.parametrize(
    ("name", "mib", "watts", "cores", "key"),
    [
        ("NVIDIA GeForce GTX 1070", 8192, 151.0, 1920, "GTX1070"),
        ("NVIDIA GeForce GTX 1070", 8192, 115.0, 2048, "GTX1070-Laptop"),
        ("NVIDIA GeForce RTX 2060", 6144, 160.0, 1920, "RTX2060"),
        ("NVIDIA GeForce RTX 2060", 6144, 90.0, 1920, "RTX2060-Laptop"),
        ("NVIDIA GeForce RTX 2060", 12288, 184.0, 2176, "RTX2060-12GB"),
        ("NVIDIA GeForce RTX 2080", 8192, None, 2944, "RTX2080"),
        ("NVIDIA GeForce RTX 3080", 12288, 350.0, 8960, "RTX3080-12GB"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", 6144, 80.0, 3840, "RTX3060-Laptop"),
    ],
)
def test_parts_of_one_name(tmp_path: Path, name: str, mib: float, watts: float | None, cores: int, key: str) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64), trees.DRIVER)
    assert look(root, several(1, name, mib, watts, cores)).machine().accelerator.key == key


def test_a_laptop_gpu_clocks_with_its_power_limit(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.CORE_I7_8750H}, memory(32), trees.DRIVER)
    chassis = write(tmp_path, {"sys/class/dmi/id/chassis_type": "10\n"})
    local = look(chassis, several(1, "NVIDIA GeForce RTX 4090 Laptop GPU", 16376, 80.0, 9728))
    assert root == chassis
    assert local.place == "laptop"
    assert local.machine().accelerator.boost_hz == 1455e6
    assert local.machine().accelerator.power_w == 80


def test_no_driver_is_a_cpu_machine(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64))
    local = look(root, several(1, "must not be asked", 1, 1.0, 1), cpus=32)
    machine = local.machine()
    assert local.gpus == ()
    assert machine.num_gpus == 0
    assert machine.accelerator.kind == "cpu"
    assert machine.accelerator.fp32_flops_per_s == pytest.approx(16 * 3.4e9 * 32)
    assert any("no GPU was found" in note for note in local.notes)


def test_a_container_with_one_and_a_half_cpus(tmp_path: Path) -> None:
    limits = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
        ".dockerenv": "",
    }
    root = write(tmp_path, {"proc/cpuinfo": trees.EPYC_7R13}, memory(32), trees.AWS_DMI, limits)
    local = look(root, cpus=8)
    machine = local.machine()
    assert local.host.container
    assert machine.vcpus == 1.5
    assert machine.ram_bytes == 4 * GIB
    assert machine.accelerator.fp32_flops_per_s == pytest.approx(0.75 * 3.4e9 * 32)
    assert "a CPU quota leaves 1.5 of 8 vCPUs" in local.notes
    assert "a memory limit leaves 4.0 of 32.0 GiB" in local.notes


def test_an_arm_cloud_machine_is_told_by_its_part_number(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"proc/cpuinfo": trees.GRAVITON3, "sys/devices/system/cpu/online": "0-3,8-11\n"},
        memory(16),
        trees.AWS_DMI,
    )
    machine = look(root).machine()
    assert machine.cpu is not None
    assert machine.cpu.key == "Graviton3"
    assert machine.vcpus == 8
    assert machine.accelerator.bandwidth_bytes_per_s == pytest.approx(307.2e9 * 8 / 64)


@pytest.mark.parametrize(
    ("vendor", "tag", "cloud"),
    [
        ("Google", "", "GCP"),
        ("Microsoft Corporation", "7783-7084-3265-9085-8269-3286-77", "Azure"),
        ("Microsoft Corporation", "", ""),
        ("QEMU", "OracleCloud.com", "Oracle Cloud"),
        ("QEMU", "", "QEMU virtual machine"),
        ("VMware, Inc.", "", ""),
        ("Dell Inc.", "", ""),
    ],
)
def test_clouds_by_their_firmware(tmp_path: Path, vendor: str, tag: str, cloud: str) -> None:
    root = write(tmp_path, {"sys/class/dmi/id/sys_vendor": vendor, "sys/class/dmi/id/chassis_asset_tag": tag})
    local = look(root)
    assert local.host.cloud == cloud
    assert local.place == ("cloud" if cloud else "workstation")


def test_a_mouse_battery_makes_no_laptop(tmp_path: Path) -> None:
    mouse = {"sys/class/power_supply/hid/type": "Battery\n", "sys/class/power_supply/hid/scope": "Device\n"}
    assert look(write(tmp_path, mouse)).place == "workstation"


@pytest.mark.parametrize(
    ("files", "vcpus", "gib"),
    [
        (
            {
                "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/system.slice\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": f"{8 * GIB}\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            2,
            8,
        ),
        (
            {
                "proc/self/cgroup": "0::/user.slice/session.scope\n",
                "sys/fs/cgroup/user.slice/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/user.slice/session.scope/cpu.max": "max 100000\n",
                "sys/fs/cgroup/user.slice/session.scope/memory.max": "max\n",
            },
            4,
            32,
        ),
        ({"proc/self/cgroup": "nonsense\n"}, 8, 32),
    ],
)
def test_limits_of_control_groups(tmp_path: Path, files: dict[str, str], vcpus: float, gib: float) -> None:
    local = look(write(tmp_path, {"proc/cpuinfo": trees.EPYC_7R13}, memory(32), files), cpus=8)
    assert local.host.vcpus == vcpus
    assert local.host.ram_bytes == gib * GIB


def test_a_machine_that_shows_nothing(tmp_path: Path) -> None:
    local = look(str(tmp_path / "nowhere"))
    assert local.machine().vcpus == 1
    assert local.machine().ram_bytes is None
    assert local.place == "workstation"


def test_gpus_that_do_not_count(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64), trees.DRIVER)
    old = look(root, several(1, "Tesla K80", 11441, 149.0, 2496))
    assert old.machine().num_gpus == 0
    assert any("compute capability 3.7" in note for note in old.notes)
    strange = look(root, several(1, "NVIDIA Tesla Z9", 1024, 10.0, 1))
    assert strange.machine().num_gpus == 0
    assert any("'NVIDIA Tesla Z9'" in note for note in strange.notes)
    mixed = look(
        root,
        RecordedNvml(
            ["NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 4090"], [8192, 24564], [180.0, 450.0], [2560, 16384]
        ),
    )
    assert mixed.machine().accelerator.key == "RTX4090"
    assert mixed.machine().num_gpus == 1
    assert any("GTX 1080" in note and "left out" in note for note in mixed.notes)


def test_visible_devices(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.XEON_8480}, memory(1024), trees.DRIVER)

    def count(setting: str) -> float:
        nvml = several(8, "NVIDIA H100 80GB HBM3", 81559, 700.0, 16896)
        return look(root, nvml, environ={"CUDA_VISIBLE_DEVICES": setting}).machine().num_gpus

    assert [count(setting) for setting in ("0,1", "", "-1", "3,9,1", "GPU-aa,GPU-bb")] == [2, 0, 0, 1, 2]
    nvml = several(8, "NVIDIA H100 80GB HBM3", 81559, 700.0, 16896)
    assert "CUDA_VISIBLE_DEVICES leaves 2 of 8 GPUs" in look(root, nvml, environ={"CUDA_VISIBLE_DEVICES": "0,1"}).notes


def test_names_of_the_driver_where_the_library_is_absent(tmp_path: Path) -> None:
    information = "Model: \t\t NVIDIA RTX A6000\nIRQ:   \t\t 130\n"
    cards = {f"proc/driver/nvidia/gpus/0000:{bus}:00.0/information": information for bus in ("01", "41")}
    local = look(write(tmp_path, {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64), trees.DRIVER, cards))
    assert local.machine().accelerator.key == "RTXA6000"
    assert local.machine().num_gpus == 2


def test_a_library_that_takes_too_long(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64), trees.DRIVER)

    def slow() -> Nvml | None:
        time.sleep(0.5)
        return None

    begun = time.perf_counter()
    local = quick_look(tmp_path / "cache", Sources("linux", root, {}, 8, slow), wait_s=0.01)
    assert time.perf_counter() - begun < 0.4
    assert any("had not answered in time" in note for note in local.notes)
    assert not (tmp_path / "cache").exists()


def test_amd_cards(tmp_path: Path) -> None:
    def card(number: int, name: str, gib: float) -> dict[str, str]:
        device = f"sys/class/drm/card{number}/device"
        return {
            f"{device}/vendor": "0x1002\n",
            f"{device}/device": "0x744c\n",
            f"{device}/mem_info_vram_total": f"{int(gib * GIB)}\n",
            **({f"{device}/product_name": f"{name}\n"} if name else {}),
            f"sys/class/drm/card{number}-DP-1/status": "connected\n",
        }

    root = write(tmp_path, *(card(number, "AMD Instinct MI300X", 192) for number in range(8)), card(8, "", 0.5))
    machine = look(root).machine()
    assert machine.accelerator.key == "MI300X"
    assert machine.num_gpus == 8
    assert machine.link is not None
    assert machine.link.kind == "xgmi"
    unnamed = look(write(tmp_path / "other", card(0, "", 24)))
    assert any("AMD GPU 0x744c" in note for note in unnamed.notes)


class CountingNvml:
    """Opens the library and counts how often."""

    def __init__(self) -> None:
        self.opened = 0

    def __call__(self) -> Nvml | None:
        self.opened += 1
        return several(1, "NVIDIA GeForce RTX 3090", 24576, 350.0, 10496)


@pytest.fixture
def desk(tmp_path: Path) -> str:
    return write(tmp_path / "root", {"proc/cpuinfo": trees.RYZEN_5950X}, memory(64), trees.DRIVER)


def test_the_library_is_asked_once_a_boot(tmp_path: Path, desk: str) -> None:
    library = CountingNvml()
    sources = Sources("linux", desk, {}, 8, library)
    first = quick_look(tmp_path / "cache", sources, wait_s=None)
    second = quick_look(tmp_path / "cache", sources, wait_s=None)
    assert first == second
    assert library.opened == 1
    write(Path(desk), {"proc/sys/kernel/random/boot_id": "another boot\n"})
    quick_look(tmp_path / "cache", sources, wait_s=None)
    assert library.opened == 2


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "{",
        "[]",
        "null",
        '{"key": "other"}',
        '{"key": KEY}',
        '{"key": KEY, "driver": "1", "gpus": [{"nonsense": 1}]}',
        '{"key": KEY, "driver": "1", "gpus": [{"name": 7}]}',
        '{"key": KEY, "driver": "1", "gpus": [{"name": "T4", "cores": "many"}]}',
        '{"key": KEY, "driver": "1", "gpus": 3}',
    ],
)
def test_a_damaged_cache_is_no_cache(tmp_path: Path, desk: str, stored: str) -> None:
    library = CountingNvml()
    sources = Sources("linux", desk, {}, 8, library)
    quick_look(tmp_path, sources, wait_s=None)
    file = tmp_path / "nvidia-gpus.json"
    key = json.loads(file.read_text(encoding="utf-8"))["key"]
    file.write_text(stored.replace("KEY", json.dumps(key)), encoding="utf-8")
    assert quick_look(tmp_path, sources, wait_s=None).machine().accelerator.key == "RTX3090"
    assert library.opened == 2


def test_a_cache_directory_that_cannot_be_written(tmp_path: Path, desk: str) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("", encoding="utf-8")
    local = quick_look(occupied / "cache", Sources("linux", desk, {}, 8, CountingNvml()), wait_s=None)
    assert local.machine().accelerator.key == "RTX3090"
    taken = tmp_path / "cache"
    (taken / "nvidia-gpus.json" / "in the way").mkdir(parents=True)
    local = quick_look(taken, Sources("linux", desk, {}, 8, CountingNvml()), wait_s=None)
    assert local.machine().accelerator.key == "RTX3090"
    assert [path.name for path in taken.iterdir()] == ["nvidia-gpus.json"]


def test_a_gpu_whose_driver_says_only_its_name(tmp_path: Path, desk: str) -> None:
    local = look(desk, RecordedNvml(["NVIDIA GeForce RTX 3090"], [None], [None], [None]))
    assert local.machine().accelerator.usable_memory_bytes == pytest.approx(23.69 * GIB)
    assert local.gpus == (GpuFacts("NVIDIA GeForce RTX 3090"),)


def test_this_very_machine_is_looked_at_quickly(tmp_path: Path) -> None:
    quick_look(tmp_path).machine()
    begun = time.perf_counter()
    local = quick_look(tmp_path)
    machine = local.machine()
    assert time.perf_counter() - begun < 0.2
    assert machine.vcpus is not None
    assert machine.vcpus > 0
