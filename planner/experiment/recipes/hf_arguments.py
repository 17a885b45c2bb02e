"""Hugging Face TrainingArguments (transformers, TRL), with the model and adapter arguments scripts put beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.experiment.recipes.found import (
    Found,
    Setter,
    as_bool,
    data_set,
    four_bit_without_adapters,
    model_name,
    number,
    optimizer,
    steps,
    switch,
    whole,
)
from planner.experiment.recipes.sharding import deepspeed, fsdp

MARKS = frozenset({"per_device_train_batch_size", "num_train_epochs"})
NAME = "Hugging Face TrainingArguments"


def read(content: Mapping[str, Any], found: Found) -> None:
    """Put what the arguments say into ``found``."""
    found.read(content, _SETTERS, _WITHOUT_EFFECT)
    precision(found, content)
    if "steps" in found.values:  # the library's own rule: max_steps overrides num_train_epochs
        found.values.pop("epochs", None)
    if content.get("use_peft") is False:
        found.values.pop("lora_rank", None)
    four_bit_without_adapters(found, "load_in_4bit")


def precision(found: Found, content: Mapping[str, Any]) -> None:
    """bf16 and fp16 mean autocast; both switched off mean fp32; saying nothing says nothing."""
    for name in ("bf16", "fp16"):
        if content.get(name) in (True, "true", "full", "auto"):
            found.put("precision", "amp" if content[name] == "auto" else name)
            return
    if content.get("tf32") is True:
        found.put("precision", "tf32")
    elif content.get("bf16") is False and content.get("fp16") is False:
        found.put("precision", "fp32")


def _passed(found: Found, key: str, value: Any) -> None:
    """Read elsewhere, together with other fields."""


def _evaluation(found: Found, key: str, value: Any) -> None:
    if as_bool(found, key, value):
        found.leave(key)


_SETTERS: Mapping[str, Setter] = {
    "model_name_or_path": model_name,
    "dataset_name": data_set,
    "per_device_train_batch_size": whole("batch_size_per_gpu"),
    "gradient_accumulation_steps": whole("grad_accum_steps"),
    "num_train_epochs": number("epochs"),
    "max_steps": steps,
    "bf16": _passed,
    "fp16": _passed,
    "tf32": _passed,
    "optim": optimizer,
    "gradient_checkpointing": switch("grad_checkpointing"),
    "torch_compile": switch("compiled"),
    "dataloader_num_workers": whole("workers"),
    "max_seq_length": whole("seq_length"),
    "max_length": whole("seq_length"),
    "lora_r": whole("lora_rank"),
    "use_peft": _passed,
    "load_in_4bit": switch("four_bit_weights"),
    "fsdp": fsdp,
    "deepspeed": deepspeed,
    "load_best_model_at_end": _evaluation,
}
_NAMES_WITHOUT_EFFECT = """
    output_dir overwrite_output_dir learning_rate weight_decay adam_beta1 adam_beta2 adam_epsilon max_grad_norm
    lr_scheduler_type lr_scheduler_kwargs warmup_ratio warmup_steps logging_dir logging_strategy logging_steps
    logging_first_step save_strategy save_total_limit seed data_seed report_to run_name push_to_hub hub_model_id
    hub_strategy hub_token hub_private_repo disable_tqdm remove_unused_columns label_names
    per_device_eval_batch_size eval_accumulation_steps ddp_find_unused_parameters ddp_bucket_cap_mb
    dataloader_pin_memory dataloader_drop_last group_by_length lora_alpha lora_dropout lora_target_modules
    label_smoothing_factor log_level do_train do_eval do_predict metric_for_best_model greater_is_better
    gradient_checkpointing_kwargs torch_dtype dtype trust_remote_code attn_implementation model_revision
    save_safetensors local_rank optim_args
"""
_WITHOUT_EFFECT = frozenset(_NAMES_WITHOUT_EFFECT.split())
