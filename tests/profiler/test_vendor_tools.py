"""The JSON of AMD's, Intel's and Apple's tools, in their real shapes."""

from __future__ import annotations

import json

import pytest

from planner.profiler.vendor_tools import VendorGpu, vendor_gpus

ROCM = {
    "card0": {
        "GPU use (%)": "97",
        "Max Graphics Package Power (W)": "300.0",
        "VRAM Total Memory (B)": "68702699520",
        "VRAM Total Used Memory (B)": "34351349760",
        "Card Series": "AMD Instinct MI210",
    },
    "card1": {"Card series": "Radeon RX 7900 XTX", "VRAM Total Memory (B)": "N/A"},
    "system": {"Driver version": "6.10.5"},
}
XPU = {"device_list": [{"device_id": 0, "device_name": "Intel(R) Data Center GPU Max 1100", "vendor_name": "Intel"}]}
APPLE = {"SPDisplaysDataType": [{"_name": "kHW_AppleM3MaxItem", "sppci_model": "Apple M3 Max", "sppci_cores": "40"}]}


def test_rocm_and_intel() -> None:
    answers = {"rocm-smi": "WARNING: AMD GPU device(s) is/are in a low-power state\n" + json.dumps(ROCM)}
    answers["xpu-smi"] = json.dumps(XPU)
    assert vendor_gpus(lambda command: answers[command[0]], "linux") == (
        VendorGpu("AMD Instinct MI210", 68702699520.0, 34351349760.0, 300.0, 0.97),
        VendorGpu("Radeon RX 7900 XTX"),
        VendorGpu("Intel(R) Data Center GPU Max 1100"),
    )


def test_apple() -> None:
    assert vendor_gpus(lambda command: json.dumps(APPLE), "darwin") == (VendorGpu("Apple M3 Max", cores=40),)


@pytest.mark.parametrize(
    "text", ["", "no JSON", "{", "[]", "{}", '{"device_list": 3, "card0": 4, "SPDisplaysDataType": 5}']
)
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_no_tool_or_no_answer_is_no_gpu(text: str, platform: str) -> None:
    assert vendor_gpus(lambda command: text, platform) == ()
