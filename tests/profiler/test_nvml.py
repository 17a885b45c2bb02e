"""The binding to NVIDIA's library, against a library that answers like the real one."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from planner.profiler import nvml
from planner.profiler.nvml import open_nvml, read_details, read_gpus
from planner.profiler.nvml_library import bind

NOT_SUPPORTED = 3


class FakeLibrary:
    """Fills in the results that the C functions write through their pointers."""

    def __init__(self, *, status: int = 0, links: tuple[int, ...] = ()) -> None:
        self.status = status
        self.links = links
        self.shut = 0

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return self.status

    def nvmlShutdown(self) -> int:  # noqa: N802
        self.shut += 1
        return 0

    def nvmlSystemGetDriverVersion(self, text: Any, length: int) -> int:  # noqa: N802
        text.value = b"550.90.07"
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, device: Any) -> int:  # noqa: N802
        device._obj.value = 4096 + index
        return 0

    def nvmlDeviceGetName(self, device: Any, text: Any, length: int) -> int:  # noqa: N802
        text.value = b"NVIDIA L4"
        return self.status

    def nvmlDeviceGetMemoryInfo(self, device: Any, numbers: Any) -> int:  # noqa: N802
        numbers[0] = 23034 << 20
        return self.status

    def nvmlDeviceGetEnforcedPowerLimit(self, device: Any, milliwatts: Any) -> int:  # noqa: N802
        milliwatts._obj.value = 72000
        return self.status

    def nvmlDeviceGetNvLinkState(self, device: Any, link: int, active: Any) -> int:  # noqa: N802
        if link >= len(self.links):
            return NOT_SUPPORTED
        active._obj.value = self.links[link]
        return 0


def test_what_the_library_answers() -> None:
    fake = FakeLibrary()
    library = bind(fake)
    assert library is not None
    (gpu,) = read_gpus(library)
    assert gpu.name == "NVIDIA L4"
    assert gpu.memory_bytes == 23034 * 2**20
    assert gpu.power_limit_w == 72
    assert gpu.cores is None  # this library is older than the function
    assert gpu.nvlink is False
    assert library.driver_version() == "550.90.07"
    library.close()
    assert fake.shut == 1


def test_what_a_laptop_hides() -> None:
    library = bind(FakeLibrary())
    assert library is not None
    hidden = FakeLibrary(status=NOT_SUPPORTED)
    assert bind(hidden) is None
    vars(library)["_library"] = hidden
    assert library.memory_bytes(0) is None
    assert library.power_limit_w(0) is None


@pytest.mark.parametrize(("links", "bridged"), [((0, 1), True), ((0, 0), False), ((), False)])
def test_bridges(links: tuple[int, ...], bridged: bool) -> None:
    library = bind(FakeLibrary(links=links))
    assert library is not None
    assert library.nvlink(0) is bridged


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_LIBRARIES", {"linux": ("libno-such-library.so.1",)})
    assert open_nvml() is None


def test_the_first_library_that_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeLibrary()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: fake)
    opened = open_nvml()
    assert opened is not None
    assert opened.name(0) == "NVIDIA L4"


class PartitionedLibrary(FakeLibrary):
    """A driver that knows the newer functions, over a GPU with one MIG slice."""

    def nvmlDeviceGetMigMode(self, device: Any, current: Any, pending: Any) -> int:  # noqa: N802
        current._obj.value = 1
        return 0

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device: Any, place: int, part: Any) -> int:  # noqa: N802
        return 0 if place == 1 else NOT_SUPPORTED

    def nvmlDeviceGetEccMode(self, device: Any, current: Any, pending: Any) -> int:  # noqa: N802
        current._obj.value = 1
        return 0

    def nvmlDeviceGetCudaComputeCapability(self, device: Any, major: Any, minor: Any) -> int:  # noqa: N802
        major._obj.value, minor._obj.value = 8, 9
        return 0

    def nvmlDeviceGetUtilizationRates(self, device: Any, both: Any) -> int:  # noqa: N802
        both[0], both[1] = 42, 7
        return 0

    def nvmlDeviceGetMaxClockInfo(self, device: Any, kind: int, megahertz: Any) -> int:  # noqa: N802
        megahertz._obj.value = 2040 if kind == 1 else 0
        return 0

    def nvmlDeviceGetMaxPcieLinkGeneration(self, device: Any, generation: Any) -> int:  # noqa: N802
        generation._obj.value = 4
        return 0

    def nvmlDeviceGetMaxPcieLinkWidth(self, device: Any, width: Any) -> int:  # noqa: N802
        return NOT_SUPPORTED

    def nvmlDeviceGetTotalEnergyConsumption(self, device: Any, millijoules: Any) -> int:  # noqa: N802
        millijoules._obj.value = 123_456
        return 0


def test_details_slices_and_energy() -> None:
    library = bind(PartitionedLibrary(links=(1, 0, 1)))
    assert library is not None
    (detail,) = read_details(library)
    assert detail.pcie_generation == 4
    assert detail.pcie_width is None
    assert detail.clock_hz == 2.04e9
    assert (detail.mig, detail.ecc) == (True, True)
    assert detail.compute_capability == (8, 9)
    assert detail.busy_share == 0.42
    assert detail.links == 2
    (part,) = library.slices(0)
    assert part.name == "NVIDIA L4"
    assert [gpu.cores for gpu in read_gpus(library)] == [None]
    assert library.energy_j(0) == pytest.approx(123.456)


def test_an_old_driver_leaves_details_unknown() -> None:
    library = bind(FakeLibrary())
    assert library is not None
    (detail,) = read_details(library)
    assert (detail.mig, detail.ecc, detail.compute_capability, detail.busy_share) == (None, None, None, None)
    assert library.slices(0) == ()
    assert library.energy_j(0) is None
