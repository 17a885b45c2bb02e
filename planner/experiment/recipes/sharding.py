"""FSDP and DeepSpeed settings as a ZeRO stage (Rajbhandari et al. 2020) and what is offloaded to the host."""

from __future__ import annotations

from typing import Any

from planner.experiment.recipes.found import Found, as_whole
from planner.workloads.reading import read_json_object

_FSDP = (("shard_grad_op", 2), ("hybrid_shard", 3), ("full_shard", 3), ("no_shard", 0))
_MAX_BYTES = 1 << 20


def fsdp(found: Found, key: str, value: Any) -> None:
    """'full_shard auto_wrap', ['full_shard', 'auto_wrap'], true or false."""
    if value in (False, [], ""):
        return
    words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    for word, stage in _FSDP:
        if word in words.lower():
            found.put("zero_stage", stage)
            break
    else:
        if value is not True:
            found.leave(f"{key}: {words[:60]}")
            return
        found.put("zero_stage", 3)
    if "offload" in words:
        found.put("offload", "all")  # FSDP's offload_params: weights, and with them gradients and state


def deepspeed(found: Found, key: str, value: Any) -> None:
    """A DeepSpeed configuration, or the path of one beside the file."""
    if isinstance(value, str):
        path = found.folder / value
        if path.suffix != ".json" or not path.is_file():
            found.leave(f"{key}: {value}, which is not beside it")
            return
        value = read_json_object(path, "DeepSpeed configuration", _MAX_BYTES)
    if not isinstance(value, dict):
        raise found.wrong(key, value, "a DeepSpeed configuration or its path")
    zero = value.get("zero_optimization")
    if isinstance(zero, dict) and zero.get("stage") is not None:
        found.put("zero_stage", as_whole(found, f"{key}, zero_optimization.stage", zero["stage"]))
        for name, offloaded in (("offload_optimizer", "optimizer"), ("offload_param", "all")):
            device = zero[name].get("device") if isinstance(zero.get(name), dict) else None
            if device == "cpu":
                found.put("offload", offloaded)
            elif device not in (None, "none"):
                found.leave(f"{key}: {name} to {device}")
        if zero.get("cpu_offload") is True:  # the name before DeepSpeed 0.3.16
            found.put("offload", "optimizer")
