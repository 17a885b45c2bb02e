"""macOS and Windows: the same facts from the system's own tools, as far as they go."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from planner.profiler.local_facts import GpuFacts, HostFacts

Run = Callable[[list[str]], str]
"""Runs a command and returns what it wrote; '' where it fails."""

_MAC_NAMES = ("machdep.cpu.brand_string", "hw.memsize", "hw.physicalcpu", "hw.logicalcpu", "hw.model")


def run_command(command: list[str]) -> str:
    """What a command of the system writes; '' where there is no such command or it fails."""
    import subprocess

    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=2, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def read_mac(run: Run = run_command) -> tuple[HostFacts, tuple[GpuFacts, ...]]:
    """A Mac and the GPU of its chip; an Intel Mac has none that PyTorch trains on well."""
    values = dict(zip(_MAC_NAMES, run(["sysctl", "-n", *_MAC_NAMES]).splitlines(), strict=False))
    memory = values.get("hw.memsize", "")
    ram_bytes = float(memory) if memory.isdecimal() else None
    chip = values.get("machdep.cpu.brand_string", "")
    threads = _positive(values.get("hw.logicalcpu", ""), os.cpu_count() or 1)
    host = HostFacts(
        cpu_name=chip,
        vcpus=threads,
        threads_per_core=threads / _positive(values.get("hw.physicalcpu", ""), threads),
        ram_bytes=ram_bytes,
        cpu_flags=("asimd",) if chip.startswith("Apple") else ("avx2",),
        portable="BatteryInstalled" in run(["ioreg", "-r", "-c", "AppleSmartBattery", "-d", "1"]),
    )
    if not chip.startswith("Apple"):
        return host, ()
    cores = _gpu_cores(run(["ioreg", "-r", "-k", "gpu-core-count", "-d", "1"]))
    name = f"{chip} ({cores}-core GPU)" if cores else chip
    return host, (GpuFacts(name=name, memory_bytes=ram_bytes),)


def _gpu_cores(listing: str) -> int | None:
    for line in listing.splitlines():
        if '"gpu-core-count"' in line:
            digits = line.rpartition("=")[2].strip()
            return int(digits) if digits.isdecimal() else None
    return None


def _positive(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and int(text) > 0 else otherwise


def read_windows() -> HostFacts:
    """A Windows machine through its registry and kernel calls."""
    name, ram_bytes, portable = "", None, False
    if sys.platform == "win32":
        import ctypes
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"HARDWARE\DESCRIPTION\System\CentralProcessor\0") as key:
            name = str(winreg.QueryValueEx(key, "ProcessorNameString")[0])
        kilobytes = ctypes.c_ulonglong()
        if ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)):
            ram_bytes = float(kilobytes.value) * 1024
        status = (ctypes.c_ubyte * 12)()
        if ctypes.windll.kernel32.GetSystemPowerStatus(status):
            portable = status[1] not in (128, 255)  # no system battery, unknown
    return HostFacts(
        cpu_name=name,
        vcpus=os.cpu_count() or 1,
        threads_per_core=2.0,
        ram_bytes=ram_bytes,
        cpu_flags=("avx2",),
        portable=portable,
    )
