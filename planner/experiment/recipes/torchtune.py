"""torchtune's recipe YAML: every part names its component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.experiment.recipes.found import (
    Found,
    Setter,
    as_text,
    as_whole,
    data_set,
    number,
    optimizer,
    switch,
    whole,
)

MARKS = frozenset({"model", "optimizer", "batch_size", "tokenizer"})
NAME = "torchtune"

_COMPONENT = "_component_"
_ADAPTERS = ("qlora_", "lora_", "dora_")


def read(content: Mapping[str, Any], found: Found) -> None:
    """Put what the file says into ``found``."""
    found.read(content, _SETTERS, _WITHOUT_EFFECT)


def _section(found: Found, key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get(_COMPONENT), str):
        raise found.wrong(key, value, f"a component ('{_COMPONENT}')")
    return value


def _model(found: Found, key: str, value: Any) -> None:
    """'torchtune.models.llama3_1.lora_llama3_1_8b': its last part, and what LoRA says beside it."""
    section = _section(found, key, value)
    name = str(section[_COMPONENT]).rpartition(".")[2]
    adapter = next((prefix for prefix in _ADAPTERS if name.startswith(prefix)), "")
    found.put("model", name.removeprefix(adapter))
    if adapter == "qlora_":
        found.put("four_bit_weights", True)
    elif adapter == "dora_":
        found.leave(f"{key}: {adapter.rstrip('_')}")
    if adapter:
        found.put("lora_rank", as_whole(found, "lora_rank", section.get("lora_rank", 8)))


def _optimizer(found: Found, key: str, value: Any) -> None:
    optimizer(found, key, str(_section(found, key, value)[_COMPONENT]))


def _dtype(found: Found, key: str, value: Any) -> None:
    """Weights are in this type too."""
    known = {"bf16": "bf16-pure", "fp16": "fp16-pure", "fp32": "fp32"}.get(as_text(found, key, value))
    if known is None:
        raise found.wrong(key, value, "bf16, fp16 or fp32")
    found.put("precision", known)


def _tokenizer(found: Found, key: str, value: Any) -> None:
    length = _section(found, key, value).get("max_seq_len")
    if length is not None:
        found.put("seq_length", as_whole(found, "max_seq_len", length))


def _dataset(found: Found, key: str, value: Any) -> None:
    """Where it is read from, else the component that is made for it: 'torchtune.datasets.alpaca_dataset'."""
    section = _section(found, key, value)
    component = str(section[_COMPONENT]).rpartition(".")[2]
    data_set(found, key, section.get("source", component.removesuffix("_dataset")))


def _steps_per_epoch(found: Found, key: str, value: Any) -> None:
    found.leave(key)


_SETTERS: Mapping[str, Setter] = {
    "model": _model,
    "dataset": _dataset,
    "tokenizer": _tokenizer,
    "optimizer": _optimizer,
    "batch_size": whole("batch_size_per_gpu"),
    "epochs": number("epochs"),
    "gradient_accumulation_steps": whole("grad_accum_steps"),
    "dtype": _dtype,
    "enable_activation_checkpointing": switch("grad_checkpointing"),
    "compile": switch("compiled"),
    "max_steps_per_epoch": _steps_per_epoch,
}
_NAMES_WITHOUT_EFFECT = """
    output_dir checkpointer resume_from_checkpoint seed shuffle lr_scheduler loss metric_logger log_every_n_steps
    log_peak_memory_stats log_level device profiler save_adapter_weights_only clip_grad_norm
"""
_WITHOUT_EFFECT = frozenset(_NAMES_WITHOUT_EFFECT.split())
