"""torchtitan's TOML: a model by name and flavour, training, parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.experiment.recipes.found import Found, Setter, as_text, as_whole, data_set, optimizer, steps, switch, whole

MARKS = frozenset({"model", "training", "job"})
NAME = "torchtitan"


def read(content: Mapping[str, Any], found: Found) -> None:
    """Put what the file says into ``found``."""
    for name, value in content.items():
        if not isinstance(value, dict):
            found.leave(str(name))
        elif name in _SECTIONS:
            found.read(value, _SECTIONS[name], _WITHOUT_EFFECT)
        elif name not in _SECTIONS_WITHOUT_EFFECT:
            found.leave(str(name))
    flavour = found.values.pop("flavour", None)
    if flavour is not None and "model" in found.values:
        found.put("model", f"{found.values['model']}-{flavour}")
    pipelined = found.values.get("pipeline_parallel", 1) > 1
    if pipelined and found.values.get("zero_stage", 3) > 1:
        found.leave("sharding beside pipeline_parallel_degree, planned as ZeRO stage 1")
    # It shards over all data-parallel devices unless told otherwise.
    found.values.setdefault("zero_stage", 1 if pipelined else 3)


def _named(field: str) -> Setter:
    return lambda found, key, value: found.put(field, as_text(found, key, value))


def _global_batch(found: Found, key: str, value: Any) -> None:
    if as_whole(found, key, value) > 0:
        found.put("global_batch_size", as_whole(found, key, value))


def _half(found: Found, key: str, value: Any) -> None:
    found.put("precision", {"bfloat16": "bf16", "float16": "fp16"}.get(as_text(found, key, value), "fp32"))


def _shards(found: Found, key: str, value: Any) -> None:
    if as_whole(found, key, value) == 1:
        found.put("zero_stage", 0)


def _only_one(found: Found, key: str, value: Any) -> None:
    """Splitting sequences over devices is not planned."""
    if as_whole(found, key, value) != 1:
        found.leave(f"{key}: {value}")


def _checkpointing(found: Found, key: str, value: Any) -> None:
    mode = as_text(found, key, value)
    found.put("grad_checkpointing", mode != "none")
    if mode == "selective":
        found.leave(f"activation_checkpoint {key}: selective, planned as full")


_SECTIONS: Mapping[str, Mapping[str, Setter]] = {
    "model": {"name": _named("model"), "flavor": _named("flavour")},
    "training": {
        "local_batch_size": whole("batch_size_per_gpu"),
        "batch_size": whole("batch_size_per_gpu"),
        "global_batch_size": _global_batch,
        "seq_len": whole("seq_length"),
        "steps": steps,
        "dataset": data_set,
        "compile": switch("compiled"),
        "mixed_precision_param": _half,
        "data_parallel_shard_degree": _shards,
        "tensor_parallel_degree": whole("tensor_parallel"),
    },
    "parallelism": {
        "data_parallel_shard_degree": _shards,
        "tensor_parallel_degree": whole("tensor_parallel"),
        "pipeline_parallel_degree": whole("pipeline_parallel"),
        "context_parallel_degree": _only_one,
    },
    "optimizer": {"name": optimizer},
    "activation_checkpoint": {"mode": _checkpointing},
    "compile": {"enable": switch("compiled")},
}
_SECTIONS_WITHOUT_EFFECT = frozenset(
    ("job", "profiling", "metrics", "checkpoint", "lr_scheduler", "comm", "validation")
)
_NAMES_WITHOUT_EFFECT = """
    hf_assets_path tokenizer_path dataset_path warmup_steps max_norm norm_type lr eps selective_ac_option
    data_parallel_replicate_degree enable_async_tensor_parallel pipeline_parallel_schedule components
"""
_WITHOUT_EFFECT = frozenset(_NAMES_WITHOUT_EFFECT.split())
