"""The binding to NVIDIA's library, against a library that answers like the real one."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from planner.profiler import nvml
from planner.profiler.nvml import bind, open_nvml, read_gpus

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
