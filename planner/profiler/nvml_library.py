"""NVIDIA's management library through ctypes: the C functions behind :class:`planner.profiler.nvml.Nvml`."""

from __future__ import annotations

from typing import Any

from planner.profiler.local_facts import GpuDetail, MigSlice

_NAME_BYTES = 96
_NVLINK_LINKS = 18
_MOST_SLICES = 7
_SM_CLOCK = 1  # NVML_CLOCK_SM


def bind(library: Any) -> NvmlLibrary | None:
    """The loaded library, initialised; None where its driver refuses."""
    return NvmlLibrary(library) if library.nvmlInit_v2() == 0 else None


class NvmlLibrary:
    """The library behind the calls of ``Nvml``; what a driver is too old to know is None."""

    def __init__(self, library: Any) -> None:
        import ctypes

        self._ctypes = ctypes
        self._library = library

    def driver_version(self) -> str:
        text = self._ctypes.create_string_buffer(_NAME_BYTES)
        self._library.nvmlSystemGetDriverVersion(text, _NAME_BYTES)
        return text.value.decode(errors="replace")

    def device_count(self) -> int:
        count = self._ctypes.c_uint()
        self._library.nvmlDeviceGetCount_v2(self._ctypes.byref(count))
        return count.value

    def name(self, index: int) -> str:
        return self._name_of(self._device(index))

    def _name_of(self, device: Any) -> str:
        text = self._ctypes.create_string_buffer(_NAME_BYTES)
        self._library.nvmlDeviceGetName(device, text, _NAME_BYTES)
        return text.value.decode(errors="replace")

    def memory_bytes(self, index: int) -> float | None:
        return self._memory_of(self._device(index), 0)

    def _memory_of(self, device: Any, place: int) -> float | None:
        """Total (0), free (1) or used (2) bytes."""
        total_free_used = (self._ctypes.c_ulonglong * 3)()
        if self._library.nvmlDeviceGetMemoryInfo(device, total_free_used) != 0:
            return None
        return float(total_free_used[place])

    def power_limit_w(self, index: int) -> float | None:
        milliwatts = self._number("nvmlDeviceGetEnforcedPowerLimit", index)
        return milliwatts / 1000 if milliwatts else None

    def cores(self, index: int) -> int | None:
        return self._number("nvmlDeviceGetNumGpuCores", index)

    def nvlink(self, index: int) -> bool:
        device, active = self._device(index), self._ctypes.c_uint()
        for link in range(_NVLINK_LINKS):
            if self._library.nvmlDeviceGetNvLinkState(device, link, self._ctypes.byref(active)) != 0:
                return False
            if active.value:
                return True
        return False

    def slices(self, index: int) -> tuple[MigSlice, ...]:
        mig, _ = self._pair("nvmlDeviceGetMigMode", index)
        if not mig:
            return ()
        found = []
        for place in range(_MOST_SLICES):
            part = self._ctypes.c_void_p()
            if self._library.nvmlDeviceGetMigDeviceHandleByIndex(self._device(index), place, self._ctypes.byref(part)):
                continue
            found.append(MigSlice(self._name_of(part), self._memory_of(part, 0)))
        return tuple(found)

    def energy_j(self, index: int) -> float | None:
        """Joules since the driver was loaded (Volta and later)."""
        value = self._ctypes.c_ulonglong()
        try:
            status = self._library.nvmlDeviceGetTotalEnergyConsumption(self._device(index), self._ctypes.byref(value))
        except AttributeError:
            return None
        return value.value / 1000 if status == 0 else None

    def detail(self, index: int) -> GpuDetail:
        mig, _ = self._pair("nvmlDeviceGetMigMode", index)
        ecc, _ = self._pair("nvmlDeviceGetEccMode", index)
        major, minor = self._pair("nvmlDeviceGetCudaComputeCapability", index)
        busy, _ = self._pair("nvmlDeviceGetUtilizationRates", index, together=True)
        clock_mhz = self._number("nvmlDeviceGetMaxClockInfo", index, _SM_CLOCK)
        return GpuDetail(
            pcie_generation=self._number("nvmlDeviceGetMaxPcieLinkGeneration", index),
            pcie_width=self._number("nvmlDeviceGetMaxPcieLinkWidth", index),
            clock_hz=None if clock_mhz is None else clock_mhz * 1e6,
            mig=None if mig is None else bool(mig),
            ecc=None if ecc is None else bool(ecc),
            compute_capability=None if major is None or minor is None else (major, minor),
            used_bytes=self._memory_of(self._device(index), 2),
            busy_share=None if busy is None else busy / 100,
            links=self._active_links(index),
        )

    def _active_links(self, index: int) -> int:
        device, active, links = self._device(index), self._ctypes.c_uint(), 0
        for link in range(_NVLINK_LINKS):
            if self._library.nvmlDeviceGetNvLinkState(device, link, self._ctypes.byref(active)) != 0:
                break
            links += active.value
        return links

    def _pair(self, function: str, index: int, *, together: bool = False) -> tuple[int | None, int | None]:
        """Two numbers: through two pointers, or in one structure of two."""
        first, second, both = self._ctypes.c_uint(), self._ctypes.c_uint(), (self._ctypes.c_uint * 2)()
        pointers = (both,) if together else (self._ctypes.byref(first), self._ctypes.byref(second))
        try:
            status = getattr(self._library, function)(self._device(index), *pointers)
        except AttributeError:  # a driver older than the function
            return None, None
        if status != 0:
            return None, None
        return (both[0], both[1]) if together else (first.value, second.value)

    def close(self) -> None:
        self._library.nvmlShutdown()

    def _device(self, index: int) -> Any:
        device = self._ctypes.c_void_p()
        self._library.nvmlDeviceGetHandleByIndex_v2(index, self._ctypes.byref(device))
        return device

    def _number(self, function: str, index: int, *selector: int) -> int | None:
        value = self._ctypes.c_uint()
        try:
            status = getattr(self._library, function)(self._device(index), *selector, self._ctypes.byref(value))
        except AttributeError:  # a driver older than the function
            return None
        return value.value if status == 0 else None
