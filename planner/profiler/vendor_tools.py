"""GPUs as the tools of AMD, Intel and Apple describe them, in the JSON that these tools write.

AMD     rocm-smi --showproductname --showmeminfo vram --showmaxpower --showuse --json
Intel   xpu-smi discovery -j
Apple   system_profiler SPDisplaysDataType -json
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.profiler.other_hosts import Run

_ROCM = ["rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showmaxpower", "--showuse", "--json"]
_INTEL = ["xpu-smi", "discovery", "-j"]
_APPLE = ["system_profiler", "SPDisplaysDataType", "-json"]


class VendorGpu(NamedTuple):
    """One GPU; None where the tool does not say. ``cores`` are Apple's GPU cores."""

    name: str
    memory_bytes: float | None = None
    used_bytes: float | None = None
    power_limit_w: float | None = None
    busy_share: float | None = None
    cores: int | None = None


def vendor_gpus(run: Run, platform: str) -> tuple[VendorGpu, ...]:
    """All GPUs that the tools of this system show; none where there is no such tool or it fails."""
    if platform == "darwin":
        return _apple(_parsed(run(_APPLE)))
    return (*_rocm(_parsed(run(_ROCM))), *_intel(_parsed(run(_INTEL))))


def _parsed(text: str) -> Mapping[str, Any]:
    """The object in a tool's output, which may begin with warnings."""
    start = text.find("{")
    try:
        value = json.loads(text[start:]) if start >= 0 else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _rocm(answer: Mapping[str, Any]) -> tuple[VendorGpu, ...]:
    cards = [card for name, card in sorted(answer.items()) if name.startswith("card") and isinstance(card, dict)]
    found = []
    for card in cards:
        busy = _number(card.get("GPU use (%)"))
        found.append(
            VendorGpu(
                name=str(card.get("Card Series") or card.get("Card series") or "AMD GPU"),
                memory_bytes=_number(card.get("VRAM Total Memory (B)")),
                used_bytes=_number(card.get("VRAM Total Used Memory (B)")),
                power_limit_w=_number(card.get("Max Graphics Package Power (W)")),
                busy_share=None if busy is None else busy / 100,
            )
        )
    return tuple(found)


def _intel(answer: Mapping[str, Any]) -> tuple[VendorGpu, ...]:
    devices = answer.get("device_list")
    if not isinstance(devices, list):
        return ()
    return tuple(
        VendorGpu(str(device.get("device_name") or "Intel GPU")) for device in devices if isinstance(device, dict)
    )


def _apple(answer: Mapping[str, Any]) -> tuple[VendorGpu, ...]:
    displays = answer.get("SPDisplaysDataType")
    if not isinstance(displays, list):
        return ()
    found = []
    for display in displays:
        if isinstance(display, dict) and str(display.get("sppci_model", "")).startswith("Apple"):
            cores = _number(display.get("sppci_cores"))
            found.append(VendorGpu(str(display["sppci_model"]), cores=None if cores is None else int(cores)))
    return tuple(found)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
