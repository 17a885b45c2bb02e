"""What a device is to somebody who trains: kind, software stack, whether it trains, and what to know about it."""

from __future__ import annotations

Row = dict[str, str]

# PyTorch 2.14's wheels: CUDA 12.6 builds reach down to compute capability 5.0, the CUDA 13 builds to 7.5; the 12.6
# builds are planned to end with 2.15 (pytorch/pytorch issues 172352, 190355, 190385; read 2026-11-30).
OLDEST_CAPABILITY = (5, 0)
OLDEST_CAPABILITY_CUDA_13 = (7, 5)

STACKS = {"NVIDIA": "cuda", "AMD": "rocm", "Intel": "xpu", "Google": "xla", "AWS": "neuron", "Apple": "mps"}
PORTED = {
    "xla": "the code must be ported to JAX or torch_xla",
    "neuron": "the code must be ported to AWS Neuron (torch-neuronx)",
    "hpu": "the code must be ported to PyTorch's hpu device (Intel Gaudi software)",
    "xpu": "PyTorch's xpu device: device names in the code must be changed",
}
# Devices that cannot train with PyTorch, and why.
CANNOT = {
    "Inferentia": "built for inference only",
    "Inferentia2": "built for inference only",
    "RadeonProV520": "AMD's ROCm has no support for it (gfx1011)",
    "MI25": "AMD's ROCm dropped it (gfx900)",
}
REMARKS = {
    "K80": "one of two dies on a board, as drivers and clouds count it",
    "K520": "one of two GPUs on a board",
    "M60": "one of two GPUs on a board, as clouds count it",
    "A16": "one of four GPUs on a board",
    "MI250-GCD": "one of two dies of a package, as the system shows it",
    "MI250X-GCD": "one of two dies of a package, as the system shows it",
    "MI50": "AMD's ROCm is in maintenance mode for it (gfx906)",
    "RadeonVII": "AMD's ROCm is in maintenance mode for it (gfx906)",
    "RTX5070-Laptop": "rates at 50 W, its lowest power limit: faster in laptops that allow it up to 100 W",
    "RTX5050-Laptop": "rates at 60 W: faster in laptops that allow it more",
    "Gaudi": "its maker published no arithmetic rate",
    "B100": "announced, hardly shipped",
    "JetsonAGXOrin-64GB": "memory is shared with the CPU; needs NVIDIA's own builds of PyTorch",
    "GB10": "memory is shared with the CPU",
    "MI300A": "memory is shared with the CPU",
}


def of(gathered: Row) -> Row:
    """The columns kind, stack, trains and note of one gathered row."""
    key, vendor = gathered["key"], gathered["vendor"]
    stack = "hpu" if key.startswith("Gaudi") else STACKS[vendor]
    reason = CANNOT.get(key) or _too_old(gathered["compute_capability"])
    notes = [reason, REMARKS.get(key, ""), "" if reason else PORTED.get(stack, ""), _needs_build(gathered)]
    return {
        "kind": {"Google": "tpu", "AWS": "npu"}.get(vendor, "npu" if stack == "hpu" else "gpu"),
        "stack": "none" if key == "RadeonProV520" else stack,
        "trains": "no" if reason else "yes",
        "note": "; ".join(note for note in notes if note),
    }


def _capability(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    major, minor = text.split(".")
    return int(major), int(minor)


def _too_old(capability_text: str) -> str:
    capability = _capability(capability_text)
    if capability is None or capability >= OLDEST_CAPABILITY:
        return ""
    return f"compute capability {capability_text}: PyTorch's current builds start at 5.0"


def _needs_build(gathered: Row) -> str:
    capability = _capability(gathered["compute_capability"])
    if capability is None or not OLDEST_CAPABILITY <= capability < OLDEST_CAPABILITY_CUDA_13:
        return ""
    return (
        f"compute capability {gathered['compute_capability']}: needs PyTorch's CUDA 12.6 build, newer ones start at 7.5"
    )
