"""NVIDIA's management library through ctypes: names, memory, power limits. No third-party package, no CUDA context."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from planner.profiler.local_facts import GpuFacts

_LIBRARIES = {
    "win32": ("nvml.dll",),
    "linux": ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"),
}
_NAME_BYTES = 96
_NVLINK_LINKS = 18


class Nvml(Protocol):
    """What is asked of the library; None where the driver does not answer (laptops hide their power limit)."""

    def driver_version(self) -> str: ...
    def device_count(self) -> int: ...
    def name(self, index: int) -> str: ...
    def memory_bytes(self, index: int) -> float | None: ...
    def power_limit_w(self, index: int) -> float | None: ...
    def cores(self, index: int) -> int | None: ...
    def nvlink(self, index: int) -> bool: ...
    def close(self) -> None: ...


def read_gpus(nvml: Nvml) -> tuple[GpuFacts, ...]:
    """All GPUs the library shows."""
    return tuple(
        GpuFacts(
            name=nvml.name(index),
            memory_bytes=nvml.memory_bytes(index),
            power_limit_w=nvml.power_limit_w(index),
            cores=nvml.cores(index),
            nvlink=nvml.nvlink(index),
        )
        for index in range(nvml.device_count())
    )


def open_nvml() -> Nvml | None:
    """The library, initialised; None where there is no driver, or no working one."""
    import ctypes

    for library in _LIBRARIES.get(sys.platform, ()):
        try:
            opened = ctypes.CDLL(library)
        except OSError:
            continue
        return bind(opened)
    return None


def bind(library: Any) -> Nvml | None:
    """The loaded library, initialised; None where its driver refuses."""
    return _Library(library) if library.nvmlInit_v2() == 0 else None


class _Library:
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
        text = self._ctypes.create_string_buffer(_NAME_BYTES)
        self._library.nvmlDeviceGetName(self._device(index), text, _NAME_BYTES)
        return text.value.decode(errors="replace")

    def memory_bytes(self, index: int) -> float | None:
        total_free_used = (self._ctypes.c_ulonglong * 3)()
        if self._library.nvmlDeviceGetMemoryInfo(self._device(index), total_free_used) != 0:
            return None
        return float(total_free_used[0])

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

    def close(self) -> None:
        self._library.nvmlShutdown()

    def _device(self, index: int) -> Any:
        device = self._ctypes.c_void_p()
        self._library.nvmlDeviceGetHandleByIndex_v2(index, self._ctypes.byref(device))
        return device

    def _number(self, function: str, index: int) -> int | None:
        value = self._ctypes.c_uint()
        try:
            status = getattr(self._library, function)(self._device(index), self._ctypes.byref(value))
        except AttributeError:  # a driver older than the function
            return None
        return value.value if status == 0 else None
